// What waits for a person: in the title, in the icon, and as a notification where that is allowed.

"use strict";

let known = null; // what waited when we looked last; at first, nothing is news
let speaks = false; // one tab of a browser notifies, for all of them

function attend() {
  const told = document.querySelector("#needed [data-waiting]");
  if (!told) return;
  const count = Number(told.dataset.waiting);
  document.title = (count ? "(" + count + ") " : "") + document.title.replace(/^\(\d+\) /, "");
  document.querySelector("link[rel=icon]").href = count ? "/static/icon-waiting.svg" : "/static/icon.svg";
  const named = document.querySelectorAll("#needed [data-key]");
  const asks = new Map([...named].map((one) => [one.dataset.key, one.textContent]));
  const news = [...asks].filter(([key]) => known && !known.has(key)).map(([, words]) => words);
  known = asks;
  if (news.length && speaks && window.Notification && Notification.permission === "granted") {
    new Notification("Waits for you", { body: news.slice(0, 5).join("\n"), tag: "interlock" }).onclick = () => window.focus();
  }
}

// A browser asks its person only after they have pressed something

function offer() {
  const offered = document.getElementById("notify");
  if (!offered) return;
  offered.hidden = !window.Notification || Notification.permission !== "default";
  offered.querySelector("button").onclick = () => Notification.requestPermission().then(offer);
}

document.addEventListener("DOMContentLoaded", offer);
