/** What items are described by, read without knowing what kind of thing they are. */

import { get, part } from "./api.js";
import { readable, short } from "./dom.js";

/** Longer text is a description, and has no room on a card. */
const MAX_LABEL = 40;
const known = new Map();

/** Attributes that name a picture of an item. */
const IMAGE = /^(image|picture|photo|thumbnail|poster)([ _-]?(url|link|src))?$/i;

/** Return the address of an item's picture, on the web or on this host, or null. */
export function imageOf(attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (!IMAGE.test(name) || typeof value !== "string" || value === "") continue;
    const address = URL.canParse(value, location.href) ? new URL(value, location.href) : null;
    if (address && /^https?:$/.test(address.protocol)) return address.href;
  }
  return null;
}

/** Return the labels and the line that a card shows of an item's attributes. */
export function facts(attributes) {
  const words = [];
  const numbers = [];
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (IMAGE.test(name)) continue;
    if (typeof value === "number") numbers.push([name, value]);
    else if (labelsOf(value).length) words.push(labelsOf(value));
  }
  const line = [
    numbers.length ? numberWords(...numbers[0]) : "",
    (words[1] ?? []).slice(0, 2).join(", "),
  ];
  return { labels: words[0] ?? [], more: words[1] ?? [], line: line.filter(Boolean).join(" · ") };
}

/** Return every attribute that has a value, as pairs of words. */
export function everything(attributes) {
  return Object.entries(attributes ?? {})
    .filter(([name]) => !IMAGE.test(name))
    .map(([name, value]) => [readable(name), valueWords(name, value)])
    .filter(([, words]) => words !== "");
}

/** Return the attributes of items by id, asking for those that were not seen before. */
export async function attributesOf(ids) {
  await Promise.all(
    ids.map(async (id) => {
      if (!known.has(id)) known.set(id, (await get(`/items/${part(id)}`)).attributes);
    }),
  );
  return new Map(ids.map((id) => [id, known.get(id)]));
}

/** Remember the attributes of items that came with a list. */
export function remember(items) {
  for (const item of items) if (item.attributes) known.set(item.id, item.attributes);
}

function labelsOf(value) {
  const values = Array.isArray(value) ? value : [value];
  return values
    .filter((one) => typeof one === "string" && one !== "" && one.length <= MAX_LABEL && !isAddress(one));
}

/** Whether a text is the address of something, which is no label. */
const isAddress = (text) => /^(https?:)?\/\/?\S/i.test(text);

function numberWords(name, number) {
  const isYear = /year/i.test(name) && Number.isInteger(number);
  return isYear ? String(number) : `${readable(name)} ${short(number)}`;
}

function valueWords(name, value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.filter((one) => one !== null).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  return /year/i.test(name) ? String(value) : short(value);
}
