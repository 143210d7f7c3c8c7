import fs from "node:fs";
import path from "node:path";

// The newest titles as a JSON feed.
export function newest(catalogue, count = 10) {
  return [...catalogue.titles.values()]
    .sort((a, b) => (a.added < b.added ? 1 : a.added > b.added ? -1 : 0))
    .slice(0, count)
    .map((t) => ({ id: t.id, name: t.name, added: t.added }));
}

// Writes covers.json (title id -> address of the picture) into the public folder.
export function saveCovers(folder, covers) {
  fs.writeFileSync(path.join(folder, "covers.json"), JSON.stringify(covers));
}
