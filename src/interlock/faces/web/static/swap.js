// How what arrives takes the place of what is shown: only what differs is changed, and the rest stays the same elements.
// So a person keeps what is theirs: what they typed, where they are, what they selected, opened or scrolled to.

"use strict";

const chosen = new WeakSet(); // what a person opened or closed themselves, and what they were in

document.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  if (summary) chosen.add(summary.parentElement);
});

document.addEventListener("focusin", (event) => {
  if (event.target.matches("summary")) return;
  for (let at = event.target.closest("details"); at; at = at.parentElement.closest("details")) chosen.add(at);
});

// What an element is about; two with different keys never become each other. Null where its place alone says it.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  if (node.getAttribute("id")) return "#" + node.getAttribute("id");
  if (node.matches("a[href]")) return node.getAttribute("href");
  if (node.matches("option")) return node.value;
  if (node.matches("details")) return node.querySelector("summary")?.textContent.replace(/\d+/g, "") ?? null; // counts go on
  if (node.matches("form")) {
    const said = [...node.querySelectorAll("input[type=hidden]")].map((one) => one.name + "=" + one.value);
    return [node.getAttribute("action"), ...said].join(" ");
  }
  const about = node.matches("li, tr, article") && node.querySelector("form, [id], a[href]");
  return about ? keyOf(about) : null;
}

// The children of an element with their keys; where two have the same one, they are counted.
function keyed(parent) {
  const seen = new Map();
  return new Map([...parent.childNodes].map((one) => {
    const key = keyOf(one);
    if (key === null) return [one, null];
    seen.set(key, (seen.get(key) || 0) + 1);
    return [one, one.nodeName + " " + key + " " + seen.get(key)];
  }));
}

function fit(shown, wanted, fresh) {
  if (shown.isEqualNode(wanted)) return;
  if (shown.nodeType !== Node.ELEMENT_NODE) {
    shown.nodeValue = wanted.nodeValue;
    return;
  }
  for (const { name } of [...shown.attributes]) {
    if (!wanted.hasAttribute(name) && !isTheirs(shown, name)) shown.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (shown.getAttribute(name) !== value && !isTheirs(shown, name)) shown.setAttribute(name, value);
  }
  if (wanted.matches("[hx-get]")) fresh.push(shown);
  fitAll(shown, wanted, fresh);
}

function isTheirs(shown, name) {
  return name === "open" && chosen.has(shown);
}

function fitAll(shown, wanted, fresh) {
  const before = keyed(shown);
  const after = keyed(wanted);
  const stays = new Set(after.values());
  const known = new Map();
  for (const [one, key] of before) {
    if (key !== null && !stays.has(key)) one.remove();
    else if (key !== null) known.set(key, one);
  }
  let at = shown.firstChild;
  const drop = () => {
    const past = at;
    at = at.nextSibling;
    past.remove();
  };
  const alike = (one) => {
    let found = at;
    while (found && before.get(found) === null && found.nodeName !== one.nodeName) found = found.nextSibling;
    return found && before.get(found) === null ? found : null;
  };
  for (const [one, key] of after) {
    const same = key === null ? alike(one) : known.get(key);
    if (same) {
      while (at !== same && at && before.get(at) === null) drop();
      if (at === same) at = at.nextSibling;
      else shown.insertBefore(same, at);
      fit(same, one, fresh);
    } else {
      shown.insertBefore(one, at);
      if (one.nodeType === Node.ELEMENT_NODE) fresh.push(one);
    }
  }
  while (at) drop();
}

htmx.defineExtension("swap", {
  handleSwap(style, target, fragment) {
    if (style !== "innerHTML") return false;
    const active = document.activeElement;
    const isInside = target.contains(active);
    const fresh = [];
    fitAll(target, fragment, fresh);
    if (isInside && document.activeElement !== active) {
      if (!active.isConnected) target.tabIndex = -1; // what had the focus is gone: go on from where it was
      (active.isConnected ? active : target).focus({ preventScroll: true });
    }
    return fresh;
  },
});
