"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { vanSheets } = require("../lib");

test("full sheets", () => {
  const stops = Array.from({ length: 130 }, (_, i) => ({ id: "s" + i, lat: 52 + (130 - i) / 1000, lon: 4 }));
  const got = vanSheets({ lat: 52, lon: 4 }, stops);
  assert.deepEqual(got.map((s) => s.length), [100, 30]);
  assert.equal(got[0][0].id, "s129");
  assert.equal(vanSheets({ lat: 52, lon: 4 }, stops.slice(0, 57)).length, 1);
});
