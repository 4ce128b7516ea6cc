"""Screenshots made small: the 256 kinds of colours that a picture has most of, instead of millions."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["smaller"]

_COUNT = """async text => {
  const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const drawn = canvas.getContext("2d");
  drawn.drawImage(picture, 0, 0);
  const {data} = drawn.getImageData(0, 0, picture.width, picture.height);
  const colours = new Uint32Array(data.length / 4), counts = new Map();
  for (let at = 0; at < colours.length; at++) {
    colours[at] = data[4 * at] << 16 | data[4 * at + 1] << 8 | data[4 * at + 2];
    counts.set(colours[at], (counts.get(colours[at]) || 0) + 1);
  }
  const groups = new Map();  // of colours that are alike, so that a small mark in its own colour keeps it
  for (const [one, count] of counts) {
    const group = groups.get(one & 0xf8f8f8) || {all: 0, most: 0, one};
    group.all += count;
    if (count > group.most) Object.assign(group, {most: count, one});
    groups.set(one & 0xf8f8f8, group);
  }
  const kept = [...groups.values()].sort((a, b) => b.all - a.all).slice(0, 256).map(group => group.one);
  const parts = one => [one >> 16, one >> 8 & 255, one & 255];
  const far = (a, b) => parts(a).reduce((sum, part, place) => sum + (part - parts(b)[place]) ** 2, 0);
  const places = new Map(kept.map((one, place) => [one, place]));
  for (const one of counts.keys()) {
    if (places.has(one)) continue;
    let best = 0;
    for (let place = 1; place < kept.length; place++) if (far(one, kept[place]) < far(one, kept[best])) best = place;
    places.set(one, best);
  }
  let told = "";
  for (const one of colours) told += String.fromCharCode(places.get(one));
  return {width: picture.width, height: picture.height, kept, rows: btoa(told)};
}"""


def smaller(page: Page, png: bytes) -> bytes:
    """A picture with a palette; each colour that is not in it becomes the nearest one. The page does the counting."""
    found = page.evaluate(_COUNT, base64.b64encode(png).decode())
    width, height, rows = found["width"], found["height"], base64.b64decode(found["rows"])
    lines = b"".join(b"\0" + rows[at : at + width] for at in range(0, len(rows), width))
    palette = b"".join(one.to_bytes(3, "big") for one in found["kept"])
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
