//! Tests of settings, merging and erasing, the graph and the charts, and a read-only server.

use super::browser::Browser;
use super::reading::{demo, first_id};
use crate::desk::Desk;

#[test]
fn the_file_is_checked_on_request() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let health = browser.page("/health");
    assert!(health.contains("Check the file") && !health.contains("No damage was found."));
    assert!(browser.page("/health?check=pages").contains("No damage was found."));
}

#[test]
fn a_setting_is_written_into_the_file_with_its_comments_and_is_in_force_at_once() {
    let desk = demo();
    let file = "# Mine.\njobs = 3 # the line is slow\n";
    desk.write("mine.toml", file);
    let browser = Browser::start_with(&desk, "en", &["--config", "mine.toml"]);
    browser.enter();
    let settings = browser.page("/settings");
    assert!(
        settings.contains("mine.toml")
            && settings.contains("your file")
            && settings.contains("Maximum number of requests in flight")
    );
    let saved = browser.submit("/settings", &[("key", "jobs"), ("value", "5")]);
    assert!(saved.contains("The setting was saved.") && saved.contains("value=\"5\""), "{saved}");
    let written = || std::fs::read_to_string(desk.path("mine.toml")).unwrap();
    assert_eq!(written(), file.replace('3', "5"));
    assert_eq!(browser.post("/settings", &[("key", "jobs"), ("value", "0")]).status, 422);
    let refused = browser.post("/settings", &[("key", "nothing"), ("value", "0")]);
    assert!(refused.body.contains("there is no setting nothing"), "{refused:?}");
    assert_eq!(written(), file.replace('3', "5"));
    let reset = browser.submit("/settings", &[("key", "jobs"), ("reset", "yes")]);
    assert!(reset.contains("The setting is the default again."), "{reset}");
    assert!(!written().contains("jobs"));
    let chinese = Browser::open(&desk, "zh").page("/settings");
    assert!(chinese.contains("同时进行的请求数") && !chinese.contains("Maximum number of requests in flight"));
}

#[test]
fn merging_shows_the_result_first_and_is_undone_as_one_change() {
    let desk = Desk::new();
    desk.json(&["remember", "The shop deploys to Fly.io.", "--tag", "deploy"]);
    desk.json(&["remember", "Deployments of the shop start on Tuesdays.", "--tag", "calendar"]);
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=Fly.io"));
    let offered = browser.page(&format!("/memory/{id}/merge"));
    let other = offered.split("/merge?with=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let shown = browser.page(&format!("/memory/{id}/merge?with={other}"));
    assert!(shown.contains("The shop deploys to Fly.io. Deployments of the shop start on Tuesdays."), "{shown}");
    assert!(desk.memories().iter().all(|(status, _)| status == "active"));
    let text = "The shop deploys to Fly.io on Tuesdays.";
    let merged = browser.submit(&format!("/memory/{id}/merge"), &[("with", &other), ("content", text)]);
    assert!(merged.contains("The memories were merged.") && merged.contains("calendar"), "{merged}");
    let changeset = merged.split("name=\"changeset\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.submit(&format!("/memory/{id}/undo"), &[("changeset", changeset)]);
    let texts: Vec<String> = desk.memories().into_iter().map(|(status, text)| format!("{status}: {text}")).collect();
    assert!(texts.contains(&"active: The shop deploys to Fly.io.".to_owned()), "{texts:?}");
    assert!(texts.contains(&"active: Deployments of the shop start on Tuesdays.".to_owned()), "{texts:?}");
}

#[test]
fn a_memory_is_promoted_to_a_team_from_its_page() {
    let desk = Desk::new();
    desk.write(".gitconfig", "[user]\n\tname = Ana Lind\n");
    desk.json(&["remember", "Invoices are sent on Fridays by ana.lind@example.com."]);
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=Invoices"));
    let page = format!("/memory/{id}");
    assert!(!browser.page(&page).contains("Promote to a team"), "there is no team yet");
    let named = desk.run(&["project", "team", "shop", "--maintainer", "Bo Ek"]);
    assert_eq!(named.code, 0, "{named:?}");
    let offered = browser.page(&page);
    assert!(offered.contains("<option value=\"team&#x2f;shop\">"), "{offered}");
    let promote = format!("{page}/promote");
    let proposed = browser.submit(&promote, &[("team", "team/shop")]);
    assert!(proposed.contains("The memory waits for a maintainer of the team."), "{proposed}");
    let copies = desk.json(&["memory", "list", "--namespace", "team/shop", "--status", "pending"]);
    let text = copies[0]["content"].as_str().unwrap();
    assert!(text.starts_with("Invoices are sent on Fridays by") && !text.contains("ana.lind"), "{text}");
    assert!(browser.submit(&promote, &[("team", "team/shop")]).contains("The team has this memory already."));
    assert_eq!(browser.post(&promote, &[("team", "project/shop")]).status, 422);
    assert_eq!(browser.post(&promote, &[]).status, 404);
}

#[test]
fn an_outdated_form_is_refused_with_both_texts_and_can_be_sent_again() {
    let desk = Desk::new();
    desk.json(&["remember", "The office is in Lisbon.", "--tag", "office"]);
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=office"));
    let seen = |page: &str| page.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let page = browser.page(&format!("/memory/{id}"));
    let edit = |seen: &str, content: &str| {
        let fields = [("seen", seen), ("content", content), ("title", "The office is in Lisbon."), ("tags", "office")];
        browser.post(&format!("/memory/{id}/edit"), &fields)
    };
    assert_eq!(edit(&seen(&page), "The office is in Oslo.").status, 303);
    let changed = browser.page(&format!("/memory/{id}"));
    assert!(changed.contains("<title>The office is in Oslo."), "the title follows the text: {changed}");
    let refused = edit(&seen(&page), "The office is in Porto.");
    assert_eq!(refused.status, 409, "{refused:?}");
    let both = ["changed this memory after", "The office is in Oslo.", "The office is in Porto."];
    assert!(both.iter().all(|text| refused.body.contains(text)), "{refused:?}");
    assert!(desk.memories().contains(&("active".into(), "The office is in Oslo.".into())));
    assert_eq!(edit(&seen(&refused.body), "The office is in Porto.").status, 303);
    assert!(desk.memories().contains(&("active".into(), "The office is in Porto.".into())));
    // A pin changes no field of the form.
    let page = browser.page(&format!("/memory/{id}"));
    desk.json(&["memory", "pin", &id]);
    assert_eq!(edit(&seen(&page), "The office is in Rome.").status, 303);
}

#[test]
fn what_is_not_possible_is_refused_with_a_way_back() {
    let desk = Desk::new();
    desk.json(&["remember", "The shop deploys to Fly.io."]);
    desk.json(&["remember", "Deployments of the shop start on Tuesdays."]);
    let browser = Browser::open(&desk, "en");
    let (one, other) = (first_id(&browser.page("/?q=Fly.io")), first_id(&browser.page("/?q=Tuesdays")));
    browser.submit(&format!("/memory/{one}/forget"), &[]);
    let refused = browser.get(&format!("/memory/{one}/merge?with={other}"));
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.body.contains(&format!("href=\"/memory/{one}\"")) && !refused.body.contains("Health"),
        "{refused:?}"
    );
    let refused = browser.post("/settings", &[("key", "jobs"), ("value", "many")]);
    assert!(refused.status == 422 && refused.body.contains("href=\"/settings\""), "{refused:?}");
    assert_eq!(browser.get("/project?namespace=nope").status, 404);
    let empty = Browser::open(&Desk::new(), "en").page("/");
    assert!(
        empty.replace("&#x2f;", "/").contains("afterthought run examples/demo --trusted --extractor rules"),
        "{empty}"
    );
}

#[test]
fn a_quote_stands_in_its_conversation_while_the_log_is_there_and_erasing_shows_what_goes() {
    let desk = Desk::new();
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/codex");
    copy(std::path::Path::new(from), &desk.path("logs"));
    // The log is named relative to another folder than the folder of the server.
    let mut run = desk.command(&["run", "../logs", "--extractor", "rules", "-q"]);
    std::fs::create_dir(desk.path("shop")).unwrap();
    run.current_dir(desk.path("shop"));
    let finished = desk.finish(run);
    assert_eq!(finished.code, 0, "{finished:?}");
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=Fly.io"));
    let quote = browser.page(&format!("/memory/{id}/quote?at=0"));
    assert!(quote.contains("aria-current=\"true\"") && quote.contains("<mark>Our API is now deployed"), "{quote}");
    assert!(quote.matches("class=\"said\"").count() > 1, "{quote}");
    std::fs::rename(desk.path("logs"), desk.path("elsewhere")).unwrap();
    let gone = browser.page(&format!("/memory/{id}/quote?at=0"));
    assert!(gone.contains("The log is gone or was changed") && gone.contains("<mark>Our API"), "{gone}");
    let erase = gone.split("href=\"").find(|link| link.starts_with("/erase?")).unwrap().split('"').next().unwrap();
    let shown = browser.page(erase);
    assert!(shown.contains("These memories are removed") && shown.contains("Fly.io"), "{shown}");
    let session = shown.split("name=\"session\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(browser.submit("/erase", &[("session", &session)]).contains("Erased."));
    assert_eq!(browser.get(&format!("/memory/{id}")).status, 404);
    assert_eq!(browser.get("/erase?session=nothing").status, 404);
}

#[test]
fn one_memory_is_erased_after_a_preview_and_not_learnt_again() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=Fly.io"));
    let page = browser.page(&format!("/memory/{id}"));
    let link =
        page.split("href=\"").find(|link| link.starts_with("/erase?memory=")).unwrap().split('"').next().unwrap();
    let shown = browser.page(link);
    assert!(shown.contains("Erase a memory") && shown.contains("These memories are removed"), "{shown}");
    assert!(
        shown.contains("Fly.io") && shown.contains("These are active again") && shown.contains("Heroku"),
        "{shown}"
    );
    let before = desk.memories().len();
    assert!(browser.submit("/erase", &[("memory", &id)]).contains("Erased."));
    assert_eq!(browser.get(&format!("/memory/{id}")).status, 404);
    assert_eq!(desk.memories().len(), before - 1);
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
    desk.run(&["run", logs, "--trusted", "--extractor", "rules", "--reread", "-q"]);
    assert!(desk.memories().iter().all(|(status, text)| status != "active" || !text.contains("Fly.io, region ams")));
    assert_eq!(browser.get("/erase?memory=00000000").status, 404);
}

#[test]
fn results_of_evaluations_are_listed_shown_and_compared() {
    let desk = Desk::new();
    let browser = Browser::start_with(&desk, "en", &["--evals", "results"]);
    browser.enter();
    assert!(browser.page("/evals").contains("No results of evaluations here."));
    desk.write("results/notes.json", "{}");
    for (name, extractor) in [("a", "rules"), ("b", "every-sentence")] {
        let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/evals/smoke");
        let told = desk.run(&["eval", suite, "--extractor", extractor, "--out", &format!("results/{name}.json"), "-q"]);
        assert_eq!(told.code, 0, "{told:?}");
    }
    let list = browser.page("/evals");
    assert!(
        list.contains("href=\"/evals?a=a.json\"") && list.contains("b.json") && !list.contains("notes.json"),
        "{list}"
    );
    let one = browser.page("/evals?a=a.json");
    assert!(one.contains("recall") && one.contains("95 % interval") && one.contains("Show every case"), "{one}");
    let compared = browser.page("/evals?a=a.json&b=b.json");
    assert!(compared.contains("cases that changed") && compared.contains("B − A"), "{compared}");
    assert_eq!(browser.get("/evals?a=c.json").status, 404);
    std::fs::write(desk.path("results/a.json"), "{\"form\": \"afterthought-eval-results\"").unwrap();
    assert!(browser.page("/evals").contains("it is not a result file"));
}

#[test]
fn the_graph_and_the_charts_are_drawn_without_scripts_and_have_lists_and_tables() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=Fly.io"));
    let graph = browser.page(&format!("/graph?memory={id}"));
    assert!(graph.contains("<svg") && graph.contains("class=\"semantic active center\""), "{graph}");
    assert!(graph.contains("class=\"supersedes\"") && graph.contains("class=\"relation\">supersedes"), "{graph}");
    assert_eq!(graph, browser.page(&format!("/graph?memory={id}")), "the same graph looks the same");
    assert!(browser.page("/graph?subject=nothing").contains("Nothing to draw."));
    let charts = browser.page("/analytics");
    assert!(
        charts.contains("Learnt in each week") && charts.contains("As a table") && charts.contains("<rect"),
        "{charts}"
    );
    assert!(
        charts.contains("Important, and never used") && charts.contains("<th scope=\"row\" dir=\"auto\">never</th>")
    );
}

#[test]
fn a_read_only_server_shows_everything_and_changes_nothing() {
    let desk = demo();
    let before = desk.memories();
    let browser = Browser::start_with(&desk, "en", &["--read-only"]);
    browser.enter();
    let id = first_id(&browser.page("/?q=Fly.io"));
    let page = browser.page(&format!("/memory/{id}"));
    assert!(!page.contains("/forget") && !page.contains("/edit"), "{page}");
    for (path, fields) in [
        (format!("/memory/{id}/forget"), &[][..]),
        ("/settings".to_owned(), &[("key", "jobs"), ("value", "9")]),
        ("/retry".to_owned(), &[]),
        ("/erase".to_owned(), &[("session", "x")]),
    ] {
        let refused = browser.post(&path, fields);
        assert!(refused.status == 403 && refused.body.contains("This page is read-only"), "{path}: {refused:?}");
    }
    assert_eq!(desk.memories(), before);
    assert!(browser.submit("/language", &[("language", "zh"), ("back", "/runs")]).contains("运行"));
}

#[test]
fn the_history_and_the_reasons_are_in_words_and_in_chinese() {
    let desk = demo();
    let browser = Browser::open(&desk, "zh");
    let id = first_id(&browser.page("/?q=Heroku&status=superseded"));
    let page = browser.page(&format!("/memory/{id}"));
    assert!(page.contains("失效时间") && page.contains("2026年11月9日"), "{page}");
    assert!(!page.contains("{&quot;") && !page.contains("the known value"), "{page}");
    let health = Browser::open(&desk, "en").page("/health");
    assert!(health.contains("<strong>1</strong> run<"), "{health}");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
