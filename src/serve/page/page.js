// Keys of the inbox, search as you type, and changes as they happen. Everything works without this file, too.
"use strict";

const showGone = (isGone) => {
  const line = document.getElementById("gone");
  if (line) line.hidden = !isGone;
};

const search = document.getElementById("search");
if (search) {
  let isBusy = false, isStale = false;
  // One request at a time: what is typed meanwhile is searched for when the answer is there.
  const refresh = async () => {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    while (isStale) {
      isStale = false;
      const fields = new URLSearchParams(new FormData(search));
      const answer = await fetch("/?live=1&" + fields).catch(() => null);
      // The session is over, or the server has ended. The results do not belong to the new words.
      document.getElementById("results").hidden = !answer?.ok;
      showGone(!answer?.ok);
      if (!answer?.ok) break;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const results = page.getElementById("results");
      if (results) document.getElementById("results").replaceWith(results);
      history.replaceState(null, "", "/?" + fields);
    }
    isBusy = false;
  };
  search.addEventListener("input", refresh);
}

// A change may take long. A second press would only be refused, or do the same again.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  const button = event.submitter ?? event.target.querySelector("button");
  // A disabled button would not be sent with the form.
  setTimeout(() => { button.disabled = true; button.setAttribute("aria-busy", "true"); });
});

const rows = () => [...document.querySelectorAll(".waiting > li")];
const current = () => rows().findIndex((row) => row.contains(document.activeElement));
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && document.getElementById("q")) {
    event.preventDefault();
    document.getElementById("q").focus();
    return;
  }
  const all = rows(), at = current();
  if (event.key === "u") {
    // The change of this row, or else the last decision.
    const button = all[at]?.querySelector(".undo button") ?? document.querySelector("section .undo button");
    if (button) button.click();
    return;
  }
  if (!all.length) return;
  const step = { j: 1, k: -1 }[event.key];
  if (step) {
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  const verb = { a: "accept", r: "reject" }[event.key];
  if (verb && at >= 0) {
    const button = all[at].querySelector(`button[value="${verb}"]`);
    if (button) button.click();
  }
  const edit = event.key === "e" && at >= 0 && all[at].querySelector(".edit");
  if (edit) {
    event.preventDefault();
    edit.open = true;
    edit.querySelector("textarea").focus();
  }
});
document.addEventListener("keydown", (event) => {
  const edit = event.key === "Escape" && event.target.closest(".waiting .edit");
  if (edit) {
    edit.open = false;
    edit.closest("li").focus();
  }
});
// After a decision, the focus goes to the row of the memory, or to the row that has taken its place.
document.addEventListener("submit", (event) => {
  const item = event.target.closest("[data-memory]") ?? document.querySelector(".waiting > li:has(.pick input:checked)");
  const at = rows().indexOf(item);
  const isInbox = document.querySelector(".view-inbox") && item;
  if (isInbox) sessionStorage.setItem("decided", JSON.stringify({ memory: item.dataset.memory, at: Math.max(at, 0) }));
});
if (rows().length && document.querySelector(".notice:not([hidden])")) {
  const { memory, at } = JSON.parse(sessionStorage.getItem("decided")) ?? { at: 0 };
  (rows().find((row) => row.dataset.memory === memory) ?? rows()[Math.min(at, rows().length - 1)]).focus();
}

// The server says when memories have changed. What is being edited stays as it is, and a line offers the news instead.
const news = document.getElementById("news");
if (news) {
  const renew = async () => {
    const main = document.getElementById("main");
    const isTyping = main.contains(document.activeElement) && document.activeElement.closest("input, textarea, select, .waiting");
    if (isTyping || main.querySelector(".edit[open], input[type=checkbox]:checked, textarea:not(.edit textarea)")) {
      news.hidden = false;
      return;
    }
    const answer = await fetch(location.href).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The field of the search keeps its listeners.
    for (const place of [document.getElementById("results") ? "#results" : "#main", ".frame nav"]) {
      document.querySelector(place).replaceWith(page.querySelector(place));
    }
  };
  const events = new EventSource("/events");
  events.addEventListener("change", renew);
  events.addEventListener("open", () => showGone(false));
  // A lost connection is made again. Only a server that does not answer, or refuses, is gone.
  events.addEventListener("error", async () => {
    const answer = await fetch("/inbox", { method: "HEAD" }).catch(() => null);
    showGone(!answer?.ok);
  });
}
