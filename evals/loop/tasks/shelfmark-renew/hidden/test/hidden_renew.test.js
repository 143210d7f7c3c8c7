import test from "node:test";
import assert from "node:assert/strict";
import { lend, renew } from "../src/loans.js";

const due = (today) => renew(lend("a1", "r1", "2026-03-03"), today).due;

test("renewals", () => {
  assert.equal(due("2026-03-10"), "2026-03-31"); // Tuesday
  assert.equal(due("2026-03-14"), "2026-04-04"); // Saturday
  assert.equal(due("2026-03-15"), "2026-04-04"); // Sunday
  assert.equal(due("2026-03-16"), "2026-04-04"); // Monday
  const l = lend("a1", "r1", "2026-03-03");
  const r = renew(renew(l, "2026-03-10"), "2026-03-11");
  assert.equal(r.renewals, 2);
  assert.equal(l.renewals, 0);
});
