/** The view "Try it": lists of ten items, picks, the diversity dial, and what was learnt. */

import { Away, connection, get, part, post, Refusal } from "./api.js";
import { likesPanel, varietyPanel } from "./beliefs.js";
import { card, emptyCards } from "./card.js";
import { bar, fitted, frame, legend, line, reach } from "./chart.js";
import { byId, counted, el, fixed, readable, shape, short } from "./dom.js";
import { distanceColour, drawLegend, scaleOf } from "./explanation.js";
import { remember } from "./items.js";
import { loadLargest, ofLargest, shareOf } from "./lists.js";
import { flush, outbox, report, waiting } from "./outbox.js";
import { becomeNew, change, now, toggle } from "./session.js";

/** Added to, or subtracted from, every weight at the ends of the dial: enough to outweigh relevance. */
const MAX_ADDED = 1.6;
const MAX_TAKEN = 1.4;
const WORDS = { "-1": "least diverse", 0: "as learnt", 1: "most diverse" };

/**
 * Return what a request says for a dial from -1 to 1, or undefined where it is as learnt.
 *
 * A scale alone does nothing while nothing is learnt, and turns the wrong way where somebody
 * has negative weights. So each learnt weight is also moved up (a floor) or down (a ceiling);
 * at the lower end every weight becomes negative.
 */
export function diversityOf(dial, learnt) {
  if (dial === 0) return undefined;
  const shift = dial > 0 ? MAX_ADDED * dial : MAX_TAKEN * dial;
  const bound = learnt?.length
    ? Object.fromEntries(learnt.map(({ name, weight }) => [name, scaled(weight, dial) + shift]))
    : shift;
  return dial > 0 ? { scale: 1 + dial, floor: bound } : { scale: 1 + dial, ceiling: bound };
}

const scaled = (weight, dial) => (weight > 0 ? weight * (1 + dial) : weight);

/** Create the dial; `onturn` gets its value when the user releases it. */
export function makeDial(host, dial, onturn) {
  const slider = el("input", {
    type: "range", min: -1, max: 1, step: 0.25, value: dial, id: "dial-slider",
    list: "dial-marks", oninput: describe, onchange: () => onturn(Number(slider.value)),
  });
  const reset = el("button", { type: "button", class: "quiet", onclick: () => {
    set(0);
    onturn(0);
  } }, "As learnt");
  const meters = el("div", { class: "meters" });

  function describe() {
    const turned = Number(slider.value);
    const words = WORDS[turned] ?? (turned < 0 ? "less diverse than learnt" : "more diverse than learnt");
    slider.setAttribute("aria-valuetext", words);
    reset.disabled = turned === 0;
  }

  function set(turned) {
    slider.value = turned;
    describe();
  }

  host.replaceChildren(
    el("div", { class: "dial-turn" },
      el("label", { for: "dial-slider", class: "dial-name" }, "Diversity"),
      el("div", { class: "dial-slide" }, slider,
        el("div", { class: "dial-ends", "aria-hidden": "true" },
          el("span", {}, "less"), el("span", {}, "as learnt"), el("span", {}, "more"))),
      reset),
    el("div", { class: "dial-spread unknown" }, el("p", { class: "meters-name" }, "Diversity of this list: mean distance of two items"), meters),
    el("datalist", { id: "dial-marks" }, [-1, 0, 1].map((value) => el("option", { value }))),
  );
  describe();
  return { set, showDiversity: (diversity) => drawDiversity(meters, diversity) };
}

/** Show the diversity of a list: the mean distance of its pairs, per distance. */
function drawDiversity(host, diversity) {
  const names = Object.keys(diversity ?? {});
  host.parentElement.classList.toggle("unknown", names.length === 0);
  if (host.childElementCount !== names.length) {
    host.replaceChildren(...names.map((name, index) =>
      el("div", { class: "meter" },
        el("span", { class: "meter-name" }, readable(name)),
        el("span", { class: "meter-track" },
          el("span", { class: "meter-fill", vars: { "--colour": distanceColour(index) } })),
        el("span", { class: "number" }))));
  }
  names.forEach((name, index) => {
    const row = host.children[index];
    row.querySelector(".meter-fill").style.setProperty("--share", shareOf(name, diversity[name]));
    row.querySelector(".number").textContent = ofLargest(name, diversity[name]);
  });
}

const HEIGHT = 116;

/** Create the panel; return a function that draws the user's lists, oldest first. */
export function progressPanel(host) {
  let lists = [];
  const [hits, variety] = [el("div", { class: "chart-area" }), el("div", { class: "chart-area" })];
  const names = el("div");
  const drawHits = fitted(hits, (width) => hitsChart(lists, width));
  const drawVariety = fitted(variety, (width) => varietyChart(lists, width));
  host.replaceChildren(
    el("div", {}, el("h3", {}, `Picks by list, of ${ITEMS}`), hits),
    el("div", {}, el("h3", {}, "Diversity by list: mean distance of two items"), variety, names),
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
  const empty = picks.length ? null : "A bar for each answered list.";
  const chart = frame({ width, height: HEIGHT, x: [0.5, count + 0.5], y: [0, most], label, xWords: wholeOnly, empty });
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
  const label = `Diversity of the latest list: ${latest || "none yet"}`;
  const y = [0, Math.max(1, reach(all)[1])];
  const empty = lists.length ? null : "A line for each distance, over your lists.";
  const chart = frame({ width, height: HEIGHT, x: [0.5, count + 0.5], y, label, xWords: wholeOnly, yTicks: 2, empty });
  names.forEach((name, index) => {
    chart.svg.append(line(chart, places, lists.map(({ diversity }) => diversity[name]), distanceColour(index)));
  });
  return chart.svg;
}

const title = (words) => shape("title", {}, words);

const ITEMS = 10;
const LISTS_SHOWN = 60;

let panels = null;
let dial = null;
let isBusy = false;
let learnt = null;
let pickedBefore = null;
let takeBack = null;

/** Start the view, with the list that was open when the page was closed. */
export function start() {
  panels = {
    likes: likesPanel(byId("likes")),
    variety: varietyPanel(byId("variety")),
    progress: progressPanel(byId("progress")),
  };
  drawLearnt(null, []);
  dial = makeDial(byId("dial"), now().dial, turn);
  byId("next").addEventListener("click", next);
  byId("undo").addEventListener("click", undo);
  byId("afresh").addEventListener("click", startAfresh);
  document.addEventListener("keydown", onKey);
  connection.addEventListener("back", resume);
  outbox.addEventListener("sent", () => !now().slate && advance());
  outbox.addEventListener("dropped", ({ detail }) => say(`These picks were rejected. ${detail.words}`));
  if (now().slate) drawList();
  resume();
}

/** Resume after a reload or an outage. */
async function resume() {
  const hadList = now().slate !== null;
  await advance();
  if (hadList) await refreshLearnt().catch((error) => explain(error, resume));
}

/** Send the picks and request the next list. */
async function next() {
  const { slate, picks } = now();
  if (!slate || isBusy) return;
  offerUndo(null); // what was learnt stays learnt
  report(slate.slate_id, picks);
  pickedBefore = picks.length;
  change({ slate: null, picks: [] });
  await advance();
}

/** Send queued feedback, then fetch a list if there is none. */
async function advance() {
  if (isBusy) return;
  setBusy(true);
  try {
    if (!now().slate) byId("cards").replaceChildren(...emptyCards(ITEMS));
    const isSent = await flush();
    if (!now().slate && isSent) {
      const isRound = pickedBefore !== null;
      await Promise.all([fetchList(), isRound && refreshLearnt()]);
      if (!isRound) await refreshLearnt(); // before the first list the user does not exist
      announce();
    } else if (waiting()) say("Your picks are saved and will be sent.");
  } catch (error) {
    explain(error, advance);
  } finally {
    setBusy(false);
  }
}

async function fetchList(insteadOf = null) {
  const request = { k: ITEMS, explain: true, details: true };
  const diversity = diversityOf(now().dial, learnt?.diversity);
  if (diversity) request.diversity = diversity;
  if (insteadOf) request.instead_of = insteadOf;
  const [slate] = await Promise.all([post(`/users/${part(now().user)}/slates`, request), loadLargest()]);
  const ids = slate.items.map(({ id }) => id);
  change({ slate, picks: now().picks.filter((id) => ids.includes(id)) });
  drawList();
}

/** The dial was moved: replace the current list. */
async function turn(turned) {
  const before = now().dial;
  if (before !== turned) offerUndo(() => {
    dial.set(before);
    turn(before);
  });
  change({ dial: turned });
  const { slate } = now();
  if (!slate || isBusy) return;
  setBusy(true);
  try {
    await fetchList(slate.slate_id).catch((error) => {
      // The list was answered in another tab: request a new one.
      if (error instanceof Refusal && error.status === 409) return fetchList();
      throw error;
    });
    say(now().dial === 0 ? "The list with the learnt diversity." : "The list with the diversity you set.");
  } catch (error) {
    explain(error, () => turn(turned));
  } finally {
    setBusy(false);
    if (now().dial !== turned) turn(now().dial); // it was moved again meanwhile
  }
}

async function refreshLearnt() {
  const path = `/users/${part(now().user)}`;
  try {
    const history = get(`${path}/history?limit=${LISTS_SHOWN}`);
    const [user, { slates }] = await Promise.all([get(path), history, loadLargest()]);
    learnt = user.learnt;
    drawLearnt(learnt, slates.filter(({ answered }) => answered).reverse());
    dial.showDiversity(now().slate?.diversity);
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 404)) throw error;
    // The store was emptied: a list that it does not know cannot be answered.
    learnt = null;
    drawLearnt(null, []);
    if (now().slate && !isBusy) {
      change({ slate: null, picks: [] });
      advance();
    }
  }
}

function drawLearnt(known, lists) {
  panels.likes(known);
  panels.variety(known);
  panels.progress(lists);
}

function drawList() {
  const { slate, picks } = now();
  remember(slate.items);
  const scale = scaleOf(slate.items);
  byId("cards").replaceChildren(
    ...slate.items.map((item, place) => card(item, place, picks.includes(item.id), scale, pick)),
  );
  drawLegend(byId("why-legend"), slate.items);
  dial.showDiversity(slate.diversity);
  describePicks();
}

function pick(id) {
  const isPicked = toggle(id);
  offerUndo(() => [...document.querySelectorAll("#cards .pick")][placeOf(id)]?.click());
  describePicks();
  return isPicked;
}

function describePicks() {
  const count = now().picks.length;
  say(count ? `${counted(count, "pick")} in this list.` : "Pick the items you would choose, or none.");
}

function announce() {
  const taught = pickedBefore === null ? "" : `Learnt from ${counted(pickedBefore, "pick")}. `;
  const isRound = pickedBefore !== null;
  pickedBefore = null;
  say(`${taught}${isRound ? "Next" : "First"} ${now().slate.items.length} items: pick the ones you would choose.`);
  if (isRound && !byId("view-try").hidden && !document.querySelector("dialog[open]")) {
    byId("list-title").focus({ preventScroll: true });
    const top = byId("dial").getBoundingClientRect().top;
    if (top < 0) byId("view-try").querySelector(".list-side").scrollIntoView();
  }
}

function explain(error, again) {
  if (error instanceof Away) return say("Your picks are saved and will be sent."); // resumed by "back"
  if (!(error instanceof Refusal)) throw error;
  say(error.message, el("button", { type: "button", class: "quiet", onclick: () => again() }, "Try again"));
}

function say(words, ...more) {
  byId("status").replaceChildren(words, ...more.flatMap((one) => [" ", one]));
}

function setBusy(busy) {
  isBusy = busy;
  byId("cards").setAttribute("aria-busy", String(busy));
  byId("next").disabled = busy || !now().slate;
}

async function startAfresh() {
  if (isBusy) return;
  const before = { ...now() };
  becomeNew();
  await switchUser();
  offerUndo(() => {
    change(before);
    switchUser();
  });
  if (now().slate) say("You are a new user: nothing is learnt yet. Undo returns to the user before.");
}

/** Show the session of another user. */
async function switchUser() {
  dial.set(now().dial);
  learnt = null;
  pickedBefore = null;
  offerUndo(null);
  drawLearnt(null, []);
  if (now().slate) drawList();
  await resume();
}

const placeOf = (id) => now().slate?.items.findIndex((item) => item.id === id) ?? -1;

/** Offer to take the last action back, or nothing. */
function offerUndo(back) {
  takeBack = back;
  byId("undo").hidden = back === null;
}

function undo() {
  if (isBusy) return;
  const back = takeBack;
  offerUndo(null);
  back?.();
}

function onKey(event) {
  if (byId("view-try").hidden || document.querySelector("dialog[open]")) return;
  const isOnControl = event.target.closest?.("a, button, input, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey || !isOnControl)) {
    event.preventDefault();
    next();
    return;
  }
  // Digits count only while the list, or nothing, has the focus.
  const isInList = event.target === document.body || event.target.closest?.(".list-side");
  if (!isInList || event.target.matches?.("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[0-9]$/.test(event.key)) {
    document.querySelectorAll("#cards .pick")[(Number(event.key) + 9) % 10]?.click();
  }
}
