// Light, dark, or as the system has it; kept in this browser.

const KEY = "askwise-look";

function remembered() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system";
  }
}

function apply(look) {
  if (look === "system") delete document.documentElement.dataset.look;
  else document.documentElement.dataset.look = look;
}

/** @param {HTMLSelectElement} select */
export function startTheme(select) {
  select.value = ["light", "dark"].includes(remembered()) ? remembered() : "system";
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      // Then it holds until the page is loaded again.
    }
  });
}
