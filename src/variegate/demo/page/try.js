/** Be the user: ten items, what you would pick, the next ten, and what was learnt of it. */

import { Away, connection, get, part, post, Refusal } from "./api.js";
import { likesPanel, varietyPanel } from "./beliefs.js";
import { card, emptyCards } from "./card.js";
import { bar, fitted, frame, legend, line, reach } from "./chart.js";
import { byId, counted, el, fixed, readable, shape, short } from "./dom.js";
import { distanceColour, drawLegend, scaleOf } from "./explanation.js";
import { remember } from "./items.js";
import { flush, outbox, report, waiting } from "./outbox.js";
import { becomeNew, change, now, toggle } from "./session.js";

/** What the ends of the dial add to every weight, or take: enough to outweigh what one likes best. */
const MOST_ADDED = 1.6;
const MOST_TAKEN = 1.4;
const WORDS = { "-1": "least varied", 0: "as learnt", 1: "most varied" };

/**
 * Return what a request says for a dial from -1 to 1, or undefined where it is as learnt.
 *
 * A scale alone does nothing while nothing is learnt, and turns the wrong way where somebody
 * turned out to dislike a mix. So each learnt weight is also moved up (a floor) or down (a ceiling);
 * at the lower end a wish for variety becomes a wish for none, however strong it was.
 */
export function wishOf(dial, learnt) {
  if (dial === 0) return undefined;
  const shift = dial > 0 ? MOST_ADDED * dial : MOST_TAKEN * dial;
  const bound = learnt?.length
    ? Object.fromEntries(learnt.map(({ name, weight }) => [name, scaled(weight, dial) + shift]))
    : shift;
  return dial > 0 ? { scale: 1 + dial, floor: bound } : { scale: 1 + dial, ceiling: bound };
}

const scaled = (weight, dial) => (weight > 0 ? weight * (1 + dial) : weight);

/** Put the dial into its place; `onturn` gets its number once the person has let go of it. */
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
    const words = WORDS[turned] ?? (turned < 0 ? "less varied than learnt" : "more varied than learnt");
    slider.setAttribute("aria-valuetext", words);
    reset.disabled = turned === 0;
  }

  function set(turned) {
    slider.value = turned;
    describe();
  }

  host.replaceChildren(
    el("div", { class: "dial-turn" },
      el("label", { for: "dial-slider", class: "dial-name" }, "Variety"),
      el("div", { class: "dial-slide" }, slider,
        el("div", { class: "dial-ends", "aria-hidden": "true" },
          el("span", {}, "less"), el("span", {}, "as learnt"), el("span", {}, "more"))),
      reset),
    el("div", { class: "dial-spread unknown" }, el("p", { class: "meters-name" }, "This list is varied in"), meters),
    el("datalist", { id: "dial-marks" }, [-1, 0, 1].map((value) => el("option", { value }))),
  );
  describe();
  return { set, showDiversity: (diversity) => drawDiversity(meters, diversity) };
}

/** Show how varied a list is: the mean distance of its pairs, by distance. */
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
    const share = Math.max(0, Math.min(1, diversity[name]));
    const row = host.children[index];
    row.querySelector(".meter-fill").style.setProperty("--share", `${100 * share}%`);
    row.querySelector(".number").textContent = fixed(diversity[name]);
  });
}

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

const ITEMS = 10;
const LISTS_SHOWN = 60;

let panels = null;
let dial = null;
let isBusy = false;
let learnt = null;
let pickedBefore = null;

/** Bring the view to life, with the list that was open when the page was left. */
export function start() {
  panels = {
    likes: likesPanel(byId("likes")),
    variety: varietyPanel(byId("variety")),
    progress: progressPanel(byId("progress")),
  };
  drawLearnt(null, []);
  dial = makeDial(byId("dial"), now().dial, turn);
  byId("next").addEventListener("click", next);
  byId("afresh").addEventListener("click", startAfresh);
  document.addEventListener("keydown", onKey);
  connection.addEventListener("back", resume);
  outbox.addEventListener("sent", () => !now().slate && advance());
  outbox.addEventListener("dropped", ({ detail }) => say(`Those picks could not be used. ${detail.words}`));
  if (now().slate) drawList();
  resume();
}

/** Go on where the page was left, or where the service went away. */
async function resume() {
  const hadList = now().slate !== null;
  await advance();
  if (hadList) await refreshLearnt().catch((error) => explain(error, resume));
}

/** Hand the picks over and ask for the next list. */
async function next() {
  const { slate, picks } = now();
  if (!slate || isBusy) return;
  report(slate.slate_id, picks);
  pickedBefore = picks.length;
  change({ slate: null, picks: [] });
  await advance();
}

/** Go as far as the service lets us: send what waits, then fetch a list where there is none. */
async function advance() {
  if (isBusy) return;
  setBusy(true);
  try {
    if (!now().slate) byId("cards").replaceChildren(...emptyCards(ITEMS));
    const isSent = await flush();
    if (!now().slate && isSent) {
      const isRound = pickedBefore !== null;
      await Promise.all([fetchList(), isRound && refreshLearnt()]);
      if (!isRound) await refreshLearnt(); // before the first list there is nobody to ask about
      announce();
    } else if (waiting()) say("Your picks are kept, and will be sent.");
  } catch (error) {
    explain(error, advance);
  } finally {
    setBusy(false);
  }
}

async function fetchList(insteadOf = null) {
  const wish = { k: ITEMS, explain: true, details: true };
  const diversity = wishOf(now().dial, learnt?.diversity);
  if (diversity) wish.diversity = diversity;
  if (insteadOf) wish.instead_of = insteadOf;
  const slate = await post(`/users/${part(now().user)}/slates`, wish);
  const ids = slate.items.map(({ id }) => id);
  change({ slate, picks: now().picks.filter((id) => ids.includes(id)) });
  drawList();
}

/** The dial was turned: another list in place of this one, at once. */
async function turn(turned) {
  change({ dial: turned });
  const { slate } = now();
  if (!slate || isBusy) return;
  setBusy(true);
  try {
    await fetchList(slate.slate_id).catch((error) => {
      // The list was answered in another tab: then a new one it is.
      if (error instanceof Refusal && error.status === 409) return fetchList();
      throw error;
    });
    say(now().dial === 0 ? "Here is the list as learnt." : "Here is the list with your variety.");
  } catch (error) {
    explain(error, () => turn(turned));
  } finally {
    setBusy(false);
    if (now().dial !== turned) turn(now().dial); // it was turned further meanwhile
  }
}

async function refreshLearnt() {
  const path = `/users/${part(now().user)}`;
  try {
    const [user, history] = await Promise.all([get(path), get(`${path}/history?limit=${LISTS_SHOWN}`)]);
    learnt = user.learnt;
    drawLearnt(learnt, history.slates.filter(({ answered }) => answered).reverse());
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 404)) throw error;
    // Its store was emptied: a list that it does not know cannot be answered either.
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
  describePicks();
  return isPicked;
}

function describePicks() {
  const count = now().picks.length;
  say(count ? `${counted(count, "pick")} in this list.` : "Pick what you would choose; none is an answer too.");
}

function announce() {
  const taught = pickedBefore === null ? "" : `Learnt from ${counted(pickedBefore, "pick")}. `;
  const isRound = pickedBefore !== null;
  pickedBefore = null;
  say(`${taught}Here are ${isRound ? "the next " : ""}${now().slate.items.length}: pick what you would choose.`);
  if (isRound && !byId("view-try").hidden && !document.querySelector("dialog[open]")) {
    byId("list-title").focus({ preventScroll: true });
    const top = byId("dial").getBoundingClientRect().top;
    if (top < 0) byId("view-try").querySelector(".list-side").scrollIntoView();
  }
}

function explain(error, again) {
  if (error instanceof Away) return say("Your picks are kept, and will be sent."); // "back" goes on by itself
  if (!(error instanceof Refusal)) throw error;
  say(error.message, el("button", { type: "button", class: "quiet", onclick: () => again() }, "Try again"));
}

function say(words, ...more) {
  byId("said").replaceChildren(words, ...more.flatMap((one) => [" ", one]));
}

function setBusy(busy) {
  isBusy = busy;
  byId("cards").setAttribute("aria-busy", String(busy));
  byId("next").disabled = busy || !now().slate;
}

function startAfresh() {
  if (isBusy) return;
  becomeNew();
  dial.set(0);
  learnt = null;
  pickedBefore = null;
  drawLearnt(null, []);
  advance();
}

function onKey(event) {
  if (byId("view-try").hidden || document.querySelector("dialog[open]")) return;
  const isOnControl = event.target.closest?.("a, button, input, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey || !isOnControl)) {
    event.preventDefault();
    next();
    return;
  }
  // Plain digits only while the list has the focus or nothing has: elsewhere they may mean something.
  const isInList = event.target === document.body || event.target.closest?.(".list-side");
  if (!isInList || event.target.matches?.("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[0-9]$/.test(event.key)) {
    document.querySelectorAll("#cards .pick")[(Number(event.key) + 9) % 10]?.click();
  }
}
