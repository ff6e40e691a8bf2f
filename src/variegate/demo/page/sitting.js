/** The person at the page: who they are to the service, the list before them, what they picked. */

import { keep, kept, newId } from "./keep.js";

const sitting = { user: `page-${newId()}`, slate: null, picks: [], dial: 0, ...kept("sitting") };

/** Return what is known of the sitting; only `change` changes it. */
export const now = () => sitting;

/** Change the sitting and keep it, so that a reload loses nothing. */
export function change(changes) {
  Object.assign(sitting, changes);
  keep("sitting", sitting);
}

/** Become somebody the service has never met. */
export function becomeNew() {
  change({ user: `page-${newId()}`, slate: null, picks: [], dial: 0 });
}

/** Pick an item, or take the pick back; return whether it is picked now. */
export function toggle(id) {
  const isPicked = !sitting.picks.includes(id);
  change({ picks: isPicked ? [...sitting.picks, id] : sitting.picks.filter((one) => one !== id) });
  return isPicked;
}
