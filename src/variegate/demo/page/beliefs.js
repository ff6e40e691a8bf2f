/** Panels of learnt weights, as bars with 95% intervals. */

import { el, fixed, readable, setVars, signed } from "./dom.js";
import { distanceColour } from "./explanation.js";

/**
 * Create a chart of weights in `host`; return the function that draws them.
 *
 * Rows are kept by name, so that changes of order are animated.
 */
export function beliefBars(host, { most, colourOf, empty }) {
  const sentence = el("p", { class: "belief-words" });
  const list = el("ul", { class: "beliefs" });
  const ends = el("p", { class: "belief-ends", "aria-hidden": "true" },
    el("span", {}, "less"), el("span", {}, "more"));
  const rows = new Map();
  const sure = el("p", { class: "belief-sure", "aria-hidden": "true" },
    el("span", { class: "swatch" }), " significant ", el("span", { class: "swatch pale" }), " not significant");
  host.replaceChildren(sentence, list, ends, sure);

  return function draw(words, beliefs) {
    const isEmpty = !beliefs?.some(({ weight }) => weight !== 0);
    sentence.textContent = isEmpty ? empty : words;
    host.classList.toggle("nothing-yet", isEmpty);
    const shown = strongest(beliefs ?? [], most);
    setVars(list, { "--rows": shown.length });
    const reach = Math.max(0.05, ...shown.flatMap(({ low, high }) => [Math.abs(low), Math.abs(high)]));
    for (const [name, row] of rows) {
      if (shown.some((one) => one.name === name)) continue;
      rows.delete(name);
      row.remove();
    }
    shown.forEach((belief, place) => {
      if (!rows.has(belief.name)) {
        rows.set(belief.name, emptyRow(belief, colourOf?.(belief.name)));
        list.append(rows.get(belief.name));
      }
      move(rows.get(belief.name), belief, place, reach);
    });
    // Reading order is the order one sees; moving a node that is in place already is avoided,
    // since it would cut its transition short.
    shown.forEach(({ name }, place) => {
      if (list.children[place] !== rows.get(name)) list.insertBefore(rows.get(name), list.children[place]);
    });
  };
}

/** Return the strongest weights; the total, if there is one, comes first. */
function strongest(beliefs, most) {
  const size = ({ isTotal, weight }) => (isTotal ? Infinity : Math.abs(weight));
  return [...beliefs].sort((a, b) => size(b) - size(a)).slice(0, most);
}

function emptyRow({ name, label, isTotal }, colour) {
  const words = readable(label);
  const kind = label === name ? "belief-name" : "belief-name examples";
  return el("li", { class: isTotal ? "belief total" : "belief", vars: colour ? { "--colour": colour } : {} },
    el("span", { class: kind, title: words }, words),
    el("span", { class: "belief-track", "aria-hidden": "true" },
      el("span", { class: "belief-bar" }), el("span", { class: "belief-whisker" })),
    el("span", { class: "number" }, ""),
    el("span", { class: "unseen" }, ""));
}

function move(row, { weight, low, high, isTotal, probability_positive: positive }, place, reach) {
  const at = (number) => 50 + (50 * number) / reach;
  // The interval of the total has the prior in it; the sentence above goes by the feedback alone.
  const isSure = isTotal ? positive >= 0.95 || positive <= 0.05 : low > 0 || high < 0;
  row.classList.toggle("sure", isSure);
  row.classList.toggle("against", weight < 0);
  setVars(row, {
    "--place": place,
    "--from": `${Math.min(50, at(weight))}%`,
    "--width": `${Math.abs(at(weight) - 50)}%`,
    "--low": `${at(low)}%`,
    "--span": `${at(high) - at(low)}%`,
  });
  row.children[2].textContent = signed(weight);
  row.children[3].textContent = `, between ${signed(low)} and ${signed(high)}${isSure ? "" : ", not significant"}`;
}

/** Create the panel; return the function that draws it. */
export function likesPanel(host) {
  const draw = beliefBars(host, {
    most: 10,
    empty: "Nothing yet. The weights learnt from your picks appear here, with 95% intervals.",
  });
  return (learnt) => draw(learnt?.words.likes, learnt?.relevance);
}

const TOTAL = "all together";

/** Create the panel; return the function that draws it. */
export function varietyPanel(host) {
  let names = [];
  const draw = beliefBars(host, {
    most: 7,
    colourOf: (name) => (names.includes(name) ? distanceColour(names.indexOf(name)) : null),
    empty: "Nothing yet. It learns whether you pick items that differ from those above them.",
  });
  const floor = el("p", { class: "belief-floor", hidden: true });
  host.append(floor);
  return (learnt) => {
    const kinds = learnt?.diversity ?? [];
    names = kinds.map(({ name }) => name);
    const total = { name: TOTAL, label: TOTAL, isTotal: true, ...learnt?.total_diversity };
    draw(learnt?.words.variety, kinds.length > 1 ? [total, ...kinds] : kinds);
    floor.hidden = !(learnt?.floor > 0);
    floor.textContent = `The policy uses a weight of at least ${fixed(learnt?.floor ?? 0)} for each.`;
  };
}
