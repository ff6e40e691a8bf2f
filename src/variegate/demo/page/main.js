/** The page: routing between views, connection status, theme. */

import { connection } from "./api.js";
import * as counterfactual from "./counterfactual.js";
import { byId } from "./dom.js";
import * as map from "./map.js";
import * as operator from "./operator.js";
import { waiting } from "./outbox.js";
import { start as startTry } from "./try.js";
import * as simulation from "./simulation.js";

// All are loaded at the start, so that a view opens even while the service is unavailable.
const VIEWS = {
  try: { name: "Try it" },
  counterfactual: { name: "Side by side", module: counterfactual },
  map: { name: "Map", module: map },
  simulation: { name: "Simulation", module: simulation },
  operator: { name: "Operator", module: operator },
};
let shown = null;
let backTimer = 0;

/** Show the view that the address names. */
function route() {
  const asked = location.hash.replace(/^#\/?/, "") || "try";
  if (!(asked in VIEWS) || asked === shown) return;
  const isFirst = shown === null;
  const before = VIEWS[shown];
  shown = asked;
  for (const name of Object.keys(VIEWS)) byId(`view-${name}`).hidden = name !== asked;
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#/${asked}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[asked].name} · variegate`;
  if (!isFirst) {
    scrollTo(0, 0);
    byId(`title-${asked}`).focus({ preventScroll: true });
  }
  before?.module?.hide?.();
  VIEWS[asked].module?.show(byId(`view-${asked}`).querySelector(".view-body"));
}

function showAway() {
  clearTimeout(backTimer);
  const saved = waiting() ? "Your picks are saved and will be sent." : "New picks are saved and will be sent.";
  byId("away").textContent = `The service is unavailable. ${saved}`;
  byId("away").classList.remove("good");
  byId("away").classList.add("shown");
}

function showBack() {
  byId("away").textContent = "The service is available again.";
  byId("away").classList.add("good");
  backTimer = setTimeout(() => byId("away").classList.remove("shown"), 2500);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("variegate.theme", theme);
  } catch {
    // The choice then lasts as long as the page.
  }
  describeTheme();
  dispatchEvent(new Event("themechange"));
}

function describeTheme() {
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

connection.addEventListener("away", showAway);
connection.addEventListener("back", showBack);
addEventListener("hashchange", route);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  describeTheme();
  dispatchEvent(new Event("themechange"));
});
byId("theme").addEventListener("click", toggleTheme);
byId("own").addEventListener("click", () => byId("catalogue").showModal());
byId("no-site").addEventListener("click", () => byId("site").showModal());
describeTheme();
startTry();
route();
