// Colours of lines and packets, for a light and a dark page.

/** Colours that people who do not tell red from green tell apart (after Okabe and Ito). */
const COLOURS = {
  light: ["#0060a8", "#b34700", "#00785a", "#a3357d", "#6b5b00", "#5a3fc0", "#a02020", "#3d6b78"],
  dark: ["#5db5f5", "#ff9d57", "#33cfa4", "#f08ccb", "#e0cc55", "#b3a0ff", "#ff8f8f", "#9cc4d0"],
};

/** True if the page is dark: as the reader chose, else as the system is. The style sheet sees the choice as `data-theme`. */
const theme = {
  system: matchMedia("(prefers-color-scheme: dark)"),
  changed: new EventTarget(),

  get dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : this.system.matches;
  },

  /** "dark", "light", or anything else for what the system says. */
  tell(name) {
    if (["dark", "light"].includes(name)) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    this.changed.dispatchEvent(new Event("change"));
  },

  /** Has a picture drawn again when the colours are others. */
  follow(draw) {
    this.changed.addEventListener("change", draw);
  },
};
theme.system.addEventListener("change", () => theme.changed.dispatchEvent(new Event("change")));

function colour(index) {
  const all = COLOURS[theme.dark ? "dark" : "light"];
  return all[index % all.length];
}
