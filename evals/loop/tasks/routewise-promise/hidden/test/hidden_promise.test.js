"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { promised } = require("../lib");

test("promised times", () => {
  for (const [m, want] of [[485, "08:15"], [480, "08:00"], [480.2, "08:15"], [495, "08:15"], [511, "08:45"], [538.5, "09:00"]])
    assert.equal(promised(m), want);
});
