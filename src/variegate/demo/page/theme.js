// Runs before the first paint, so that a page that was set to dark never flashes white.
(() => {
  try {
    const chosen = localStorage.getItem("variegate.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage that is forbidden means the system's own choice.
  }
})();
