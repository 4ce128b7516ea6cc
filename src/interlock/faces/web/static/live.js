// The page's end of the stream: htmx swaps what arrives, we only say where it comes from.

"use strict";

class Stream extends EventTarget {
  constructor(address) {
    super();
    this.readyState = 0;
    this.page = new URL(address, location.href).searchParams.get("show");
    if (window.SharedWorker) this.share();
    else this.connect(address);
  }

  share() {
    this.worker = new SharedWorker("/static/worker.js");
    this.worker.port.onmessage = (event) => this.hear(event.data);
    this.worker.port.start();
    this.worker.port.postMessage({ type: "show", page: this.page });
    window.addEventListener("pagehide", () => this.worker.port.postMessage({ type: "leave" }));
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) this.worker.port.postMessage({ type: "show", page: this.page });
    });
  }

  connect(address) {
    this.source = new EventSource(address);
    this.source.onopen = () => this.hear({ type: "state", state: "open" });
    this.source.onerror = () => this.hear({ type: "state", state: "lost" });
    this.source.addEventListener("region", (event) => this.hear({ type: "region", ...JSON.parse(event.data) }));
  }

  hear(told) {
    if (told.type === "state") {
      this.readyState = told.state === "open" ? 1 : 0;
      connection(told.state);
    } else {
      const region = document.getElementById(told.name.split("#").pop());
      if (region && region.innerHTML === told.html) return;
      this.dispatchEvent(new MessageEvent(told.name, { data: told.html }));
    }
  }

  close() {
    this.readyState = 2;
    if (this.source) this.source.close();
  }
}

function connection(state) {
  const shown = document.getElementById("connection");
  const words = { open: "live", lost: "not connected; trying again", connecting: "connecting" };
  shown.dataset.state = state;
  shown.textContent = words[state];
}

htmx.createEventSource = (address) => new Stream(address);

// Times

function spoken(seconds) {
  if (seconds >= 86400) return Math.floor(seconds / 86400) + " d";
  if (seconds >= 3600) return Math.floor(seconds / 3600) + " h";
  if (seconds >= 60) return Math.floor(seconds / 60) + " min";
  return Math.max(0, Math.floor(seconds)) + " s";
}

function tell() {
  for (const one of document.querySelectorAll("time[datetime]")) {
    one.textContent = spoken((Date.now() - Date.parse(one.dateTime)) / 1000);
  }
}

setInterval(tell, 10000);

// What waits for a person: in the title, in the icon, and as a notification where that is allowed

let waited = null;

function attend() {
  const known = document.querySelector("[data-waiting]");
  if (!known) return;
  const waiting = Number(known.dataset.waiting);
  document.title = document.title.replace(/^\(\d+\) /, "");
  if (waiting) document.title = "(" + waiting + ") " + document.title;
  document.querySelector("link[rel=icon]").href = waiting ? "/static/icon-waiting.svg" : "/static/icon.svg";
  if (waited !== null && waiting > waited && window.Notification && Notification.permission === "granted") {
    new Notification("Interlock", { body: known.dataset.waitingFor, tag: "interlock" });
  }
  waited = waiting;
}

document.addEventListener("htmx:sseMessage", () => { tell(); attend(); });
document.addEventListener("DOMContentLoaded", attend);
attend();
