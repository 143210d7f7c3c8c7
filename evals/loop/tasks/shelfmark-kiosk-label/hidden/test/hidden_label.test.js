import test from "node:test";
import assert from "node:assert/strict";
import { label } from "../src/label.js";

test("label", () => {
  assert.equal(label({ id: "a1", name: "The Salt Road" }), "The Salt Road\nA1");
  assert.equal(label({ id: "b2", name: "x".repeat(30) }), "x".repeat(24) + "\nB2");
});
