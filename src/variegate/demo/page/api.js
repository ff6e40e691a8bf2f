/** The service over HTTP: keys, time limits, and whether it is there at all. */

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

const FIRST_WAIT = 700;
const MAX_WAIT = 8000;
const NO_KEY = "This service requires a key. Its operator can make one: variegate keys make.";
const AWAY_STATUSES = [502, 503, 504];

/** The service answered, and the answer is no. Status 0: it did not answer in time. */
export class Refusal extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** The service cannot be reached. `connection` tells when it is back. */
export class Away extends Error {
  constructor() {
    super("The service is away.");
  }
}

/** Tells "away" and "back". */
export const connection = new EventTarget();
let isAway = false;

export const get = (path, options) => request("GET", path, undefined, options);
export const post = (path, body, options) => request("POST", path, body, options);
/** Return text as a part of a path. */
export const part = (text) => (/^\.\.?$/.test(text) ? text.replaceAll(".", "%2E") : encodeURIComponent(text));

/** Browsers resolve the ids "." and ".." as they do dots in a path: the query names them instead. */
function address(path) {
  const dots = path.match(/\/((?:%2E){1,2})(?=[/?]|$)/);
  if (!dots) return `/v1${path}`;
  return `/v1${path.replace(dots[0], "/~")}${path.includes("?") ? "&" : "?"}id=${dots[1]}`;
}

async function request(method, path, body, { seconds = 15 } = {}) {
  const answer = await reached(method, path, body, seconds);
  if (answer.status === 401) {
    const words = currentKey() ? await wordsOf(answer) : NO_KEY;
    if (await askForKey(words)) return request(method, path, body, { seconds });
    throw new Refusal(401, words);
  }
  if (answer.status === 429 && seconds > 1) {
    await pause(1000 * Math.min(Number(answer.headers.get("retry-after")) || 1, 5));
    return request(method, path, body, { seconds: seconds / 2 });
  }
  if (AWAY_STATUSES.includes(answer.status)) throw lost();
  found();
  if (!answer.ok) throw new Refusal(answer.status, await wordsOf(answer));
  return answer.json();
}

async function reached(method, path, body, seconds) {
  const headers = {};
  const key = currentKey();
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    return await fetch(address(path), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(1000 * seconds),
    });
  } catch (error) {
    if (error.name === "TimeoutError") throw new Refusal(0, "The service took too long to answer.");
    throw lost();
  }
}

async function wordsOf(answer) {
  try {
    const { detail } = await answer.clone().json();
    return sentence(detail);
  } catch {
    return `The service answered ${answer.status}.`;
  }
}

function sentence(words) {
  return `${words[0].toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`;
}

function lost() {
  if (!isAway) {
    isAway = true;
    connection.dispatchEvent(new Event("away"));
    untilReady();
  }
  return new Away();
}

function found() {
  if (!isAway) return;
  isAway = false;
  connection.dispatchEvent(new Event("back"));
}

async function untilReady() {
  for (let wait = FIRST_WAIT; isAway; wait = Math.min(1.6 * wait, MAX_WAIT)) {
    await pause(wait);
    try {
      const answer = await fetch("/readyz", { signal: AbortSignal.timeout(3000) });
      if (answer.ok) found();
    } catch {
      // Still away; the loop goes on.
    }
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
