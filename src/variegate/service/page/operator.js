/** The operator's view: traffic, what lists earn, what was learnt over users, and what is slow. */

import { Away, Refusal, get } from "./api.js";
import { bar, fitted, frame, legend, line, reach } from "./chart.js";
import { choice, el, fixed, note, readable, short } from "./dom.js";
import { askForKey } from "./key.js";
import { attempt } from "./lists.js";
import { distanceColour } from "./why.js";

const EVERY = 5000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360];
const COUNTED = { slates: "lists", answered: "lists answered", events: "reports taken" };
const POLICY_COLOURS = ["var(--accent)", "var(--distance-1)", "var(--distance-3)", "var(--distance-2)", "var(--distance-4)"];
const state = { minutes: 60, isLive: true, seen: null };
let timer = 0;
let charts = [];

/** Show the view and keep it fresh. */
export function show(host) {
  return attempt(host, () => load(host));
}

/** Stop asking: nobody looks. */
export const hide = () => clearTimeout(timer);

async function load(host) {
  clearTimeout(timer);
  try {
    const seen = await get(`/overview?minutes=${state.minutes}`, { seconds: 30 });
    const isSame = state.seen && JSON.stringify(shapeOf(seen)) === JSON.stringify(shapeOf(state.seen));
    state.seen = seen;
    if (!isSame || !host.querySelector(".operator")) build(host);
    refresh(host);
  } catch (error) {
    if (error instanceof Refusal && error.status === 403) return host.replaceChildren(needsAdmin(host, error.message));
    if (!(error instanceof Away && state.seen)) throw error;
  }
  if (state.isLive && !host.closest("[hidden]")) timer = setTimeout(() => attempt(host, () => load(host)), EVERY);
}

/** What decides which charts there are; numbers alone are drawn into those that stand. */
const shapeOf = ({ by_policy: rows, beta }) => [policiesOf(rows), Object.keys(beta), Object.values(beta).map(Object.keys)];
const policiesOf = (rows) => [...new Set(rows.map(({ policy }) => policy))].sort();

function build(host) {
  charts = [];
  const { beta } = state.seen;
  const live = el("input", { type: "checkbox", checked: state.isLive, onchange: () => {
    state.isLive = live.checked;
    if (live.checked) load(host);
    else clearTimeout(timer);
  } });
  host.replaceChildren(el("div", { class: "operator" },
    el("div", { class: "controls" },
      choice("Over the last", [["15", "15 minutes"], ["60", "hour"], ["360", "6 hours"], ["1440", "day"]], String(state.minutes), (minutes) => {
        state.minutes = Number(minutes);
        load(host);
      }),
      el("label", { class: "check" }, live, "Keep fresh")),
    el("div", { class: "tiles" }),
    el("div", { class: "operator-charts" },
      panel("Lists and feedback a minute", trafficChart, [["lists", "var(--distance-1)"], ["feedback", "var(--accent)"]]),
      panel("Reward an item", (width) => policyChart(width, "Reward an item", ({ reward }) => reward), policyKeys()),
      ...distances().map((name) => panel(`Variety of ${readable(name)}`,
        (width) => policyChart(width, `Variety of ${name}`, ({ diversity }) => diversity?.[name]), policyKeys())),
      ...Object.entries(beta).map(([policy, byDistance]) => el("section", { class: "panel wide" },
        el("h2", {}, "Learnt wish for variety over users", el("span", { class: "aside" }, policy)),
        el("div", { class: "histograms" }, Object.keys(byDistance).map((name, index) => histogram(policy, name, index)))))),
    el("div", { class: "operator-tables" }, el("section", { class: "panel report" }), el("section", { class: "panel slowest" }))));
}

function refresh(host) {
  const { counts, report, slowest } = state.seen;
  for (const draw of charts) draw();
  host.querySelector(".tiles").replaceChildren(...Object.entries(counts).map(([name, number]) =>
    el("div", { class: "tile" }, el("span", { class: "tile-number" }, short(number)), el("span", {}, COUNTED[name] ?? readable(name)))));
  host.querySelector(".report").replaceChildren(...reportParts(report));
  host.querySelector(".slowest").replaceChildren(el("h2", {}, "Slowest requests"), slowest.length
    ? table(["Route", "Status", "Milliseconds", "At"], slowest.map(({ route, status, ms, at }) =>
      [route, String(status), fixed(ms, 1), new Date(1000 * at).toLocaleTimeString([], { hourCycle: "h23" })]))
    : el("p", { class: "hint" }, "None yet."));
}

const distances = () => [...new Set(state.seen.by_policy.flatMap(({ diversity }) => Object.keys(diversity ?? {})))];
const policyKeys = () => policiesOf(state.seen.by_policy).map((name, index) => [name, POLICY_COLOURS[index % 5]]);
const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const span = (rows) => reach(rows.map(({ minute }) => minute), false);
/** Ticks a person would choose on a clock. */
function hours(rows) {
  const [low, high] = span(rows);
  const step = 60 * (STEPS.find((minutes) => (high - low) / (60 * minutes) <= 5) ?? 720);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => (first + index) * step);
}

function panel(title, draw, keys) {
  const room = el("div", { class: "chart-room tall" });
  charts.push(fitted(room, draw));
  return el("section", { class: "panel" }, el("h2", {}, title), room, legend(keys));
}

function trafficChart(width) {
  const rows = state.seen.per_minute;
  const y = reach([4, ...rows.flatMap(({ lists, feedback }) => [lists, feedback])]);
  const label = `Lists and feedback a minute over the last ${state.minutes} minutes`;
  const chart = frame({ width, height: 190, x: span(rows), y, label, xWords: clock, xTicks: hours(rows) });
  const xs = rows.map(({ minute }) => minute);
  chart.svg.append(line(chart, xs, rows.map(({ lists }) => lists), "var(--distance-1)"), line(chart, xs, rows.map(({ feedback }) => feedback), "var(--accent)"));
  return chart.svg;
}

function policyChart(width, label, numberOf) {
  const rows = state.seen.by_policy;
  const chart = frame({ width, height: 190, x: span(rows), y: reach([0.1, ...rows.map(numberOf)]), label, xWords: clock, xTicks: hours(rows) });
  policiesOf(rows).forEach((policy, index) => {
    const own = rows.filter((row) => row.policy === policy);
    chart.svg.append(line(chart, own.map(({ minute }) => minute), own.map(numberOf), POLICY_COLOURS[index % 5]));
  });
  return chart.svg;
}

function histogram(policy, name, index) {
  const room = el("div", { class: "chart-room" });
  charts.push(fitted(room, (width) => {
    const { edges, counts } = state.seen.beta[policy][name];
    const chart = frame({ width, height: 130, x: reach(edges, false), y: reach([1, ...counts]), label: `Users by learnt weight of ${name}`, yTicks: 2 });
    counts.forEach((count, place) => chart.svg.append(bar(chart, edges[place], edges[place + 1], count, distanceColour(index))));
    return chart.svg;
  }));
  return el("div", {}, el("h3", {}, readable(name)), room);
}

function reportParts({ policies, differences }) {
  const within = ({ mean, low, high }) => (mean === null ? "too few yet" : `${fixed(mean, 3)} (${fixed(low, 3)} to ${fixed(high, 3)})`);
  return [
    el("h2", {}, "Policies compared"),
    table(["Policy", "Users", "Answered lists", "Reward an item (95 %)"], policies.map((one) =>
      [one.policy, short(one.users), short(one.answered_slates), within(one.reward)])),
    ...differences.map(({ policy, against, reward }) => el("p", { class: "hint" }, `${policy} against ${against}: ${within(reward)}`)),
  ];
}

function table(heads, rows) {
  const kind = (place) => (place > 0 ? "number" : null);
  return el("div", { class: "table-room", tabindex: 0, role: "region", "aria-label": heads[0] }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head, place) => el("th", { scope: "col", class: kind(place) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) => el("td", { class: kind(place) }, cell)))))));
}

function needsAdmin(host, words) {
  return note(words, el("button", { type: "button", class: "primary", onclick: async () => {
    if (await askForKey("Give a key with the role admin.")) show(host);
  } }, "Give an admin key"));
}
