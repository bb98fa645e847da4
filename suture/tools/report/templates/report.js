"use strict";
(() => {
  const cards = [...document.querySelectorAll(".card")];
  let current = -1;
  const show = (index) => {
    if (!cards.length) return;
    current = (index + cards.length) % cards.length;
    cards[current].scrollIntoView({ block: "center" });
    cards[current].focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") show(current + 1);
    if (event.key === "p") show(current < 0 ? -1 : current - 1);
  });
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
