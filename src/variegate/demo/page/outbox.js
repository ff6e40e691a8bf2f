/**
 * Picks on their way to the service.
 *
 * A report is kept by the browser before it is sent and until it was acknowledged, so neither a
 * dying server nor a closed tab loses it. It carries an id of its own, by which the service knows
 * one that comes a second time because its acknowledgement was lost.
 */

import { Away, connection, part, post, Refusal } from "./api.js";
import { keep, kept, newId } from "./session.js";

const MAX_WAIT = 30_000;
/** Answers that may be others a little later. */
const PASSING = [0, 401, 403, 408, 425, 429];

/** Tells "sent" and "dropped", with the report and the words of the refusal as `detail`. */
export const outbox = new EventTarget();

let sending = null;
let wait = 1000;
let timer = 0;

/** Return how many reports wait. */
export const waiting = () => read().length;

/** Keep a report: every item of a list was seen, and these were picked. */
export function report(slate, picks) {
  const rewards = Object.fromEntries(picks.map((id) => [id, 1]));
  keep("outbox", [...read(), { event: newId(), slate, rewards }]);
}

/** Send what waits, in order; resolve to whether all of it is gone. */
export function flush() {
  sending ??= sendAll().finally(() => {
    sending = null;
  });
  return sending;
}

async function sendAll() {
  clearTimeout(timer);
  for (let next = read()[0]; next; next = read()[0]) {
    try {
      await post(`/slates/${part(next.slate)}/feedback`, {
        rewards: next.rewards,
        event: next.event,
      });
      done("sent", next);
    } catch (error) {
      if (!isFinal(error)) {
        later();
        return false;
      }
      done("dropped", next, error.message);
    }
    wait = 1000;
  }
  return true;
}

/** Another tab may have sent it too: it goes by its id, wherever it stands by now. */
function done(what, gone, words = "") {
  keep("outbox", read().filter((one) => one.event !== gone.event));
  outbox.dispatchEvent(new CustomEvent(what, { detail: { ...gone, words } }));
}

function isFinal(error) {
  if (error instanceof Away) return false;
  if (!(error instanceof Refusal)) throw error;
  return error.status < 500 && !PASSING.includes(error.status);
}

function later() {
  timer = setTimeout(flush, wait * (0.75 + 0.5 * Math.random()));
  wait = Math.min(2 * wait, MAX_WAIT);
}

function read() {
  const found = kept("outbox");
  return Array.isArray(found) ? found : [];
}

connection.addEventListener("back", flush);
addEventListener("online", flush);
