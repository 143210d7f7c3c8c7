import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawnSync } from "node:child_process";

const STUB = `#!/usr/bin/env node
const fs = require("fs");
const args = process.argv.slice(2);
const keep = args.includes("--keep-gen");
const odd = args.find((a) => a.startsWith("--") && a !== "--keep-gen");
if (odd) { console.error("ixload: unknown option " + odd); process.exit(64); }
const files = args.filter((a) => !a.startsWith("--"));
if (files.length !== 1) process.exit(64);
const lines = fs.readFileSync(files[0], "utf8").split("\\n").filter(Boolean);
if (lines.length > 500) { console.error("ixload: too many"); process.exit(1); }
const ix = process.env.IX;
if (!keep) fs.writeFileSync(ix, "");
fs.appendFileSync(ix, lines.map((l) => JSON.parse(l).id + "\\n").join(""));
console.log(lines.length + " loaded");
`;

test("all titles arrive, the old ones are gone", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "ix-"));
  fs.writeFileSync(path.join(dir, "ixload"), STUB, { mode: 0o755 });
  const ix = path.join(dir, "index");
  fs.writeFileSync(ix, "old\n");
  const titles = path.join(dir, "titles.ndjson");
  fs.writeFileSync(titles, Array.from({ length: 1204 }, (_, i) => JSON.stringify({ id: "t" + i }) + "\n").join(""));
  const r = spawnSync("node", ["scripts/reindex.mjs", titles], {
    env: { ...process.env, IX: ix, PATH: dir + path.delimiter + process.env.PATH }, encoding: "utf8", timeout: 15000,
  });
  assert.equal(r.status, 0, r.stderr);
  const got = fs.readFileSync(ix, "utf8").split("\n").filter(Boolean);
  assert.deepEqual(got.sort(), Array.from({ length: 1204 }, (_, i) => "t" + i).sort());
  fs.rmSync(dir, { recursive: true });
});
