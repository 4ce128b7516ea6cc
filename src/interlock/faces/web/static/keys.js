// The keyboard: j and k go through what can be opened, g and a letter lead to a page, ? shows the list.

"use strict";

let leads = false;

function rows() {
  return [...document.querySelectorAll("[data-row]")].filter((one) => one.offsetParent !== null);
}

function go(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))] || all[0];
  (next.matches("a, button") ? next : next.querySelector("a, button") || next).focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (leads) {
    leads = false;
    const found = document.querySelector('nav a[data-key="' + CSS.escape(event.key) + '"]');
    if (found) found.click();
  } else if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "g") leads = true;
  else if (event.key === "?") document.getElementById("keys").showModal();
  else return;
  event.preventDefault();
});
