"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { toHandheld } = require("../lib");

test("positions", () => {
  const got = toHandheld([{ id: "a", name: "F", lat: 52.123456, lon: 4.3 }, { id: "c", name: "D", lat: 52.200001, lon: -0.412 }]);
  assert.deepEqual(got, { v: 1, stops: [{ id: "a", pos: [52123456, 4300000] }, { id: "c", pos: [52200001, -412000] }] });
});
