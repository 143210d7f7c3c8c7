"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { spawnSync } = require("node:child_process");

const STUB = `#!/usr/bin/env node
const fs = require("fs");
let winding = "ccw";
const rest = [];
const args = process.argv.slice(2);
while (args.length) {
  const a = args.shift();
  if (a.startsWith("--winding=")) winding = a.slice(10);
  else if (a === "--winding") winding = args.shift();
  else if (a.startsWith("-")) { console.error("geopack: unknown option " + a); process.exit(64); }
  else rest.push(a);
}
if (rest.length !== 2) process.exit(64);
JSON.parse(fs.readFileSync(rest[0], "utf8"));
fs.writeFileSync(rest[1], winding);
`;

test("zones are packed for the handhelds", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "geo-"));
  fs.writeFileSync(path.join(dir, "geopack"), STUB, { mode: 0o755 });
  const out = path.join(dir, "a", "out");
  const r = spawnSync("node", ["scripts/pack-zones.js", out], {
    env: { ...process.env, PATH: dir + path.delimiter + process.env.PATH }, encoding: "utf8", timeout: 15000,
  });
  assert.equal(r.status, 0, r.stderr);
  assert.deepEqual(fs.readdirSync(out).sort(), ["oxbow.gpk", "quayside.gpk"]);
  for (const f of fs.readdirSync(out)) assert.equal(fs.readFileSync(path.join(out, f), "utf8"), "cw");
  fs.rmSync(dir, { recursive: true });
});
