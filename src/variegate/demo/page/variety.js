/** How varied you want it: the learnt weight of each distance, and the least that it counts for. */

import { beliefBars } from "./beliefs.js";
import { el, fixed } from "./dom.js";
import { distanceColour } from "./why.js";

/** Make the panel; return what draws it from what was learnt. */
export function varietyPanel(host) {
  let names = [];
  const draw = beliefBars(host, {
    most: 6,
    colourOf: (name) => distanceColour(names.indexOf(name)),
    empty: "Nothing yet. It watches whether you pick things that differ from those above them, "
      + "or more of the same.",
  });
  const floor = el("p", { class: "belief-floor", hidden: true });
  host.append(floor);
  return (learnt) => {
    names = learnt?.diversity.map(({ name }) => name) ?? [];
    draw(learnt?.words.variety, learnt?.diversity);
    floor.hidden = !(learnt?.floor > 0);
    floor.textContent = `In lists each counts for at least ${fixed(learnt?.floor ?? 0)}, whatever was learnt.`;
  };
}
