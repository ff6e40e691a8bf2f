/** Elements without markup: whatever comes from data can only ever become text. */

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element. `vars` are CSS custom properties; `onclick` and such are listeners. */
export function el(tag, attributes = {}, ...children) {
  return dressed(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function shape(tag, attributes = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), attributes, children);
}

function dressed(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "vars") setVars(element, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set CSS custom properties; a style attribute would be refused by the page's policy. */
export function setVars(element, vars) {
  for (const [name, value] of Object.entries(vars)) element.style.setProperty(name, value);
}

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Whether the person asked for little movement. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Return a name of the data as people write it: `release_year` is "release year". */
export const readable = (name) => String(name).replaceAll("_", " ");

/** Return a measured number, with as many digits as its neighbours have. */
export function fixed(number, digits = 2) {
  if (!Number.isFinite(number)) return "–";
  const words = number.toFixed(digits);
  return Number(words) === 0 ? words.replace("-", "") : words.replace("-", "−");
}

/** Return a count, or a number that may be whole, with few digits. */
export const short = (number) =>
  Number.isInteger(number) ? (number || 0).toLocaleString("en").replace("-", "−") : fixed(number);

/** Return a measured number with its sign. */
export const signed = (number, digits = 2) => (number > 0 ? "+" : "") + fixed(number, digits);

/** Return "1 pick" or "3 picks". */
export const counted = (count, word) => `${short(count)} ${word}${count === 1 ? "" : "s"}`;

/** Return a name beside its colour. */
export function key(name, colour, kind = "") {
  return el("span", { class: "key" }, el("span", { class: `swatch ${kind}`, vars: { "--colour": colour } }), name);
}

/** Return a note that stands where there is nothing to show, or where something went wrong. */
export function note(words, action = null) {
  return el("div", { class: "note" }, el("p", {}, words), action);
}

/** Return a choice of several, with its label. */
export function choice(label, options, chosen, onchange) {
  const select = el("select", { onchange: () => onchange(select.value) });
  for (const [value, words] of options) {
    select.append(el("option", { value, selected: value === chosen }, words));
  }
  return el("label", { class: "field" }, label, select);
}
