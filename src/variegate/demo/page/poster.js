/**
 * A picture for every item, drawn from its own data and always the same.
 *
 * Colours come from the item's first labels, so that items alike look alike: a list that is all
 * of one kind shows it at a glance. The rest comes from the id, so that no two are the same.
 */

import { shape } from "./dom.js";
import { facts } from "./items.js";
import { MOTIFS } from "./motifs.js";

/** Ground, far, near, light: four tones that sit well together. */
const PALETTES = [
  ["#1f4e5f", "#2f7480", "#79a8a9", "#f4e4c1"],
  ["#e8b04a", "#d9822b", "#a8442a", "#fff3d6"],
  ["#3b2e5a", "#64498c", "#b07bac", "#f6d8c8"],
  ["#d8e2dc", "#84a98c", "#2f5d50", "#f7f4ea"],
  ["#b23a48", "#8c2f39", "#461220", "#fcb9b2"],
  ["#223a5e", "#3e6ea3", "#8fb8de", "#f2efe6"],
  ["#f2d7c9", "#e09f7d", "#7f4f3b", "#fffaf3"],
  ["#0f3d3e", "#1b6b5f", "#e2dcc8", "#f0b775"],
  ["#2b2d42", "#565a7c", "#d90429", "#edf2f4"],
  ["#cfdfea", "#7fa3c4", "#34567a", "#fdf6e9"],
  ["#5b3a29", "#99653f", "#d9a066", "#f6ead7"],
  ["#eadcf0", "#b58cc4", "#6a3f7d", "#fff8ef"],
  ["#254d32", "#3a7d44", "#9dc08b", "#f8f5e1"],
  ["#f6c7c7", "#e07a8b", "#93385a", "#fff2ea"],
];

/** Return the poster of an item as an SVG; it says nothing the title does not, so it is hidden. */
export function poster(item) {
  const { labels, more } = facts(item.attributes);
  const kind = labels[0] ?? more[0] ?? item.id;
  const draw = chance(hash(`${item.id} ${item.title}`));
  const palette = [...PALETTES[hash(kind) % PALETTES.length]];
  if (labels[1]) palette[3] = PALETTES[hash(labels[1]) % PALETTES.length][3];
  if (draw() < 0.35) [palette[0], palette[1]] = [palette[1], palette[0]];
  const motif = MOTIFS[hash(labels.join(" ") + more.join(" ") + item.id) % MOTIFS.length];
  return shape(
    "svg",
    { class: "poster", viewBox: "0 0 160 100", preserveAspectRatio: "xMidYMid slice", "aria-hidden": "true" },
    shape("rect", { width: 160, height: 100, fill: palette[0] }),
    motif(draw, palette, Math.max(1, labels.length)),
  );
}

/** Return a whole number that is the text's own (FNV-1a). */
export function hash(text) {
  let number = 0x811c9dc5;
  for (const character of String(text)) {
    number = Math.imul(number ^ character.codePointAt(0), 0x01000193) >>> 0;
  }
  // The last characters stir some bits alone; a remainder needs all of them stirred.
  number = Math.imul(number ^ (number >>> 16), 0x7feb352d);
  number = Math.imul(number ^ (number >>> 15), 0x846ca68b);
  return (number ^ (number >>> 16)) >>> 0;
}

/** Return a draw of numbers from 0 to 1 that is the same for the same seed. */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
