/** The lists of the user, and the lists of other policies in their place. */

import { Away, Refusal, connection, get, part } from "./api.js";
import { choice, el, fixed, note } from "./dom.js";
import { now } from "./session.js";

const MAX_LISTS = 60;
let policies = null;
let largest = null;

/** Load the largest value of each distance, once. */
export async function loadLargest() {
  largest ??= (await get("/catalogue")).largest_distances;
}

/** Return a diversity with its unit, such as "0.64 of 1.0". */
export function ofLargest(name, number) {
  const top = largest?.[name];
  return top > 0 ? `${fixed(number)} of ${fixed(top, Number.isInteger(top) ? 1 : 2)}` : fixed(number);
}

/** Return a diversity as a share of the largest one, for a bar. */
export const shareOf = (name, number) =>
  `${100 * Math.max(0, Math.min(1, number / (largest?.[name] || 1)))}%`;

/** Return the lists of the user, oldest first, without withdrawn ones. */
export async function pastLists() {
  try {
    const { slates } = await get(`/users/${part(now().user)}/history?limit=${MAX_LISTS}`);
    return slates.filter(({ closed, answered }) => answered || !closed).reverse();
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return [];
    throw error;
  }
}

/** Return the list of another policy that learnt from the same picks. */
export const counterfactualList = (slate, policy) =>
  get(`/users/${part(now().user)}/counterfactual?policy=${part(policy)}&slate=${part(slate)}`, { seconds: 60 });

/** Return the policies that can work on this catalogue. */
export async function allPolicies() {
  policies ??= await get("/policies");
  return policies;
}

/** Return pairs for a choice of policies. */
export const policyOptions = (known) => known.map(({ name, label }) => [name, label || name]);

/** Return a choice among lists, the newest first. */
export function listChoice(lists, chosen, onchange) {
  const words = ({ earned, answered }, index) =>
    `List ${index + 1}${answered ? `, ${earned} picked` : ", open"}`;
  const options = lists.map((list, index) => [list.slate_id, words(list, index)]).reverse();
  return choice("List", options, chosen, onchange);
}

/** Return the note that stands where there are no lists yet. */
export const noLists = () =>
  note("Nothing to compare yet: answer a list first.", el("a", { href: "#/try" }, "Try it"));

/** Load a view: show a placeholder meanwhile, and a retry button on failure. */
export async function attempt(host, work) {
  if (!host.childElementCount) host.replaceChildren(el("div", { class: "loading", role: "status" }, "Loading."));
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Away)) throw error;
    const again = el("button", { type: "button", class: "quiet", onclick: () => attempt(host, work) }, "Try again");
    host.replaceChildren(note(error.message, again));
    if (error instanceof Away) connection.addEventListener("back", () => attempt(host, work), { once: true });
  }
}
