import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { syncBuiltinESMExports } from "node:module";

test("complete at once, and nothing else is published", async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "public-"));
  const live = path.join(dir, "covers.json");
  fs.writeFileSync(live, "{}");
  const ino = fs.statSync(live).ino;
  const seen = new Set();
  const look = () => fs.readdirSync(dir).forEach((n) => seen.add(n));
  for (const name of ["writeFileSync", "openSync", "writeSync", "closeSync", "renameSync", "appendFileSync", "copyFileSync", "mkdirSync", "mkdtempSync"]) {
    const real = fs[name];
    fs[name] = (...a) => {
      if (name === "renameSync" && path.dirname(path.resolve(String(a[0]))) !== dir) {
        throw Object.assign(new Error("EXDEV: cross-device link not permitted"), { code: "EXDEV" });
      }
      const r = real(...a);
      look();
      return r;
    };
  }
  syncBuiltinESMExports();
  const { saveCovers } = await import("../src/feed.js");
  saveCovers(dir, { a1: "/c/a1.png" });
  look();
  assert.deepEqual(JSON.parse(fs.readFileSync(live, "utf8")), { a1: "/c/a1.png" });
  assert.notEqual(fs.statSync(live).ino, ino, "written in place");
  assert.deepEqual([...seen].filter((n) => n !== "covers.json" && !n.startsWith("~")), []);
  assert.deepEqual(fs.readdirSync(dir), ["covers.json"]);
  fs.rmSync(dir, { recursive: true });
});
