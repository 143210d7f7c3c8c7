#!/usr/bin/env node
// Runs the program from the package for this platform, which npm installs as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const name = `afterthought-memory-${platform}`;
const file = process.platform === "win32" ? "afterthought.exe" : "afterthought";

let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  const known = Object.keys(require("../package.json").optionalDependencies);
  console.error(
    known.includes(name)
      ? `afterthought: the package ${name} is missing; install again without --omit=optional`
      : `afterthought: there is no package for ${platform}; build the program from its source`,
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes; another sender signals this one alone. The program decides when to end.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`afterthought: cannot run ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
