// One stream for all tabs of a browser: it may hold only six connections to a host.
// A tab tells which page it shows; what changes on that page is passed on to it.

const NEEDED = "/needed"; // what every page has in its heading
const SILENCE = 40000; // milliseconds; the server says something every 15 seconds
const tabs = new Map(); // port -> address of the page
let source = null;
let showing = "";
let state = "connecting";
let heard = 0; // when the server said something last

function connect() {
  const shown = [...new Set(tabs.values())].sort();
  const address = "/live?" + [NEEDED, ...shown].map((one) => "show=" + encodeURIComponent(one)).join("&");
  if (shown.length === 0) {
    if (source) source.close();
    source = null;
    showing = "";
    return;
  }
  if (address === showing && source && source.readyState !== EventSource.CLOSED) return;
  if (source) source.close();
  showing = address;
  source = new EventSource(address);
  heard = Date.now();
  source.onopen = () => { heard = Date.now(); say("open"); };
  source.addEventListener("still", () => { heard = Date.now(); });
  source.onerror = () => {
    say("lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { showing = ""; connect(); }, 1000);
  };
  source.addEventListener("region", (event) => {
    heard = Date.now();
    const told = JSON.parse(event.data);
    const speaker = tabs.keys().next().value; // of all tabs that hear of it, one notifies the person
    for (const [port, page] of tabs) {
      const concerns = told.name.startsWith(page + "#") || told.name.startsWith(NEEDED + "#");
      if (concerns) port.postMessage({ type: "region", speaks: port === speaker, ...told });
    }
  });
}

// A connection may be gone though nobody said so: after a sleep, or where the network is another one now.
function check() {
  if (!source || Date.now() - heard < SILENCE) return;
  say("lost");
  showing = "";
  connect();
}

setInterval(check, 5000);

function say(now) {
  state = now;
  for (const port of tabs.keys()) port.postMessage({ type: "state", state: now });
}

// A lock that is ours for as long as this worker is there: who waits for it knows when it has ended
const lives = navigator.locks && new Promise((tell) => {
  const alive = "worker " + Math.random();
  navigator.locks.request(alive, () => { tell(alive); return new Promise(() => {}); });
});

self.onconnect = (connected) => {
  const port = connected.ports[0];
  port.onmessage = (event) => {
    if (event.data.type === "show") {
      if (event.data.alive) {
        navigator.locks.request(event.data.alive, () => leave(port));
        lives.then((alive) => port.postMessage({ type: "alive", alive }));
      }
      tabs.set(port, event.data.page);
      port.postMessage({ type: "state", state });
      showing = ""; // a page that was just loaded is told everything: it may be older than the stream
      connect();
    } else if (event.data.type === "leave") {
      leave(port);
    }
  };
};

function leave(port) {
  if (tabs.delete(port)) connect();
}
