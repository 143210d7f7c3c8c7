import test from "node:test";
import assert from "node:assert/strict";
import { Catalogue } from "../src/catalogue.js";
import { newest } from "../src/feed.js";

const some = () =>
  new Catalogue()
    .add({ id: "a1", name: "The Salt Road", authors: ["Nell Harrow"], added: "2026-02-01" })
    .add({ id: "a2", name: "Roads and Rivers", authors: ["Nell Harrow", "T. Imre"], added: "2026-03-01" });

test("find needs all words", () => {
  assert.deepEqual(some().find("road the").map((t) => t.id), ["a1"]);
});

test("by author", () => {
  assert.equal(some().byAuthor("Nell Harrow").length, 2);
});

test("unknown title", () => {
  assert.throws(() => some().get("zz"), /no title zz/);
});

test("newest first", () => {
  assert.deepEqual(newest(some(), 1).map((t) => t.id), ["a2"]);
});
