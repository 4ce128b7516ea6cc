// The slider knows of entries that came since the page was made; one that stood at the newest goes with it.
// Where it was put is in the address, so that a link and a reload lead there.

"use strict";

document.addEventListener("htmx:sseMessage", () => {
  const slider = document.getElementById("version");
  const newest = document.querySelector("[data-newest]");
  if (!slider || !newest || slider.max === newest.dataset.newest) return;
  const goes = slider.value === slider.max && !new URLSearchParams(location.search).get(slider.name);
  slider.max = newest.dataset.newest;
  if (goes) slider.value = slider.max;
  document.getElementById("last-version").textContent = slider.max;
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful && event.target.matches(".travel")) history.replaceState(null, "", event.detail.pathInfo.finalRequestPath);
});
