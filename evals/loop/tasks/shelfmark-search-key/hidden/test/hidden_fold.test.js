import test from "node:test";
import assert from "node:assert/strict";
import { searchKey } from "../src/fold.js";

test("keys", () => {
  assert.equal(searchKey("Müller, Straße & Söhne"), "mueller strasse soehne");
  assert.equal(searchKey("  Ärger im Café Garçon! "), "aerger im cafe garcon");
  assert.equal(searchKey("Über 7 Brücken"), "ueber 7 bruecken");
  assert.equal(searchKey("The Salt-Road"), "the salt road");
});
