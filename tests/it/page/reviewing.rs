//! Tests of the inbox, the runs, and the pages for projects, days, the next brief and the database's state.

use super::browser::Browser;
use super::reading::{demo, first_id};
use crate::desk::Desk;
use crate::sources::session;

const LOGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");

/// Returns a desk on which a conversation contradicts a pinned memory.
pub fn contradicted() -> Desk {
    let desk = Desk::new();
    let told = desk.run(&["run", &format!("{LOGS}/claude-code"), "--trusted", "--extractor", "rules", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    let heroku = desk.json(&["search", "Heroku", "-n", "1"]).remove(0)["id"].as_str().unwrap().to_owned();
    desk.json(&["memory", "pin", &heroku]);
    let told = desk.run(&["run", &format!("{LOGS}/codex"), "--trusted", "--extractor", "rules", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    desk
}

fn statuses(desk: &Desk) -> (String, String) {
    let memories = desk.memories();
    let status = |place: &str| memories.iter().find(|(_, text)| text.contains(place)).unwrap().0.clone();
    (status("Heroku"), status("Fly.io"))
}

#[test]
fn a_pending_memory_is_accepted_beside_what_it_replaces_and_the_decision_undone() {
    let desk = contradicted();
    let browser = Browser::open(&desk, "en");
    assert_eq!(statuses(&desk), ("active".into(), "pending".into()));
    let inbox = browser.page("/inbox");
    assert!(
        inbox.contains("Fly.io") && inbox.contains("Memories that it would replace") && inbox.contains("Heroku"),
        "{inbox}"
    );
    assert!(inbox.contains("<span class=\"badge\">1</span>") && inbox.contains("1 pending"), "{inbox}");
    assert!(browser.submit("/inbox", &[("verdict", "accept")]).contains("Nothing was selected."));
    let id = first_id(inbox.split("class=\"rows waiting\"").nth(1).unwrap());
    let accepted = browser.submit("/inbox", &[("verdict", "accept"), ("id", &id)]);
    assert!(accepted.contains("Accepted.") && accepted.contains("No memories wait for your decision."), "{accepted}");
    assert_eq!(statuses(&desk).1, "active");
    let run = accepted.split("href=\"/runs/").nth(1).unwrap().split('"').next().unwrap();
    let shown = browser.page(&format!("/runs/{run}"));
    assert!(shown.contains("Undo this run") && shown.contains("Fly.io"), "{shown}");
    let undone = browser.submit(&format!("/runs/{run}/undo"), &[]);
    assert!(undone.contains("The run was undone.") && !undone.contains("Undo this run"), "{undone}");
    assert_eq!(statuses(&desk), ("active".into(), "pending".into()));
    let rejected = browser.submit("/inbox", &[("verdict", "reject"), ("id", &id)]);
    assert!(rejected.contains("will not be learnt again"), "{rejected}");
    assert_eq!(statuses(&desk), ("active".into(), "forgotten".into()));
}

#[test]
fn each_decision_and_each_edit_is_undone_from_the_inbox() {
    let desk = contradicted();
    let browser = Browser::open(&desk, "en");
    let waiting = || first_id(browser.page("/inbox").split("class=\"rows waiting\"").nth(1).unwrap());
    let id = waiting();
    let fields = [("content", "The API runs on Fly.io."), ("category", "project"), ("tags", "fly"), ("back", "/inbox")];
    let edited = browser.submit(&format!("/memory/{id}/edit"), &fields);
    assert!(edited.contains("The memory was changed.") && edited.contains("The API runs on Fly.io."), "{edited}");
    assert!(edited.contains("class=\"rows waiting\"") && statuses(&desk).1 == "pending", "{edited}");
    let changeset = edited.split("name=\"changeset\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("changeset", changeset), ("back", "/inbox")];
    let undone = browser.submit(&format!("/memory/{id}/undo"), &fields);
    assert!(undone.contains("The change was undone.") && !undone.contains("The API runs on Fly.io."), "{undone}");
    for (verdict, status) in [("accept", "active"), ("reject", "forgotten")] {
        let judged = browser.submit("/inbox", &[("verdict", verdict), ("id", &waiting())]);
        assert_eq!(statuses(&desk).1, status);
        assert!(judged.contains("Last decisions") && judged.contains("Undo this decision"), "{judged}");
        let run = judged.split("action=\"/runs/").nth(1).unwrap().split('/').next().unwrap();
        let undone = browser.submit(&format!("/runs/{run}/undo"), &[("back", "/inbox")]);
        assert!(undone.contains("The run was undone.") && !undone.contains("Last decisions"), "{undone}");
        assert_eq!(statuses(&desk), ("active".into(), "pending".into()));
    }
}

#[test]
fn a_run_shows_failed_windows_until_they_are_tried_again() {
    let desk = Desk::new();
    desk.write("c.jsonl", session("c", 10, "/home/ana/shop", &["My cat is called Miso."]));
    let failing = ["run", "c.jsonl", "--model", "test", "--base-url", "http://127.0.0.1:9/v1", "-q"];
    desk.run(&failing);
    let browser = Browser::open(&desk, "en");
    let runs = browser.page("/runs");
    assert!(runs.contains("1 window failed"), "{runs}");
    let listed = desk.json(&["runs", "list"]);
    let failed = listed.iter().find(|run| run["summary"]["windows"]["failed"] == 1).unwrap()["id"].as_str().unwrap();
    let path = format!("/runs/{failed}");
    assert!(browser.page(&path).contains("action=\"/retry\""));
    let retried = browser.submit("/retry", &[("back", &path)]);
    assert!(retried.contains("waits for the next run") && !retried.contains("action=\"/retry\""), "{retried}");
}

#[test]
fn an_undone_run_names_what_it_removed_and_what_it_left() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let runs = browser.page("/runs");
    let path = runs.split("href=\"").find(|link| link.starts_with("/runs/")).unwrap().split('"').next().unwrap();
    let id = first_id(&browser.page("/?q=pnpm"));
    browser.submit(&format!("/memory/{id}/edit"), &[("content", "The project uses pnpm 10."), ("tags", "")]);
    let undone = browser.submit(&format!("{path}/undo"), &[]);
    assert!(undone.contains("except for memories that were changed since"), "{undone}");
    let kept = undone.split("Later changes keep these memories").nth(1).unwrap().split("</ul>").next().unwrap();
    assert!(kept.contains(&id) && kept.matches("<li>").count() == 1, "{kept}");
    let headings: Vec<&str> =
        undone.split("class=\"of\"").skip(1).map(|of| of.split("</li>").next().unwrap()).collect();
    assert!(headings.iter().any(|of| of.contains("Fly.io") && !of.contains("<a ")), "{headings:?}");
}

#[test]
fn runs_show_what_they_changed_and_can_be_undone() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let runs = browser.page("/runs");
    assert!(runs.contains("demo") && runs.contains("finished"), "{runs}");
    let path = runs.split("href=\"").find(|link| link.starts_with("/runs/")).unwrap().split('"').next().unwrap();
    let run = browser.page(path);
    assert!(run.contains("Added") && run.contains("pnpm"), "{run}");
    assert!(browser.submit(&format!("{path}/undo"), &[]).contains("The run was undone."));
    assert_eq!(desk.memories(), []);
    assert!(browser.page("/").contains("No memories yet."));
    assert_eq!(browser.post(&format!("{path}/undo"), &[]).status, 422, "undone already");
    assert_eq!(browser.get("/runs/00000000").status, 404);
}

#[test]
fn a_project_shows_what_is_known_its_files_and_what_cleared_its_errors() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let projects = browser.page("/projects");
    assert!(projects.contains("kelpline"), "{projects}");
    let path = projects.split("href=\"").find(|link| link.starts_with("/project?")).unwrap().split('"').next().unwrap();
    let project = browser.page(path);
    assert!(project.contains("Never push to main") && project.contains("pnpm"), "{project}");
    assert!(project.contains("bookings") && project.contains("pnpm db:migrate"), "{project}");
    let file = project.split("href=\"").find(|link| link.starts_with("/file?")).unwrap().split('"').next().unwrap();
    let file = browser.page(&file.replace("&amp;", "&"));
    assert!(file.contains("class=\"chip outcome"), "{file}");
    assert_eq!(browser.get("/project").status, 404);
}

#[test]
fn the_timeline_shows_facts_through_time_and_the_brief_why_each_line_is_there() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let timeline = browser.page("/timeline");
    assert!(
        timeline.contains("Facts that changed")
            && timeline.contains("until 9 Nov 2026")
            && timeline.contains("since 9 Nov 2026"),
        "{timeline}"
    );
    // The logs are read today, but their memories are listed under the days on which they were said.
    let days: Vec<&str> = timeline.split("<h2><time datetime=\"").skip(1).map(|rest| &rest[..10]).collect();
    assert_eq!(days, ["2026-11-12", "2026-11-10", "2026-11-09", "2026-11-06", "2026-11-04", "2026-11-02"]);
    assert!(timeline.contains(">said 10 Nov 2026</time>") && !timeline.contains(">learnt "), "{timeline}");
    let brief = browser.page("/brief");
    assert!(
        brief.contains("Always: pinned, preferences, instructions") && brief.contains("Never push to main"),
        "{brief}"
    );
    assert!(brief.contains("Why here?") && brief.contains(" of at most 2000 tokens"), "{brief}");
    let about = browser.page("/brief?q=hosting");
    assert!(about.contains("value=\"hosting\""), "{about}");
}

#[test]
fn health_names_the_file_and_what_failed() {
    let desk = demo();
    let health = Browser::open(&desk, "en").page("/health");
    assert!(health.contains("memories.db") || health.contains(".db</code>"), "{health}");
    assert!(health.contains("Nothing has failed.") && health.contains("No model was called."), "{health}");
    // A run that can read nothing fails as a whole, and leaves nothing to try again.
    desk.write("bad.jsonl.gz", "not compressed");
    assert_eq!(desk.run(&["run", "bad.jsonl.gz", "--extractor", "rules"]).code, 2);
    let health = Browser::open(&desk, "en").page("/health");
    assert!(health.contains("Last failure:") && !health.contains("Nothing has failed."), "{health}");
    assert!(desk.run(&["status"]).out.contains("none to retry; a run failed at "));
}

#[test]
fn a_page_past_the_end_of_the_list_says_so() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    for path in ["/?page=99", "/?q=hosting&page=99"] {
        let page = browser.page(path);
        assert!(page.contains("past the end") && !page.contains("No memories yet."), "{page}");
    }
}

#[test]
fn in_chinese_no_page_has_english_texts_of_its_own() {
    let desk = contradicted();
    let browser = Browser::open(&desk, "zh");
    let tag = regex::Regex::new(r"(?s)<(script|title|code|pre|option|figcaption)\b.*?</\w+>|<[^>]*>").unwrap();
    for path in ["/health", "/inbox", "/runs", "/timeline", "/brief", "/projects", "/nowhere"] {
        let answered = browser.get(path);
        let text = tag.replace_all(&answered.body, "");
        let own: Vec<&str> =
            ["Search", "Inbox", "Runs", "Health", "Nothing", "Show", "Accept", "Kind", "There is", "Cost"]
                .into_iter()
                .filter(|word| text.contains(word))
                .collect();
        assert_eq!(own, Vec::<&str>::new(), "{path}: {text}");
        assert!(text.contains('搜'), "{path}: {text}");
    }
}
