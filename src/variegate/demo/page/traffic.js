/** The operator's charts: what happened over time, and how what was learnt lies over users. */

import { bar, frame, line, reach } from "./chart.js";
import { readable } from "./dom.js";
import { distanceColour } from "./why.js";

const HEIGHT = 190;
/** Minutes between ticks, as one finds them on clocks. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360];
const MOST_TICKS = 5;
const COLOURS = ["var(--accent)", "var(--distance-1)", "var(--distance-3)", "var(--distance-2)", "var(--distance-4)"];
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
export const LISTS = ["lists", "var(--distance-1)"];
export const FEEDBACK = ["feedback", "var(--accent)"];

/** Return the names of the policies in rows. */
export const policiesOf = (rows) => [...new Set(rows.map(({ policy }) => policy))].sort();
export const policyColour = (index) => COLOURS[index % COLOURS.length];

/** Return the lists and reports of each minute. */
export function trafficChart(seen, width) {
  const rows = seen.per_minute;
  const minutes = rows.map(({ minute }) => minute);
  const y = reach([4, ...rows.flatMap(({ lists, feedback }) => [lists, feedback])]);
  const chart = overTime(seen, width, y, "Lists and feedback a minute");
  chart.svg.append(
    line(chart, minutes, rows.map(({ lists }) => lists), LISTS[1]),
    line(chart, minutes, rows.map(({ feedback }) => feedback), FEEDBACK[1]),
  );
  return chart.svg;
}

/** Return a number of each policy over time. */
export function policyChart(seen, width, label, numberOf) {
  const rows = seen.by_policy;
  const chart = overTime(seen, width, reach([0.1, ...rows.map(numberOf)]), label);
  policiesOf(rows).forEach((policy, index) => {
    const own = rows.filter((row) => row.policy === policy);
    chart.svg.append(line(chart, own.map(({ minute }) => minute), own.map(numberOf), policyColour(index)));
  });
  return chart.svg;
}

/** Return how many users have which learnt weight. */
export function histogram({ edges, counts }, width, name, index) {
  const label = `Users by learnt weight of ${readable(name)}`;
  const chart = frame({ width, height: 130, x: reach(edges, false), y: reach([4, ...counts]), label, yTicks: 2 });
  counts.forEach((count, place) => {
    chart.svg.append(bar(chart, edges[place], edges[place + 1], count, distanceColour(index)));
  });
  return chart.svg;
}

/** All charts span the same time, whether or not something happened at its ends. */
function overTime({ per_minute: minutes }, width, y, label) {
  const x = reach(minutes.map(({ minute }) => minute), false);
  const step = 60 * (STEPS.find((one) => (x[1] - x[0]) / (60 * one) <= MOST_TICKS) ?? 720);
  const first = Math.ceil(x[0] / step);
  const xTicks = Array.from({ length: Math.floor(x[1] / step) - first + 1 }, (_, index) => (first + index) * step);
  const xWords = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], CLOCK);
  return frame({ width, height: HEIGHT, x, y, label, xWords, xTicks });
}
