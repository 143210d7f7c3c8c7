"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { parseStops, mergeStops, openOnly, numberStops, totalBoxes } = require("../lib");

const TEXT = `# id;name;street;town;lat;lon;open;boxes
a;Fennel;Mill Lane 2;Oxbow;52.1;4.3;yes;1
b;Sorrel;Mill Lane 2;Oxbow;52.1;4.3;yes;2
c;Dill;Quay 9;Oxbow;52.2;4.4;no;1
`;

test("parse", () => {
  assert.deepEqual(parseStops(TEXT).map((s) => s.boxes), [1, 2, 1]);
  assert.throws(() => parseStops("a;b"), /2 fields/);
});

test("merge", () => {
  assert.deepEqual(mergeStops(parseStops(TEXT)).map((s) => [s.id, s.boxes]), [["a", 3], ["c", 1]]);
});

test("open, numbered", () => {
  assert.deepEqual(numberStops(openOnly(parseStops(TEXT))).map((s) => s.no), [1, 2]);
});

test("total", () => {
  assert.equal(totalBoxes(parseStops(TEXT)), 4);
});
