/**
 * A picture for every item: its own, or one that is drawn from its data and always the same.
 *
 * Colours come from the item's first labels, so that items alike look alike: a list that is all
 * of one kind shows it at a glance. The rest comes from the id, so that no two are the same.
 */

import { el, shape } from "./dom.js";
import { facts, imageOf } from "./items.js";

const WIDTH = 160;
const HEIGHT = 100;
const between = (draw, low, high) => low + draw() * (high - low);
const oneOf = (draw, choices) => choices[Math.floor(draw() * choices.length)];
const times = (count, make) => Array.from({ length: count }, (_, index) => make(index));

function hills(draw, [, far, near, light]) {
  const sun = { cx: between(draw, 35, 125), cy: between(draw, 24, 44), r: between(draw, 11, 20) };
  const ridge = (top, fill) => {
    const [a, b] = [between(draw, -22, 22), between(draw, -22, 22)];
    const curve = `M0 ${top} C45 ${top + a} 90 ${top - a} 115 ${top + b / 2} S150 ${top - b} 160 ${top}`;
    return shape("path", { d: `${curve} V100 H0 Z`, fill });
  };
  return [shape("circle", { ...sun, fill: light }), ridge(58, far), ridge(76, near)];
}

function arches(draw, [, far, near, light], labels) {
  const cx = oneOf(draw, [40, 80, 120]);
  const tones = [far, light, near, far, light];
  return times(3 + Math.min(labels, 2), (index) =>
    shape("circle", { cx, cy: HEIGHT, r: 84 - 17 * index, fill: tones[index] }),
  );
}

function tiles(draw, [, far, near, light]) {
  const side = 40;
  const corners = [[0, 0], [1, 0], [1, 1], [0, 1]];
  return times(12, (index) => {
    const [x, y] = [side * (index % 4), side * Math.floor(index / 4) - 10];
    const [right, down] = oneOf(draw, corners);
    const [cx, cy] = [x + side * right, y + side * down];
    const [dx, dy] = [side * (1 - 2 * right), side * (1 - 2 * down)];
    const sweep = right === down ? 1 : 0;
    const d = `M${cx} ${cy} h${dx} A${side} ${side} 0 0 ${sweep} ${cx} ${cy + dy} Z`;
    return shape("path", { d, fill: oneOf(draw, [far, near, light, far]) });
  });
}

function bands(draw, [, far, near, light]) {
  const lean = oneOf(draw, [-40, 40]);
  let x = between(draw, -30, 10);
  return times(6, (index) => {
    const width = between(draw, 8, 30);
    const d = `M${x} 0 h${width} l${lean} 100 h${-width} Z`;
    x += width + between(draw, 4, 14);
    return shape("path", { d, fill: [far, light, near][index % 3] });
  });
}

function orbits(draw, [, far, near, light]) {
  const [cx, cy] = [between(draw, 50, 110), between(draw, 40, 60)];
  const rings = times(4, (index) => {
    const r = 20 + 17 * index;
    const turn = 6.28 * draw();
    const moon = { cx: cx + r * Math.cos(turn), cy: cy + r * Math.sin(turn), r: between(draw, 3, 6.5) };
    return [
      shape("circle", { cx, cy, r, fill: "none", stroke: far, "stroke-width": 1.6 }),
      shape("circle", { ...moon, fill: index % 2 ? light : near }),
    ];
  });
  return [rings.flat(), shape("circle", { cx, cy, r: 10, fill: light })];
}

function leaves(draw, [, far, near, light], labels) {
  const leaf = (x, turn, length, fill) => {
    const [side, bend] = [length / 3, length / 1.3];
    const d = `M0 0 C${side} ${-side} ${side} ${-bend} 0 ${-length} C${-side} ${-bend} ${-side} ${-side} 0 0`;
    return shape("path", { d, transform: `translate(${x} 104) rotate(${turn})`, fill });
  };
  const middle = between(draw, 60, 100);
  return times(5 + Math.min(labels, 3), (index, half = (4 + Math.min(labels, 3)) / 2) =>
    leaf(middle + 5 * (index - half), 24 * (index - half), between(draw, 62, 98), [far, near, light][index % 3]),
  );
}

function columns(draw, [, far, near, light]) {
  return times(7, (index) => {
    const height = between(draw, 22, 88);
    const d = `M${11 + 20 * index} 100 v${-height} a9 9 0 0 1 18 0 V100 Z`;
    return shape("path", { d, fill: oneOf(draw, [far, near, light, far]) });
  });
}

function waves(draw, [, far, near, light]) {
  const swing = between(draw, 6, 15);
  return times(6, (index) => {
    const y = 12 + 16 * index;
    const d = `M-10 ${y} q22.5 ${-swing} 45 0 t45 0 t45 0 t45 0`;
    const stroke = [light, far, near][index % 3];
    return shape("path", { d, fill: "none", stroke, "stroke-width": between(draw, 3, 9) });
  });
}

function circles(draw, [, far, near, light]) {
  return times(3, (index) =>
    shape("circle", {
      cx: 40 + 40 * index + between(draw, -14, 14),
      cy: HEIGHT / 2 + between(draw, -16, 16),
      r: between(draw, 22, 40),
      fill: [far, near, light][index],
      "fill-opacity": 0.88,
    }),
  );
}

function horizon(draw, [, far, near, light]) {
  const cx = between(draw, 50, 110);
  const r = between(draw, 26, 36);
  const lines = times(5, (index) =>
    shape("rect", { y: 63 + 8 * index, width: WIDTH, height: 1.5 + index, fill: index % 2 ? light : far }),
  );
  return [
    shape("circle", { cx, cy: 58, r, fill: light }),
    shape("rect", { y: 58, width: WIDTH, height: 42, fill: near }),
    lines,
  ];
}

export const MOTIFS = [hills, arches, tiles, bands, orbits, leaves, columns, waves, circles, horizon];

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

/** Return the picture of an item, or its poster if it has none or cannot be loaded. */
export function poster(item) {
  const address = imageOf(item.attributes);
  if (address === null) return drawn(item);
  // Beside its title it says nothing more, so it has no text of its own.
  const image = el("img", { class: "poster image", alt: "", loading: "lazy", decoding: "async" });
  image.addEventListener("error", () => image.replaceWith(drawn(item)), { once: true });
  image.src = address;
  return image;
}

/** Return the poster of an item as an SVG; it says nothing the title does not, so it is hidden. */
function drawn(item) {
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
