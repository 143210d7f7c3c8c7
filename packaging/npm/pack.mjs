// Writes the npm packages to a folder: one for each platform with its program, then the one that people install.
//
//   node packaging/npm/pack.mjs OUT linux-x64=path/to/afterthought darwin-arm64=path/to/afterthought …
//
// REPOSITORY, if set, is the address of the source, which npm compares with the workflow that publishes. MCP_NAME, if set,
// is the name in server.json, which the MCP Registry compares.

import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const main = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const { MCP_NAME: mcpName, REPOSITORY: url } = process.env;
const repository = url && { type: "git", url: `git+${url}.git` };
const licenses = ["LICENSE-APACHE", "LICENSE-MIT"];

const [out, ...programs] = process.argv.slice(2);
if (!out || programs.length === 0) {
  console.error("usage: pack.mjs OUT PLATFORM=PROGRAM…");
  process.exit(2);
}

function write(folder, manifest) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of licenses) cpSync(join(root, file), join(folder, file));
  console.log(folder);
}

for (const entry of programs) {
  const [platform, program] = entry.split("=");
  const name = `${main.name}-${platform}`;
  if (main.optionalDependencies[name] !== main.version) throw new Error(`${name} is not a dependency of ${main.name}`);
  const [os, cpu] = platform.split("-");
  const folder = join(out, name);
  mkdirSync(join(folder, "bin"), { recursive: true });
  const target = join(folder, "bin", basename(program));
  cpSync(program, target);
  chmodSync(target, 0o755);
  const { version, license } = main;
  const description = `The program of ${main.name} for ${platform}`;
  const files = ["bin", ...licenses];
  write(folder, { name, version, description, license, repository, os: [os], cpu: [cpu], files });
}

const folder = join(out, main.name);
mkdirSync(folder, { recursive: true });
cpSync(join(here, "bin"), join(folder, "bin"), { recursive: true });
cpSync(join(root, "README.md"), join(folder, "README.md"));
write(folder, { ...main, repository, mcpName });
