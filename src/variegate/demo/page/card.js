/** One item of a list: its poster, what it is, the pick, and why it is there. */

import { el, shape } from "./dom.js";
import { openWhy, whyBar } from "./explanation.js";
import { facts } from "./items.js";
import { poster } from "./poster.js";

const MAX_LABELS = 3;

/** Return the card of an item; `onpick` is called when the person picks it or takes it back. */
export function card(item, place, isPicked, scale, onpick) {
  const { labels, line } = facts(item.attributes);
  const pick = el(
    "button",
    {
      type: "button",
      class: "pick",
      "aria-pressed": String(isPicked),
      "aria-label": `I'd pick this: ${item.title}`,
      onclick: () => pick.setAttribute("aria-pressed", String(onpick(item.id))),
    },
    tick(),
    el("span", {}, "I'd pick this"),
  );
  const why = el(
    "button",
    {
      type: "button",
      class: "why-button",
      "aria-label": `Why this: ${item.title}`,
      "aria-haspopup": "dialog",
      onclick: () => openWhy(item, place, scale),
    },
    el("span", {}, "Why this"),
    whyBar(item.explanation, scale),
  );
  return el(
    "li",
    { class: "card", vars: { "--place": place } },
    el("div", { class: "card-picture" },
      poster(item), el("span", { class: "place", "aria-hidden": "true" }, String(place + 1))),
    el("h3", { class: "card-title", title: item.title }, item.title),
    el("p", { class: "card-line" }, line || "\u00a0"),
    el("p", { class: "chips" }, labels.slice(0, MAX_LABELS).map((label) => el("span", { class: "chip" }, label))),
    pick,
    why,
  );
}

/** Return as many empty cards, which hold the room of those to come. */
export const emptyCards = (count) => Array.from({ length: count }, () => el("li", { class: "card waiting" }));

function tick() {
  const stroke = { fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round" };
  return shape("svg", { class: "tick", viewBox: "0 0 16 16", "aria-hidden": "true" },
    shape("path", { d: "M3 8.5l3.2 3L13 5", ...stroke }));
}
