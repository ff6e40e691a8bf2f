/** How varied you want it: the learnt weight of each distance. */

import { beliefBars } from "./beliefs.js";
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
  return (learnt) => {
    names = learnt?.diversity.map(({ name }) => name) ?? [];
    draw(learnt?.words.variety, learnt?.diversity);
  };
}
