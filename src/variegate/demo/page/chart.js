/** Charts of our own: axes, lines, bands and bars as SVG, drawn to the width there is. */

import { el, fixed, key, setVars, shape } from "./dom.js";

const LEFT = 40;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 22;
const FEW_POINTS = 12;

/** Draw in `host` whenever its width changes; return the function that redraws it. */
export function fitted(host, draw) {
  let width = 0;
  const redraw = () => width > 0 && host.replaceChildren(draw(width));
  new ResizeObserver(([entry]) => {
    const measured = Math.round(entry.contentRect.width);
    if (measured === width) return;
    width = measured;
    redraw();
  }).observe(host);
  return redraw;
}

/**
 * Return an empty chart with its axes, and the functions that place numbers in it.
 *
 * The upright axis is stretched to round numbers; the ticks across can be given. `empty` says what
 * will be drawn here, where there is nothing yet.
 */
export function frame({
  width, height, x, y: asked, label, xWords = null, xTicks = ticks(x[0], x[1], 5), yTicks = 3, empty = null,
}) {
  const marks = ticks(asked[0], asked[1], yTicks, true);
  const y = [marks[0], marks.at(-1)];
  const across = (number) => LEFT + ((number - x[0]) / (x[1] - x[0] || 1)) * (width - LEFT - RIGHT);
  const up = (number) => height - BOTTOM - ((number - y[0]) / (y[1] - y[0] || 1)) * (height - TOP - BOTTOM);
  const viewBox = `0 0 ${width} ${height}`;
  const svg = shape("svg", { class: "chart", width, height, viewBox, role: "img", "aria-label": label });
  const words = (at, text, anchor) => shape("text", { class: "tick-words", ...at, "text-anchor": anchor }, text);
  for (const tick of marks) {
    svg.append(
      shape("line", { class: tick === 0 ? "zero" : "grid", x1: LEFT, x2: width - RIGHT, y1: up(tick), y2: up(tick) }),
      words({ x: LEFT - 6, y: up(tick) + 3.5 }, inDigitsOf(marks, tick), "end"),
    );
  }
  for (const tick of xTicks) {
    svg.append(words({ x: across(tick), y: height - 5 }, xWords ? xWords(tick) : inDigitsOf(xTicks, tick), "middle"));
  }
  if (empty) {
    const middle = { x: (LEFT + width - RIGHT) / 2, y: (height - BOTTOM + TOP) / 2 - 4, "text-anchor": "middle" };
    svg.append(shape("text", { class: "empty-words", ...middle }, empty));
  }
  return { svg, across, up, y };
}

/** Return a line through points; a number that is missing leaves a gap. */
export function line({ across, up }, xs, ys, colour, kind = "line") {
  let d = "";
  let isOn = false;
  xs.forEach((x, index) => {
    const isThere = Number.isFinite(ys[index]);
    if (isThere) d += `${isOn ? "L" : "M"}${across(x).toFixed(1)} ${up(ys[index]).toFixed(1)}`;
    isOn = isThere;
  });
  const drawn = coloured(shape("path", { class: kind, d }), colour);
  // Few points are shown as such: one alone would be no line.
  const isFew = xs.length <= FEW_POINTS && kind === "line";
  const dots = isFew ? xs.flatMap((x, index) => (Number.isFinite(ys[index]) ? [[x, ys[index]]] : [])) : [];
  return shape("g", {}, drawn, dots.map(([x, y]) =>
    coloured(shape("circle", { class: "bar", cx: across(x), cy: up(y), r: 3 }), colour)));
}

/** Return the area between two lines. */
export function band({ across, up }, xs, lows, highs, colour) {
  const there = xs.map((x, index) => `${across(x).toFixed(1)} ${up(highs[index]).toFixed(1)}`);
  const back = xs.map((x, index) => `${across(x).toFixed(1)} ${up(lows[index]).toFixed(1)}`).reverse();
  return coloured(shape("path", { class: "band", d: `M${[...there, ...back].join("L")}Z` }), colour);
}

/** Return a bar from 0 up to a number. */
export function bar({ across, up }, from, to, number, colour) {
  const [left, right] = [across(from), across(to)];
  const gap = Math.min(1.5, (right - left) / 6);
  const [top, bottom] = [up(Math.max(0, number)), up(Math.min(0, number))];
  const size = { width: Math.max(1, right - left - 2 * gap), height: Math.max(0, bottom - top) };
  return coloured(shape("rect", { class: "bar", x: left + gap, y: top, ...size, rx: 1.5 }), colour);
}

/** Return round numbers from low to high, about as many as asked for; or around low and high. */
export function ticks(low, high, count, isAround = false) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough - 1e-12);
  const [down, up] = isAround ? [Math.floor, Math.ceil] : [Math.ceil, Math.floor];
  const first = down(low / step + (isAround ? 1e-9 : -1e-9));
  const last = up(high / step + (isAround ? -1e-9 : 1e-9));
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toFixed(10)));
}

/** All ticks of an axis have the digits that the finest of them needs. */
function inDigitsOf(all, tick) {
  const digits = Math.max(...all.map((one) => (String(one).split(".")[1] ?? "").length));
  return digits ? fixed(tick, digits) : tick.toLocaleString("en").replace("-", "−");
}

/** Return the least and the greatest of numbers, with 0 among them if asked. */
export function reach(numbers, withZero = true) {
  const there = numbers.filter(Number.isFinite);
  if (withZero || there.length === 0) there.push(0);
  const [low, high] = [Math.min(...there), Math.max(...there)];
  return low === high ? [low, low + 1] : [low, high];
}

/** Return names beside colours. */
export function legend(pairs) {
  return el("div", { class: "legend" }, pairs.map((pair) => key(...pair)));
}

function coloured(element, colour) {
  setVars(element, { "--colour": colour });
  return element;
}
