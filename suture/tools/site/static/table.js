"use strict";
(() => {
  const filter = document.getElementById("filter");
  const rows = [...document.querySelectorAll("#table tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !wanted.every((word) => texts[i].includes(word));
      shown += !row.hidden;
    });
    document.getElementById("shown").textContent = `${shown} of ${rows.length}`;
  });
})();
