"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { hhmm, minutes, nearestFirst } = require("../lib");

test("hhmm", () => {
  assert.equal(hhmm(485), "08:05");
  assert.equal(hhmm(485.9), "08:05");
});

test("minutes", () => {
  assert.equal(minutes("8:05"), 485);
  assert.throws(() => minutes("8:61"), /no time of day/);
});

test("nearest first", () => {
  const at = (id, lat) => ({ id, lat, lon: 4 });
  assert.deepEqual(nearestFirst(at("d", 52), [at("x", 52.3), at("y", 52.1), at("z", 52.2)]).map((s) => s.id), ["y", "z", "x"]);
});
