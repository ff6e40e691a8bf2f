/** The page: which view is shown, whether the service is there, and the colours. */

import { connection } from "./api.js";
import { byId } from "./dom.js";
import { waiting } from "./outbox.js";
import { start as startTry } from "./try.js";

const VIEWS = {
  try: { name: "Try it" },
  beside: { name: "Side by side", load: () => import("./beside.js") },
  map: { name: "Map", load: () => import("./map.js") },
  watch: { name: "Watch", load: () => import("./watch.js") },
  operator: { name: "Operator", load: () => import("./operator.js") },
};
let shown = null;
let backTimer = 0;

/** Show the view that the address names; a view is started when it is first shown. */
async function route() {
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
  await open(asked);
}

async function open(name) {
  const view = VIEWS[name];
  if (!view.load) return;
  view.module ??= await view.load();
  if (shown === name) view.module.show(byId(`view-${name}`).querySelector(".view-body"));
}

function showAway() {
  clearTimeout(backTimer);
  const kept = waiting() ? "Your picks are kept and will be sent." : "What you pick is kept and will be sent.";
  byId("away").textContent = `The service is away. ${kept}`;
  byId("away").classList.add("shown");
}

function showBack() {
  byId("away").textContent = "The service is back.";
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
describeTheme();
startTry();
route();
