/** The catalogue in two dimensions, with lists drawn on it. */

import { get } from "./api.js";
import { choice, counted, el, fixed, key, readable, setVars, shape } from "./dom.js";
import {
  allPolicies, attempt, counterfactualList, listChoice, loadLargest, noLists, ofLargest, pastLists, policyOptions,
} from "./lists.js";

const RADIUS = 3;

/** Draw every item of the catalogue's map; `spot` says where, `colourOf` in what colour. */
export function drawDots(canvas, { width, height }, { group, ids }, spot, colourOf) {
  const sharpness = devicePixelRatio || 1;
  canvas.width = Math.round(width * sharpness);
  canvas.height = Math.round(height * sharpness);
  const brush = canvas.getContext("2d");
  brush.scale(sharpness, sharpness);
  brush.globalAlpha = 0.55;
  const colours = new Map();
  ids.forEach((_, index) => {
    const colour = colourOf(group[index]);
    if (!colours.has(colour)) colours.set(colour, resolved(canvas, colour));
    brush.fillStyle = colours.get(colour);
    brush.beginPath();
    brush.arc(...spot(index), RADIUS, 0, 2 * Math.PI);
    brush.fill();
  });
}

/** Return the index of the spot that is nearest to a place, or null where none is near. */
export function nearest(count, spot, [x, y], most) {
  let best = null;
  let least = most * most;
  for (let index = 0; index < count; index += 1) {
    const [px, py] = spot(index);
    const far = (px - x) ** 2 + (py - y) ** 2;
    if (far < least) [best, least] = [index, far];
  }
  return best;
}

/** Return a colour as a canvas takes it, which knows no custom properties. */
function resolved(canvas, colour) {
  canvas.style.setProperty("color", colour);
  return getComputedStyle(canvas).color;
}

const OWN = "var(--ink)";
const OTHER = "var(--against)";
let catalogue = null;
let places = null;
let redraw = () => {};
addEventListener("themechange", () => redraw()); // a canvas does not follow the colours by itself

/** Show the map with the latest list. */
export const show = (host) => attempt(host, () => load(host));

async function load(host) {
  catalogue ??= await get("/map", { seconds: 60 });
  places ??= new Map(catalogue.ids.map((id, index) => [id, index]));
  const [lists, policies] = await Promise.all([pastLists(), allPolicies(), loadLargest()]);
  const state = { list: lists.at(-1) ?? null, other: null };
  const map = mapElement(state);
  const controls = lists.length === 0 ? null : el("div", { class: "controls" },
    listChoice(lists, state.list.slate_id, (id) => {
      state.list = lists.find(({ slate_id: one }) => one === id);
      compare(state.policy);
    }),
    choice("Compare with", [["", "nothing"], ...policyOptions(policies)], "", compare));
  const side = el("div", { class: "map-side" });

  async function compare(policy) {
    state.policy = policy;
    state.other = null;
    await attempt(side, async () => {
      if (policy) state.other = await counterfactualList(state.list.slate_id, policy);
      map.draw();
      describe(side, state);
    });
  }

  host.replaceChildren(controls ?? noLists(), el("div", { class: "map-columns" }, map.element, side));
  describe(side, state);
}

function describe(side, { list, other }) {
  const groups = el("section", { class: "panel" }, el("h2", {}, "Colours"),
    el("div", { class: "legend tall" }, catalogue.groups.map((name, index) => key(name, groupColour(index), "round"))),
    el("p", { class: "hint" }, `${counted(catalogue.ids.length, "item")}. The two axes hold `
      + `${fixed(100 * catalogue.explained, 0)}% of the variance of the features.`));
  side.replaceChildren(...[
    list && listPanel("Your list", list, OWN),
    other && listPanel(other.label || other.policy, other, OTHER),
    groups,
  ].filter(Boolean));
}

function listPanel(title, { items, diversity }, colour) {
  const varied = Object.entries(diversity).map(([name, number]) => `${readable(name)} ${ofLargest(name, number)}`);
  return el("section", { class: "panel" },
    el("h2", {}, key(title, colour)),
    el("p", { class: "hint" }, `Diversity: ${varied.join(" · ")}`),
    el("ol", { class: "numbered" }, items.map((item) => el("li", {}, item.title))));
}

function mapElement(state) {
  const label = `A map of ${counted(catalogue.ids.length, "item")}; items alike lie close together`;
  const canvas = el("canvas", { role: "img", "aria-label": label });
  const over = shape("svg", { class: "map-lists", "aria-hidden": "true" });
  const tip = el("div", { class: "tip", hidden: true });
  const leave = () => tip.toggleAttribute("hidden", true);
  const element = el("div", { class: "map", onpointermove: point, onpointerleave: leave }, canvas, over, tip);
  let size = { width: 0, height: 0 };
  const spot = (index) => [
    (0.5 + 0.47 * catalogue.x[index]) * size.width,
    (0.5 - 0.46 * catalogue.y[index]) * size.height,
  ];

  function draw() {
    if (!size.width) return;
    drawDots(canvas, size, catalogue, spot, groupColour);
    over.replaceChildren(...outline(state.other, OTHER, spot), ...outline(state.list, OWN, spot));
  }

  function point(event) {
    const box = element.getBoundingClientRect();
    const at = [event.clientX - box.left, event.clientY - box.top];
    const index = nearest(catalogue.ids.length, spot, at, 14);
    tip.hidden = index === null;
    if (index === null) return;
    tip.textContent = catalogue.titles[index];
    const [x, y] = spot(index);
    setVars(tip, { left: `${Math.min(x, size.width - 40)}px`, top: `${y}px` });
    tip.classList.toggle("leftwards", x > size.width / 2);
  }

  new ResizeObserver(([{ contentRect }]) => {
    size = { width: contentRect.width, height: contentRect.height };
    draw();
  }).observe(element);
  redraw = draw;
  return { element, draw };
}

/** Return a list's items as numbered spots with the area they span. */
function outline(list, colour, spot) {
  const found = (list?.items ?? []).map(({ id }, order) => ({ order, index: places.get(id) }))
    .filter(({ index }) => index !== undefined) // the map of a large catalogue is a sample
    .map(({ order, index }) => ({ order, at: spot(index) }));
  const area = shape("polygon", { class: "hull", points: hull(found.map(({ at }) => at)).join(" ") });
  const spots = found.map(({ order, at }) =>
    shape("g", { class: "spot", transform: `translate(${at})` },
      shape("circle", { r: 10 }), shape("text", { "text-anchor": "middle", dy: "0.36em" }, String(order + 1))));
  for (const one of [area, ...spots]) setVars(one, { "--colour": colour });
  return [area, ...spots];
}

/** Return the corners of the smallest area without dents around points (monotone chain). */
function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turnsIn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) <= 0;
  const half = (ordered) => ordered.reduce((chain, point) => {
    while (chain.length > 1 && turnsIn(chain.at(-2), chain.at(-1), point)) chain.pop();
    return [...chain, point];
  }, []).slice(0, -1);
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

function groupColour(index) {
  return catalogue.groups[index] === "other" ? "var(--group-other)" : `var(--group-${1 + (index % 8)})`;
}
