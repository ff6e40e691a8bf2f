/** What it thinks you like: the strongest of the learnt preferences. */

import { beliefBars } from "./beliefs.js";

/** Make the panel; return what draws it from what was learnt. */
export function likesPanel(host) {
  const draw = beliefBars(host, {
    most: 10,
    empty: "Nothing yet. Pick what you like and ask for the next ten: what it makes of your picks "
      + "appears here. The thin lines say how unsure it is.",
  });
  return (learnt) => draw(learnt?.words.likes, learnt?.relevance);
}
