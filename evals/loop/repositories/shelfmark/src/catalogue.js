export class Catalogue {
  constructor() {
    this.titles = new Map();
  }

  add(title) {
    if (!title.id) throw new Error("a title needs an id");
    this.titles.set(title.id, { copies: 1, authors: [], ...title });
    return this;
  }

  get(id) {
    const t = this.titles.get(id);
    if (!t) throw new Error(`no title ${id}`);
    return t;
  }

  byAuthor(name) {
    return [...this.titles.values()].filter((t) => t.authors.includes(name));
  }

  // Titles whose name contains all the words.
  find(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return [...this.titles.values()].filter((t) => words.every((w) => t.name.toLowerCase().includes(w)));
  }
}
