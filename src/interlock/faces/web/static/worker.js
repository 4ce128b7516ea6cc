// One stream for all tabs of a browser: it may hold only six connections to a host.
// A tab tells which page it shows; what changes on that page is passed on to it.

const tabs = new Map(); // port -> address of the page
let source = null;
let showing = "";
let state = "connecting";

function connect() {
  const shown = [...new Set(tabs.values())].sort();
  const address = "/live?" + shown.map((one) => "show=" + encodeURIComponent(one)).join("&");
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
  source.onopen = () => say("open");
  source.onerror = () => {
    say("lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { showing = ""; connect(); }, 1000);
  };
  source.addEventListener("region", (event) => {
    const told = JSON.parse(event.data);
    for (const [port, page] of tabs) {
      if (told.name.startsWith(page + "#")) port.postMessage({ type: "region", ...told });
    }
  });
}

function say(now) {
  state = now;
  for (const port of tabs.keys()) port.postMessage({ type: "state", state: now });
}

self.onconnect = (connected) => {
  const port = connected.ports[0];
  port.onmessage = (event) => {
    if (event.data.type === "show") {
      tabs.set(port, event.data.page);
      port.postMessage({ type: "state", state });
      showing = ""; // a page that was just loaded is told everything: it may be older than the stream
      connect();
    } else if (event.data.type === "leave") {
      tabs.delete(port);
      connect();
    }
  };
};
