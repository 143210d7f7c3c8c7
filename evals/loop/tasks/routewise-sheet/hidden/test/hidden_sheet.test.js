"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { driverSheet } = require("../lib");

const stop = (id, street, open, boxes) => ({ id, name: id, street, town: "Oxbow", lat: 52, lon: 4, open, boxes });

test("numbers are those of the full list", () => {
  const got = driverSheet([stop("a", "Quay 1", false, 1), stop("b", "Mill 2", true, 2), stop("c", "Mill 2", true, 1),
    stop("d", "Hill 3", true, 4), stop("e", "Dyke 7", false, 1), stop("f", "Dyke 8", true, 1)]);
  assert.deepEqual(got.map((s) => [s.no, s.id, s.boxes]), [[2, "b", 3], [4, "d", 4], [6, "f", 1]]);
});
