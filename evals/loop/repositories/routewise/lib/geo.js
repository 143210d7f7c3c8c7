"use strict";

const rad = (d) => (d * Math.PI) / 180;

// Kilometres between two stops as the crow flies.
function distance(a, b) {
  const h =
    Math.sin(rad(b.lat - a.lat) / 2) ** 2 +
    Math.cos(rad(a.lat)) * Math.cos(rad(b.lat)) * Math.sin(rad(b.lon - a.lon) / 2) ** 2;
  return 2 * 6371 * Math.asin(Math.sqrt(h));
}

// The stops in the order of the nearest neighbour, beginning at the depot.
function nearestFirst(depot, stops) {
  const left = [...stops];
  const out = [];
  let here = depot;
  while (left.length) {
    left.sort((a, b) => distance(here, a) - distance(here, b));
    here = left.shift();
    out.push(here);
  }
  return out;
}

module.exports = { distance, nearestFirst };
