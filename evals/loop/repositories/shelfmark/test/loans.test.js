import test from "node:test";
import assert from "node:assert/strict";
import { lend, daysLate } from "../src/loans.js";
import { addDays, weekday } from "../src/days.js";
import { chunks } from "../src/chunks.js";

test("a loan runs four weeks", () => {
  assert.equal(lend("a1", "r1", "2026-03-03").due, "2026-03-31");
});

test("late", () => {
  const l = lend("a1", "r1", "2026-03-03");
  assert.equal(daysLate(l, "2026-03-31"), 0);
  assert.equal(daysLate(l, "2026-04-02"), 2);
});

test("days across the change of the clocks", () => {
  assert.equal(addDays("2026-03-28", 2), "2026-03-30");
  assert.equal(weekday("2026-03-29"), 0);
});

test("chunks", () => {
  assert.deepEqual(chunks([1, 2, 3], 2), [[1, 2], [3]]);
});
