/** Be the user: ten items, what you would pick, the next ten, and what was learnt of it. */

import { Away, Refusal, connection, get, part, post } from "./api.js";
import { card, emptyCards } from "./card.js";
import { makeDial, wishOf } from "./dial.js";
import { byId, counted, el } from "./dom.js";
import { remember } from "./items.js";
import { likesPanel } from "./likes.js";
import { flush, outbox, report, waiting } from "./outbox.js";
import { progressPanel } from "./progress.js";
import { becomeNew, change, now, toggle } from "./sitting.js";
import { varietyPanel } from "./variety.js";
import { drawLegend, scaleOf } from "./why.js";

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
