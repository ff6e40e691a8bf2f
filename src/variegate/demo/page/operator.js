/** The operator's view: traffic, what lists earn, what was learnt over users, and what is slow. */

import { askForKey, Away, get, Refusal } from "./api.js";
import { bar, fitted, frame, legend, line, reach } from "./chart.js";
import { choice, el, fixed, note, readable, short } from "./dom.js";
import { distanceColour } from "./explanation.js";
import { attempt } from "./lists.js";

const HEIGHT = 190;
/** Minutes between ticks, as one finds them on clocks. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360];
const MAX_TICKS = 5;
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
  const isEmpty = !rows.some(({ lists, feedback }) => lists || feedback);
  const empty = isEmpty ? "Appears with the first list." : null;
  const chart = overTime(seen, width, y, "Lists and feedback per minute", empty);
  chart.svg.append(
    line(chart, minutes, rows.map(({ lists }) => lists), LISTS[1]),
    line(chart, minutes, rows.map(({ feedback }) => feedback), FEEDBACK[1]),
  );
  return chart.svg;
}

/** Return a number of each policy over time. */
export function policyChart(seen, width, label, numberOf) {
  const rows = seen.by_policy;
  const empty = rows.length ? null : "Appears with the first feedback in this time.";
  const chart = overTime(seen, width, reach([rows.length ? 0.1 : 1, ...rows.map(numberOf)]), label, empty);
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
function overTime({ per_minute: minutes }, width, y, label, empty) {
  const x = reach(minutes.map(({ minute }) => minute), false);
  const step = 60 * (STEPS.find((one) => (x[1] - x[0]) / (60 * one) <= MAX_TICKS) ?? 720);
  const first = Math.ceil(x[0] / step);
  const xTicks = Array.from({ length: Math.floor(x[1] / step) - first + 1 }, (_, index) => (first + index) * step);
  const xWords = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], CLOCK);
  return frame({ width, height: HEIGHT, x, y, label, xWords, xTicks, empty });
}

const EVERY = 5000;
const MAX_SLOW = 10;
const SPANS = [["15", "15 minutes"], ["60", "hour"], ["360", "6 hours"], ["1440", "day"]];
const COUNTED = { users: "users", slates: "lists", answered: "lists answered" };
const state = { minutes: 60, isLive: true, seen: null };
let timer = 0;
let charts = [];

/** Show the view and refresh it. */
export const show = (host) => attempt(host, () => load(host));
/** Stop refreshing. */
export const hide = () => clearTimeout(timer);

async function load(host) {
  clearTimeout(timer);
  try {
    const seen = await get(`/overview?minutes=${state.minutes}`, { seconds: 30 });
    const isSame = state.seen && shapeOf(seen) === shapeOf(state.seen);
    state.seen = seen;
    if (!isSame || !host.querySelector(".operator")) build(host);
    refresh(host);
  } catch (error) {
    const isForbidden = error instanceof Refusal && error.status === 403;
    if (isForbidden) return host.replaceChildren(needsAdmin(host, error.message));
    if (!(error instanceof Away && host.querySelector(".operator"))) throw error;
  }
  if (state.isLive && !host.closest("[hidden]")) timer = setTimeout(() => show(host), EVERY);
}

/** What decides which charts there are; new numbers are drawn into those that stand. */
const shapeOf = ({ by_policy: rows, beta }) => JSON.stringify([policiesOf(rows), distances(rows), namesOf(beta)]);
const namesOf = (beta) => Object.entries(beta).map(([policy, weights]) => [policy, Object.keys(weights)]);
const distances = (rows) => [...new Set(rows.flatMap(({ diversity }) => Object.keys(diversity ?? {})))];

function build(host) {
  charts = [];
  const { by_policy: rows, beta } = state.seen;
  const policies = policiesOf(rows).map((name, index) => [name, policyColour(index)]);
  const reward = (width) => policyChart(state.seen, width, "Reward per item", (row) => row.reward);
  const varieties = distances(rows).map((name) => panel(
    `Diversity of ${readable(name)}: mean distance of two items`,
    (width) => policyChart(state.seen, width, `Diversity of ${name}`, ({ diversity }) => diversity?.[name]),
    policies,
  ));
  host.replaceChildren(el("div", { class: "operator" },
    controls(host),
    el("div", { class: "tiles" }),
    el("div", { class: "operator-charts" },
      panel("Lists and feedback per minute", (width) => trafficChart(state.seen, width), [LISTS, FEEDBACK]),
      panel("Reward per item, of 1.0", reward, policies),
      varieties,
      namesOf(beta).map(([policy, names]) => weightPanel(policy, names)),
      namesOf(beta).length ? null : el("section", { class: "panel wide" },
        el("h2", {}, "Learnt weights of diversity"),
        el("p", { class: "hint" }, "A histogram for each distance, as soon as a user has given feedback."))),
    el("div", { class: "operator-tables" },
      el("section", { class: "panel report" }), el("section", { class: "panel slowest" }))));
}

function controls(host) {
  const live = el("input", { type: "checkbox", checked: state.isLive, onchange: () => {
    state.isLive = live.checked;
    if (live.checked) show(host);
    else hide();
  } });
  const over = (minutes) => {
    state.minutes = Number(minutes);
    show(host);
  };
  return el("div", { class: "controls" },
    choice("Over the last", SPANS, String(state.minutes), over),
    el("label", { class: "check" }, live, "Refresh automatically"));
}

function panel(title, draw, keys) {
  return el("section", { class: "panel" }, el("h2", {}, title), room("chart-area tall", draw), legend(keys));
}

function weightPanel(policy, names) {
  const drawings = names.map((name, index) => el("div", {}, el("h3", {}, readable(name)),
    room("chart-area", (width) => histogram(state.seen.beta[policy][name], width, name, index))));
  return el("section", { class: "panel wide" },
    el("h2", {}, "Learnt weights of diversity", el("span", { class: "aside" }, `${policy}: the latest users, by weight`)),
    el("div", { class: "histograms" }, drawings));
}

function room(kind, draw) {
  const host = el("div", { class: kind });
  charts.push(fitted(host, draw));
  return host;
}

function refresh(host) {
  const { counts, report, slowest } = state.seen;
  for (const draw of charts) draw();
  host.querySelector(".tiles").replaceChildren(...tilesOf(counts).map(([words, number]) =>
    el("div", { class: "tile" }, el("span", { class: "tile-number" }, short(number)), el("span", {}, words))));
  host.querySelector(".report").replaceChildren(...reportParts(report));
  host.querySelector(".slowest").replaceChildren(el("h2", {}, "Slowest requests"), slowTable(slowest));
}

/** Counts of all time, and feedback of the span: the log has withdrawn lists too, which are none. */
function tilesOf(counts) {
  const feedback = state.seen.per_minute.reduce((sum, row) => sum + row.feedback, 0);
  const span = SPANS.find(([minutes]) => Number(minutes) === state.minutes)[1];
  return [...Object.entries(COUNTED).map(([name, words]) => [words, counts[name]]),
    [`feedback in the last ${span}`, feedback]];
}

function slowTable(slowest) {
  const time = (at) => new Date(1000 * at).toLocaleTimeString([], { hourCycle: "h23" });
  const rows = slowest.slice(0, MAX_SLOW).map(({ route, status, ms, at }) =>
    [route, String(status), fixed(ms, 1), time(at)]);
  return table(["Route", "Status", "Milliseconds", "At"], rows);
}

function reportParts({ policies, differences }) {
  const rows = policies.map(({ policy, users, answered_slates: lists, reward }) =>
    [policy, short(users), short(lists), within(reward)]);
  return [
    el("h2", {}, "Policies compared"),
    table(["Policy", "Users", "Answered lists", "Reward per item, of 1.0 (95% interval)"], rows),
    ...differences.map(({ policy, against, reward }) =>
      el("p", { class: "hint" }, `${policy} minus ${against}: ${within(reward)}`)),
  ];
}

function within({ mean, low, high }) {
  if (mean === null) return "not enough data";
  if (low === null) return `${fixed(mean, 3)}, not enough data for an interval`;
  return `${fixed(mean, 3)} (${fixed(low, 3)} to ${fixed(high, 3)})`;
}

function table(heads, rows) {
  const kind = (place) => (place > 0 ? "number" : null);
  const row = (cells) => el("tr", {}, cells.map((cell, place) => el("td", { class: kind(place) }, cell)));
  return el("div", { class: "table-area", tabindex: 0, role: "region", "aria-label": heads[0] }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head, place) => el("th", { scope: "col", class: kind(place) }, head)))),
    el("tbody", {}, rows.map(row))));
}

function needsAdmin(host, words) {
  const ask = async () => {
    if (await askForKey("Enter a key with the role admin.")) show(host);
  };
  return note(words, el("button", { type: "button", class: "primary", onclick: ask }, "Enter an admin key"));
}
