"use strict";

// "id;name;street;town;lat;lon;open;boxes" per line -> stops
function parseStops(text) {
  return text
    .split("\n")
    .map((l) => l.trim())
    .filter((l) => l && !l.startsWith("#"))
    .map((l, n) => {
      const f = l.split(";");
      if (f.length !== 8) throw new Error(`stop ${n + 1}: ${f.length} fields instead of 8`);
      const [id, name, street, town, lat, lon, open, boxes] = f;
      return { id, name, street, town, lat: Number(lat), lon: Number(lon), open: open === "yes", boxes: Number(boxes) };
    });
}

const sameAddress = (a, b) => a.street === b.street && a.town === b.town;

// Stops at one address become one, with the boxes of all; the first one gives id and name.
function mergeStops(stops) {
  const out = [];
  for (const s of stops) {
    const have = out.find((o) => sameAddress(o, s));
    if (have) have.boxes += s.boxes;
    else out.push({ ...s });
  }
  return out;
}

// Without the stops that are not served today.
function openOnly(stops) {
  return stops.filter((s) => s.open);
}

// Adds no: 1, 2, 3 ...
function numberStops(stops) {
  return stops.map((s, i) => ({ ...s, no: i + 1 }));
}

function totalBoxes(stops) {
  return stops.reduce((n, s) => n + s.boxes, 0);
}

module.exports = { parseStops, mergeStops, openOnly, numberStops, totalBoxes };
