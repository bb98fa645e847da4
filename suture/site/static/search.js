"use strict";
(() => {
  const words = new Map(window.sutureBreaks.map((row) => [row.number, row.words]));
  const rows = [...document.querySelectorAll("#entries li")];
  const fields = ["q", "status", "kind", "family"].map((id) => document.getElementById(id));
  const [query, ...choices] = fields;

  const apply = () => {
    const wanted = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = words.get(row.dataset.number) || "";
      const fits =
        wanted.every((word) => text.includes(word)) &&
        choices.every((choice) => !choice.value || row.dataset[choice.id] === choice.value);
      row.hidden = !fits;
      shown += fits;
    }
    document.getElementById("count").textContent = `${shown} of ${rows.length}`;
    document.getElementById("none").hidden = shown > 0;
  };
  const remember = () => {
    const state = new URLSearchParams();
    for (const field of fields) if (field.value) state.set(field.id, field.value);
    const text = state.toString();
    history.replaceState(null, "", text ? `?${text}` : location.pathname);
  };

  const state = new URLSearchParams(location.search);
  for (const field of fields) field.value = state.get(field.id) || "";
  for (const field of fields) {
    field.addEventListener("input", () => {
      apply();
      remember();
    });
  }
  document.getElementById("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = rows.find((row) => !row.hidden);
    if (first) first.querySelector("a").click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== query) {
      event.preventDefault();
      query.focus();
    }
  });
  apply();
})();
