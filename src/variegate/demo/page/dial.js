/** The dial: for the lists from here on, more or less variety than was learnt. */

import { el, fixed, readable } from "./dom.js";
import { distanceColour } from "./why.js";

/** What the ends of the dial add to every weight, or take: enough to outweigh what one likes best. */
const MOST_ADDED = 1.6;
const MOST_TAKEN = 1.4;
const WORDS = { "-1": "least varied", 0: "as learnt", 1: "most varied" };

/**
 * Return what a request says for a dial from -1 to 1, or undefined where it is as learnt.
 *
 * A scale alone does nothing while nothing is learnt, and turns the wrong way where somebody
 * turned out to dislike a mix. So each learnt weight is also moved up (a floor) or down (a ceiling);
 * at the lower end a wish for variety becomes a wish for none, however strong it was.
 */
export function wishOf(dial, learnt) {
  if (dial === 0) return undefined;
  const shift = dial > 0 ? MOST_ADDED * dial : MOST_TAKEN * dial;
  const bound = learnt?.length
    ? Object.fromEntries(learnt.map(({ name, weight }) => [name, scaled(weight, dial) + shift]))
    : shift;
  return dial > 0 ? { scale: 1 + dial, floor: bound } : { scale: 1 + dial, ceiling: bound };
}

const scaled = (weight, dial) => (weight > 0 ? weight * (1 + dial) : weight);

/** Put the dial into its place; `onturn` gets its number once the person has let go of it. */
export function makeDial(host, dial, onturn) {
  const slider = el("input", {
    type: "range", min: -1, max: 1, step: 0.25, value: dial, id: "dial-slider",
    list: "dial-marks", oninput: describe, onchange: () => onturn(Number(slider.value)),
  });
  const reset = el("button", { type: "button", class: "quiet", onclick: () => {
    set(0);
    onturn(0);
  } }, "As learnt");
  const meters = el("div", { class: "meters" });

  function describe() {
    const turned = Number(slider.value);
    const words = WORDS[turned] ?? (turned < 0 ? "less varied than learnt" : "more varied than learnt");
    slider.setAttribute("aria-valuetext", words);
    reset.disabled = turned === 0;
  }

  function set(turned) {
    slider.value = turned;
    describe();
  }

  host.replaceChildren(
    el("div", { class: "dial-turn" },
      el("label", { for: "dial-slider", class: "dial-name" }, "Variety"),
      el("div", { class: "dial-slide" }, slider,
        el("div", { class: "dial-ends", "aria-hidden": "true" },
          el("span", {}, "less"), el("span", {}, "as learnt"), el("span", {}, "more"))),
      reset),
    el("div", { class: "dial-spread unknown" }, el("p", { class: "meters-name" }, "This list is varied in"), meters),
    el("datalist", { id: "dial-marks" }, [-1, 0, 1].map((value) => el("option", { value }))),
  );
  describe();
  return { set, showDiversity: (diversity) => drawDiversity(meters, diversity) };
}

/** Show how varied a list is: the mean distance of its pairs, by distance. */
function drawDiversity(host, diversity) {
  const names = Object.keys(diversity ?? {});
  host.parentElement.classList.toggle("unknown", names.length === 0);
  if (host.childElementCount !== names.length) {
    host.replaceChildren(...names.map((name, index) =>
      el("div", { class: "meter" },
        el("span", { class: "meter-name" }, readable(name)),
        el("span", { class: "meter-track" },
          el("span", { class: "meter-fill", vars: { "--colour": distanceColour(index) } })),
        el("span", { class: "number" }))));
  }
  names.forEach((name, index) => {
    const share = Math.max(0, Math.min(1, diversity[name]));
    const row = host.children[index];
    row.querySelector(".meter-fill").style.setProperty("--share", `${100 * share}%`);
    row.querySelector(".number").textContent = fixed(diversity[name]);
  });
}
