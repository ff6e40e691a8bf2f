/** How it is going: picks and variety, list by list. */

import { bar, fitted, frame, legend, line, reach } from "./chart.js";
import { counted, el, fixed, readable, shape, short } from "./dom.js";
import { distanceColour } from "./why.js";

const HEIGHT = 116;

/** Make the panel; return what draws it from the person's lists, the oldest first. */
export function progressPanel(host) {
  let lists = [];
  const [hits, variety] = [el("div", { class: "chart-room" }), el("div", { class: "chart-room" })];
  const names = el("div");
  const drawHits = fitted(hits, (width) => hitsChart(lists, width));
  const drawVariety = fitted(variety, (width) => varietyChart(lists, width));
  host.replaceChildren(
    el("div", {}, el("h3", {}, "Picks by list"), hits),
    el("div", {}, el("h3", {}, "Variety by list"), variety, names),
  );

  return (answered) => {
    lists = answered;
    drawHits();
    drawVariety();
    names.replaceChildren(legend(distancesOf(lists).map((name, index) => [readable(name), distanceColour(index)])));
  };
}

const distancesOf = (lists) => Object.keys(lists[0]?.diversity ?? {});
const wholeOnly = (number) => (Number.isInteger(number) && number > 0 ? String(number) : "");

function hitsChart(lists, width) {
  const picks = lists.map(({ earned }) => earned);
  const count = Math.max(5, picks.length);
  const most = Math.max(4, ...picks);
  const label = picks.length
    ? `Picks by list: ${picks.map((one) => short(one)).join(", ")}`
    : "Picks by list: none yet";
  const chart = frame({ width, height: HEIGHT, x: [0.5, count + 0.5], y: [0, most], label, xWords: wholeOnly });
  picks.forEach((number, index) => {
    const drawn = bar(chart, index + 0.62, index + 1.38, number, "var(--accent)");
    drawn.append(title(`List ${index + 1}: ${counted(number, "pick")}`));
    chart.svg.append(drawn);
  });
  return chart.svg;
}

function varietyChart(lists, width) {
  const count = Math.max(5, lists.length);
  const places = lists.map((_, index) => index + 1);
  const names = distancesOf(lists);
  const all = lists.flatMap(({ diversity }) => Object.values(diversity));
  const last = lists.at(-1)?.diversity ?? {};
  const latest = names.map((name) => `${readable(name)} ${fixed(last[name])}`).join(", ");
  const label = `Variety of the latest list: ${latest || "none yet"}`;
  const y = [0, Math.max(1, reach(all)[1])];
  const chart = frame({ width, height: HEIGHT, x: [0.5, count + 0.5], y, label, xWords: wholeOnly, yTicks: 2 });
  names.forEach((name, index) => {
    chart.svg.append(line(chart, places, lists.map(({ diversity }) => diversity[name]), distanceColour(index)));
  });
  return chart.svg;
}

const title = (words) => shape("title", {}, words);
