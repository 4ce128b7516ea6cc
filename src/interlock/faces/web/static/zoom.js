// A picture larger and smaller: by buttons, by the wheel with Ctrl, from the keyboard, and moved by dragging.
// Without this it scrolls in its frame. The size is the frame's, so that a new picture in it keeps it.

"use strict";

for (const frame of document.querySelectorAll("[data-zoom-frame]")) {
  const buttons = frame.previousElementSibling;
  let size = 1;

  const show = (next, x, y) => {
    const before = size;
    size = Math.min(4, Math.max(0.2, next));
    const left = (frame.scrollLeft + x) * (size / before) - x;
    const top = (frame.scrollTop + y) * (size / before) - y;
    frame.style.setProperty("--zoom", size);
    frame.scrollTo(left, top);
  };
  const around = (next) => show(next, frame.clientWidth / 2, frame.clientHeight / 2);
  const fit = () => {
    const picture = frame.querySelector("svg");
    if (picture) show((frame.clientWidth - 4) / picture.viewBox.baseVal.width, 0, 0);
  };
  const does = { in: () => around(size * 1.25), out: () => around(size / 1.25), fit, one: () => around(1) };
  const keys = { "+": does.in, "=": does.in, "-": does.out, 0: fit, 1: does.one };

  if (buttons && buttons.matches("[data-zoom-buttons]")) {
    buttons.hidden = false;
    buttons.addEventListener("click", (event) => {
      const chosen = event.target.closest("[data-zoom]");
      if (chosen) does[chosen.dataset.zoom]();
    });
  }
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    show(size * Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
  frame.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons === 1) frame.scrollBy(-event.movementX, -event.movementY);
  });
  fit();
  show(Math.min(1, Math.max(0.6, size)), 0, 0); // as much of it as can be read
}
