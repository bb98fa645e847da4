"use strict";
// Scores as suture/breaks/search.py does: a word in the heading counts most, a whole word twice.
(() => {
  const texts = new Map(window.sutureBreaks.map((row) => [row.number, row]));
  const list = document.getElementById("entries");
  const rows = [...list.querySelectorAll("li")];
  const fields = ["q", "status", "kind", "family"].map((id) => document.getElementById(id));
  const [query, ...choices] = fields;
  const everything = window.sutureBreaks.map((row) => `${row.heading} ${row.names} ${row.rest}`);
  const vocabulary = new Set(everything.join(" ").match(/[a-z][a-z0-9_]{2,}/g));

  const isPart = (letter) => letter !== undefined && /\w/.test(letter);
  const hasWhole = (text, word) => {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) return true;
    }
    return false;
  };
  const score = (row, words) => {
    let total = 0;
    for (const word of words) {
      let best = 0;
      for (const [weight, text] of [[8, row.heading], [4, row.names], [1, row.rest]]) {
        if (text.includes(word)) best = Math.max(best, hasWhole(text, word) ? 2 * weight : weight);
      }
      if (!best) return 0;
      total += best + 2 * row.heading.startsWith(word);
    }
    return 2 * total * (1 + row.happens) + row.happens;
  };
  const distance = (a, b, most) => {
    if (Math.abs(a.length - b.length) > most) return most + 1;
    let before = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      const now = [i];
      for (let j = 1; j <= b.length; j++) {
        now[j] = Math.min(before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] !== b[j - 1]));
      }
      before = now;
    }
    return before[b.length];
  };
  const nearest = (word) => {
    const most = word.length < 5 ? 1 : 2;
    let best = null;
    let least = most + 1;
    for (const known of vocabulary) {
      const far = distance(word, known, most);
      if (far < least || (far === least && best !== null && known < best)) [best, least] = [known, far];
    }
    return best;
  };

  const apply = () => {
    const number = /^(?:gb)?\s*0*(\d{1,4})$/i.exec(query.value.trim());
    let words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const instead = [];
    if (!number) {
      words = words.map((word) => {
        if (everything.some((text) => text.includes(word))) return word;
        const near = nearest(word);
        if (near) instead.push([word, near]);
        return near || word;
      });
    }
    const wanted = number && `GB${number[1].padStart(4, "0")}`;
    const scores = new Map();
    for (const row of rows) {
      const name = row.dataset.number;
      const found = wanted ? +(name === wanted) : words.length ? score(texts.get(name), words) : 1;
      const fits = choices.every((choice) => !choice.value || row.dataset[choice.id] === choice.value);
      scores.set(row, fits ? found : 0);
      row.hidden = !scores.get(row);
    }
    const order = words.length
      ? [...rows].sort((a, b) => scores.get(b) - scores.get(a) || rows.indexOf(a) - rows.indexOf(b))
      : rows;
    list.append(...order);
    const shown = rows.filter((row) => !row.hidden).length;
    document.getElementById("count").textContent = `${shown} of ${rows.length}`;
    document.getElementById("none").hidden = shown > 0;
    const said = document.getElementById("instead");
    said.hidden = !instead.length;
    said.textContent = instead.map(([a, b]) => `No break speaks of \u201c${a}\u201d; shown is \u201c${b}\u201d.`).join(" ");
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
    const first = list.querySelector("li:not([hidden])");
    if (first) first.querySelector("a").click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== query) {
      event.preventDefault();
      query.focus();
    }
  });
  apply();
  if (!location.hash) query.focus({ preventScroll: true });
})();
