/** The view "Side by side": a list of the user, and the list of another policy. */

import { choice, counted, el, readable } from "./dom.js";
import { distanceColour } from "./explanation.js";
import { attributesOf, facts, remember } from "./items.js";
import {
  allPolicies, attempt, counterfactualList, listChoice, loadLargest, noLists, ofLargest, pastLists, policyOptions,
  shareOf,
} from "./lists.js";
import { poster } from "./poster.js";
import { now } from "./session.js";

const FAVOURITES = ["logrank", "mmr", "c2ucb"];
const chosen = { policy: null, slate: null };
let turn = 0;

/** Show the view with the latest list. */
export const show = (host) => attempt(host, () => load(host));

async function load(host) {
  const [lists, known] = await Promise.all([pastLists(), allPolicies(), loadLargest()]);
  if (lists.length === 0) return host.replaceChildren(noLists());
  const others = known.filter(({ name }) => name !== now().slate?.policy);
  const names = others.map(({ name }) => name);
  if (!names.includes(chosen.policy)) chosen.policy = FAVOURITES.find((name) => names.includes(name)) ?? names[0];
  chosen.slate = lists.at(-1).slate_id;
  const body = el("div", { class: "counterfactual-body", "aria-live": "polite" });
  const labels = new Map(policyOptions(known));
  const redraw = () => attempt(body, () => draw(body, lists, labels));
  host.replaceChildren(
    el("div", { class: "controls" },
      choice("Compare with", policyOptions(others), chosen.policy, (name) => {
        chosen.policy = name;
        redraw();
      }),
      listChoice(lists, chosen.slate, (id) => {
        chosen.slate = id;
        redraw();
      })),
    body,
  );
  await redraw();
}

async function draw(body, lists, labels) {
  turn += 1;
  const mine = turn;
  body.setAttribute("aria-busy", "true");
  const own = lists.find(({ slate_id: id }) => id === chosen.slate);
  const [other, attributes] = await Promise.all([
    counterfactualList(own.slate_id, chosen.policy),
    attributesOf(own.items.map(({ id }) => id)),
  ]);
  if (mine !== turn) return; // another choice was made meanwhile
  remember(other.items);
  const items = own.items.map((item) => ({ ...item, attributes: attributes.get(item.id) }));
  const shared = new Set(items.map(({ id }) => id).filter((id) => other.items.some((one) => one.id === id)));
  body.removeAttribute("aria-busy");
  body.replaceChildren(...[
    el("p", { class: "counterfactual-words" }, inWords(own.diversity, other, shared.size, items.length)),
    dialWords(other),
    el("div", { class: "counterfactual-columns" },
      column("Shown to you", labels.get(own.policy) ?? own.policy, items, own.diversity, shared),
      column("Other policy", other.label || other.policy, other.items, other.diversity, shared)),
  ].filter(Boolean));
}

function inWords(diversity, other, same, count) {
  const names = Object.keys(diversity).filter((name) => name in other.diversity);
  const gap = (name) => diversity[name] - other.diversity[name];
  const more = names.filter((name) => gap(name) > 0.05).map(readable);
  const less = names.filter((name) => gap(name) < -0.05).map(readable);
  const parts = [
    more.length ? `more diverse in ${listed(more)}` : "",
    less.length ? `less diverse in ${listed(less)}` : "",
  ].filter(Boolean);
  const both = same ? `${counted(same, "item")} of ${count} in both.` : "No item in both.";
  return `${both} Yours is ${parts.join(", ") || "about as diverse"}.`;
}

const listed = (names) => names.join(", ").replace(/, (?=[^,]*$)/, " and ");

/** Say whether both lists were made with the diversity that the user set. */
function dialWords({ dial, label, policy }) {
  if (!dial) return null;
  const words = dial === "same"
    ? "You had moved the diversity dial; the other list is made with the same setting."
    : `You had moved the diversity dial. ${label || policy} has no dial: that is part of the difference.`;
  return el("p", { class: "hint dial-words" }, words);
}

function column(title, policy, items, diversity, shared) {
  return el("section", { class: "panel" },
    el("p", { class: "eyebrow" }, title),
    el("h2", {}, policy),
    el("dl", { class: "spreads" }, Object.entries(diversity).map(([name, number], index) =>
      el("div", {}, el("dt", {}, readable(name)), el("dd", { class: "number" }, ofLargest(name, number)),
        el("dd", { class: "meter-track", "aria-hidden": "true" }, el("span", {
          class: "meter-fill",
          vars: { "--colour": distanceColour(index), "--share": shareOf(name, number) },
        }))))),
    el("ol", { class: "rows" }, items.map((item) => row(item, shared.has(item.id)))));
}

function row(item, isShared) {
  const { labels, line } = facts(item.attributes);
  return el("li", { class: "item-row" },
    el("span", { class: "thumb" }, poster(item)),
    el("span", { class: "item-words" },
      el("b", {}, item.title), el("span", {}, [line, ...labels.slice(0, 2)].filter(Boolean).join(" · "))),
    el("span", { class: "badges" },
      item.reward > 0 ? el("span", { class: "badge picked" }, "picked") : null,
      isShared ? el("span", { class: "badge" }, "in both") : null));
}
