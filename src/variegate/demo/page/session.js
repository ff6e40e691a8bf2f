/** The person at the page: who they are to the service, the list before them, what they picked. */

const memory = new Map();

/** Return what was kept under a name, or null. */
export function kept(name) {
  if (memory.has(name)) return memory.get(name);
  try {
    return JSON.parse(localStorage.getItem(`variegate.${name}`)) ?? null;
  } catch {
    return null;
  }
}

/** Keep a value under a name; null takes it away. */
export function keep(name, value) {
  memory.delete(name);
  try {
    if (value === null) localStorage.removeItem(`variegate.${name}`);
    else localStorage.setItem(`variegate.${name}`, JSON.stringify(value));
  } catch {
    memory.set(name, value); // forbidden or full: it lives as long as the page
  }
}

/** Return an id nobody else has. `crypto.randomUUID` is missing where a page came over plain HTTP. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const session = { user: `page-${newId()}`, slate: null, picks: [], dial: 0, ...kept("session") };

/** Return what is known of the session; only `change` changes it. */
export const now = () => session;

/** Change the session and keep it, so that a reload loses nothing. */
export function change(changes) {
  Object.assign(session, changes);
  keep("session", session);
}

/** Become somebody the service has never met. */
export function becomeNew() {
  change({ user: `page-${newId()}`, slate: null, picks: [], dial: 0 });
}

/** Pick an item, or take the pick back; return whether it is picked now. */
export function toggle(id) {
  const isPicked = !session.picks.includes(id);
  change({ picks: isPicked ? [...session.picks, id] : session.picks.filter((one) => one !== id) });
  return isPicked;
}
