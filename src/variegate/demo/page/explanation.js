/** Explanations: the terms of an item's score as a stacked bar, on one scale per list. */

import { byId, el, fixed, key, readable, setVars, shape, signed } from "./dom.js";
import { everything } from "./items.js";
import { poster } from "./poster.js";

/** Return the parts of a score in the order they are drawn, each with its colour. */
export function partsOf(explanation) {
  if (!explanation) return [];
  return [
    { name: "relevance", amount: explanation.relevance, colour: "var(--taste)" },
    ...Object.entries(explanation.diversity).map(([name, amount], index) => ({
      name: `diversity of ${readable(name)}`,
      amount,
      colour: distanceColour(index),
    })),
    { name: "exploration", amount: explanation.exploration, colour: "var(--finding)" },
  ];
}

/** Return the colour of a distance, the same in every drawing of the page. */
export const distanceColour = (index) => `var(--distance-${1 + (index % 6)})`;

/** Return the scale of the bars of a list: the largest sums above and below zero. */
export function scaleOf(items) {
  const reach = (sign) =>
    Math.max(0, ...items.map(({ explanation }) =>
      partsOf(explanation).reduce((sum, { amount }) => sum + Math.max(0, sign * amount), 0)));
  const [up, down] = [reach(1), reach(-1)];
  return { up, down, whole: up + down || 1 };
}

/** Return the stacked bar: positive terms right of zero, negative ones left. */
export function whyBar(explanation, scale) {
  const zero = (100 * scale.down) / scale.whole;
  const ends = { 1: zero, [-1]: zero };
  const pieces = partsOf(explanation).filter(({ amount }) => amount !== 0).map(({ amount, colour }) => {
    const sign = Math.sign(amount);
    const width = (100 * Math.abs(amount)) / scale.whole;
    const x = sign > 0 ? ends[1] : ends[-1] - width;
    ends[sign] += sign * width;
    const piece = shape("rect", { x: `${x}%`, width: `${width}%`, height: "100%", class: "why-piece" });
    setVars(piece, { fill: colour });
    return piece;
  });
  const line = zero > 0 && shape("line", { class: "why-zero", x1: `${zero}%`, x2: `${zero}%`, y1: "0", y2: "100%" });
  return shape("svg", { class: "why-bar", "aria-hidden": "true" }, pieces, line || null);
}

/** Fill the legend under a list. */
export function drawLegend(host, items) {
  const parts = partsOf(items[0]?.explanation);
  const title = parts.length ? [el("span", { class: "legend-title" }, "Score of each item:")] : [];
  host.replaceChildren(...title, ...parts.map(({ name, colour }) => key(name, colour)));
}

/** Open the dialog with the details of an item and its score. */
export function openWhy(item, place, scale) {
  const parts = partsOf(item.explanation);
  const largest = Math.max(...parts.map(({ amount }) => Math.abs(amount)), 1e-9);
  const isAllFor = parts.every(({ amount }) => amount >= 0);
  const [zero, room] = isAllFor ? [0, 100] : [50, 50];
  const rows = parts.map(({ name, amount, colour }) =>
    el("li", { class: "why-row" }, key(name, colour),
      el("span", { class: "why-track", vars: { "--zero": `${zero}%` } }, el("span", {
        class: amount < 0 ? "why-amount against" : "why-amount",
        vars: { "--share": `${(room * Math.abs(amount)) / largest}%`, "--colour": colour },
      })),
      el("span", { class: "number" }, signed(amount, 3))));
  byId("why-body").replaceChildren(
    el("div", { class: "why-head" }, el("div", { class: "why-picture" }, poster(item)),
      el("div", {}, el("p", { class: "eyebrow" }, `Number ${place + 1} in the list`),
        el("h2", { id: "why-title" }, item.title), el("p", { class: "why-words" }, inWords(parts)))),
    whyBar(item.explanation, scale),
    el("ul", { class: "why-rows" }, rows,
      el("li", { class: "why-row total" },
        el("span", {}, "score"), el("span"), el("span", { class: "number" }, fixed(item.score, 3)))),
    el("p", { class: "hint why-units" }, "Relevance and diversity estimate the probability of a pick: 1.0 is certain. "
      + "Exploration is a bonus for an uncertain estimate."),
    el("dl", { class: "facts" }, everything(item.attributes).map(([name, words]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, words)))),
  );
  byId("why").showModal();
}

function inWords(parts) {
  const strongest = parts.filter(({ amount }) => amount > 0).sort((a, b) => b.amount - a.amount)[0];
  if (!strongest) return "No term is positive.";
  if (strongest.name === "exploration") return "Mostly exploration: the estimate of this item is still uncertain.";
  if (strongest.name === "relevance") return "Mostly because it matches your likes.";
  return `Mostly for ${strongest.name}: it differs from the items above it.`;
}
