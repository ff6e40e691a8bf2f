/** What the browser keeps for us, as JSON; what it will not keep, this page remembers. */

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
