// The theme: light, dark, or that of the system. It is stored in this browser.

const KEY = "askwise-look";

function storedTheme() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system";
  }
}

function apply(theme) {
  if (theme === "system") delete document.documentElement.dataset.look;
  else document.documentElement.dataset.look = theme;
}

/** @param {HTMLSelectElement} select */
export function startTheme(select) {
  select.value = ["light", "dark"].includes(storedTheme()) ? storedTheme() : "system";
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      // Without storage it lasts until the page is loaded again.
    }
  });
}
