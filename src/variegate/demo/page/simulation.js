/** The view "Simulation": a simulated user with known weights, and the estimates of a policy. */

import { get, part } from "./api.js";
import { band, fitted, frame, legend, line, reach } from "./chart.js";
import { choice, el, fixed, isStill, readable } from "./dom.js";
import { distanceColour } from "./explanation.js";
import { allPolicies, attempt, policyOptions } from "./lists.js";

const ROUNDS = 1000;
const SECONDS = 9;
const asked = { policy: null, seed: 0 };
let player = null;

/** Show the view, and play. */
export const show = (host) => attempt(host, () => load(host));
/** Stop playing. */
export const hide = () => player?.pause();

async function load(host) {
  player?.pause();
  const policies = (await allPolicies()).filter(({ learns }) => learns);
  asked.policy ??= (policies.find(({ served }) => served) ?? policies[0]).name;
  const body = el("div", { class: "simulation-body" });
  const person = el("div", { class: "simulation-person" });
  const again = () => attempt(body, () => play(body, person));
  if (!host.querySelector(".simulation-body")) {
    host.replaceChildren(
      el("div", { class: "controls" },
        choice("Policy", policyOptions(policies), asked.policy, (name) => {
          asked.policy = name;
          again();
        }),
        el("button", { type: "button", class: "quiet tall", onclick: () => {
          asked.seed += 1;
          again();
        } }, "Another user"),
        person),
      body,
    );
    await again();
  }
}

async function play(body, person) {
  player?.pause();
  body.setAttribute("aria-busy", "true");
  const run = await get(`/simulation?seed=${asked.seed}&rounds=${ROUNDS}&policy=${part(asked.policy)}`, { seconds: 120 });
  body.removeAttribute("aria-busy");
  const state = { last: run.at.length - 1 };
  const weights = run.distances.map((name, index) => betaPanel(run, state, name, index));
  const charts = [...weights, regretPanel(run, state)];
  const summary = el("p", { class: "simulation-summary" });
  player = makePlayer(run.at, (last) => {
    state.last = last;
    for (const chart of charts) chart.draw();
    summary.replaceChildren(...summarise(run, last));
  });
  person.replaceChildren(el("h2", {}, `Simulated user ${asked.seed + 1}`), el("p", {}, run.theta_words));
  body.replaceChildren(
    el("div", { class: "simulation-bar" }, player.element, summary),
    el("div", { class: "simulation-charts" }, charts.map(({ element }) => element)),
    shownLists(run),
  );
  if (isStill()) player.go(run.at.length - 1);
  else player.play();
}

function summarise({ at, regret, uniform_regret: random, reward }, last) {
  const saved = random[last] > 0 ? Math.min(1, 1 - regret[last] / random[last]) : 0;
  return [el("b", {}, `List ${at[last]}`), ` · ${fixed(reward[last])} of 1.0 mean reward per item · `,
    saved > 0 ? `${fixed(100 * saved, 0)}% less regret than random lists` : "no better than random lists yet"];
}

function betaPanel(run, state, name, index) {
  const [learnt, low, high] = [run.learnt[index], run.low[index], run.high[index]];
  const colour = distanceColour(index);
  const settled = Math.floor(learnt.length / 12);
  const y = reach([run.beta[index], ...low.slice(settled), ...high.slice(settled), ...learnt]);
  return panel(`Weight of ${readable(name)}`, `true ${fixed(run.beta[index])}`, (width) => {
    const label = `Learnt weight of ${name}: ${fixed(learnt[state.last])}, true ${fixed(run.beta[index])}`;
    const chart = frame({ width, height: 190, x: [0, run.at.at(-1)], y, label });
    const xs = run.at.slice(0, state.last + 1);
    const upTo = (numbers) => xs.map((_, place) => Math.max(chart.y[0], Math.min(chart.y[1], numbers[place])));
    chart.svg.append(
      band(chart, xs, upTo(low), upTo(high), colour),
      line(chart, [0, run.at.at(-1)], [run.beta[index], run.beta[index]], "var(--ink)", "dashed"),
      line(chart, xs, upTo(learnt), colour),
    );
    return chart.svg;
  });
}

function regretPanel(run, state) {
  const y = reach([...run.regret, ...run.uniform_regret]);
  const made = panel("Cumulative regret", "expected picks fewer than the best lists: lower is better", (width) => {
    const xs = run.at.slice(0, state.last + 1);
    const [own, random] = [run.regret[state.last], run.uniform_regret[state.last]];
    const label = `Cumulative regret: ${fixed(own)}, with random lists ${fixed(random)}`;
    const chart = frame({ width, height: 190, x: [0, run.at.at(-1)], y, label });
    chart.svg.append(
      line(chart, xs, run.uniform_regret, "var(--strong-line)", "dashed"),
      line(chart, xs, run.regret, "var(--accent)"),
    );
    return chart.svg;
  });
  made.element.append(legend([
    [run.label ?? run.policy, "var(--accent)"],
    ["random lists", "var(--strong-line)", "dashed"],
  ]));
  made.element.classList.add("wide");
  return made;
}

function panel(title, aside, draw) {
  const room = el("div", { class: "chart-area tall" });
  const element = el("section", { class: "panel" }, el("h2", {}, title, el("span", { class: "aside" }, aside)), room);
  return { element, draw: fitted(room, draw) };
}

function shownLists({ shown }) {
  if (!shown?.length) return null;
  const word = (index) => (index === 0 ? "First list" : index === shown.length - 1 ? "Last list" : "In between");
  return el("div", { class: "simulation-lists" }, shown.map((titles, index) =>
    el("section", { class: "panel" },
      el("h2", {}, word(index)), el("ol", { class: "numbered" }, titles.map((title) => el("li", {}, title))))));
}

/** Return a play button with a slider over the kept rounds. */
function makePlayer(at, onmove) {
  let timer = 0;
  const button = el("button", { type: "button", class: "primary", onclick: () => (timer ? pause() : play()) }, "Play");
  const seek = () => {
    pause();
    go(Number(slider.value));
  };
  const ends = { min: 0, max: at.length - 1, value: 0 };
  const slider = el("input", { type: "range", ...ends, "aria-label": "Round", oninput: seek });

  function go(last) {
    slider.value = last;
    slider.setAttribute("aria-valuetext", `list ${at[last]}`);
    onmove(last);
  }
  function pause() {
    cancelAnimationFrame(timer);
    timer = 0;
    button.textContent = "Play";
  }
  function play() {
    const from = Number(slider.value) >= at.length - 1 ? 0 : Number(slider.value);
    const began = performance.now();
    button.textContent = "Pause";
    const step = (time) => {
      const last = Math.min(at.length - 1, from + Math.floor(((time - began) / (1000 * SECONDS)) * at.length));
      go(Math.max(0, last));
      if (last < at.length - 1) timer = requestAnimationFrame(step);
      else pause();
    };
    timer = requestAnimationFrame(step);
  }
  return { element: el("div", { class: "player" }, button, slider), play, pause, go };
}
