// The page's end of the stream: htmx swaps what arrives, we only say where it comes from.

"use strict";

class Stream extends EventTarget {
  constructor(address) {
    super();
    this.readyState = 0;
    this.page = new URL(address, location.href).searchParams.get("show");
    if (window.SharedWorker) {
      this.share();
      window.addEventListener("pagehide", () => this.say({ type: "leave" }));
      window.addEventListener("pageshow", (event) => { if (event.persisted) this.say({ type: "show" }); });
    } else this.connect(address + "&show=" + encodeURIComponent("/needed"));
  }

  share() {
    const worker = new SharedWorker("/static/worker.js");
    worker.port.onmessage = (event) => this.hear(event.data);
    worker.port.start();
    this.say = (said) => worker.port.postMessage({ page: this.page, ...said });
    const alive = "tab " + Math.random(); // a lock that is ours for as long as this tab is there, however it ends
    if (!navigator.locks) this.say({ type: "show" });
    else navigator.locks.request(alive, () => { this.say({ type: "show", alive }); return new Promise(() => {}); });
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
    } else if (told.type === "alive") { // the worker ends with the tab that began it, where that one crashes
      navigator.locks.request(told.alive, { mode: "shared" }, () => { connection("lost"); this.share(); });
    } else {
      speaks = told.speaks === true;
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

document.addEventListener("htmx:sseMessage", () => { tell(); attend(); });
document.addEventListener("DOMContentLoaded", attend);
attend();
