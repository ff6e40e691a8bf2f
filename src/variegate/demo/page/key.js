/** The key of the service, asked for when it turns out that one is needed. */

import { byId } from "./dom.js";

const NAME = "variegate.key";
let asking = null;
let memory = null;

/** Return the key that was given in this tab, or null. */
export function currentKey() {
  try {
    return sessionStorage.getItem(NAME) ?? memory;
  } catch {
    return memory;
  }
}

/** Ask for a key, once however many requests want one; resolve to whether one was given. */
export function askForKey(words) {
  asking ??= answered(words).finally(() => {
    asking = null;
  });
  return asking;
}

async function answered(words) {
  const dialog = byId("key");
  byId("key-words").textContent = words;
  byId("key-input").value = "";
  dialog.returnValue = "no";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  const given = byId("key-input").value.trim();
  byId("key-input").value = "";
  if (dialog.returnValue !== "use" || !given) return false;
  memory = given;
  try {
    sessionStorage.setItem(NAME, given);
  } catch {
    // Kept in memory alone.
  }
  return true;
}
