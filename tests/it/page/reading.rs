//! Tests of the content of pages and the effects of forms, in English and in Chinese.

use super::browser::Browser;
use crate::desk::Desk;

/// Returns a desk with the memories from the demo's logs.
pub fn demo() -> Desk {
    let desk = Desk::new();
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
    let told = desk.run(&["run", logs, "--trusted", "--extractor", "rules", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    desk
}

/// Returns the id of the first memory that a page links to.
pub fn first_id(page: &str) -> String {
    page.split("href=\"/memory/").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn a_search_shows_why_each_result_stands_where_it_does_and_the_tasks() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let page = browser.page("/?q=where+is+the+API+deployed");
    assert!(page.contains("Fly.io") && page.contains("Why here?") && page.contains("Found by: "), "{page}");
    assert!(page.contains("<th scope=\"row\">Relevance</th>"), "{page}");
    let tasks = browser.page("/?q=relation+bookings+does+not+exist");
    assert!(tasks.contains("Tasks in coding sessions"), "{tasks}");
    let superseded = browser.page("/?status=superseded");
    assert!(superseded.contains("Heroku") && superseded.contains("1 memory"), "{superseded}");
    assert!(!browser.page("/?kind=procedural").contains("Heroku"));
    let none = browser.page("/?q=zeppelin&category=mistake");
    assert!(none.contains("Nothing matches.") && none.contains("clear the filters"), "{none}");
    for (query, is_found) in [
        ("speaker=user", true),
        ("speaker=User", true),
        ("speaker=nobody", false),
        ("from=2026-11-01&to=2026-11-30", true),
        ("from=2030-01-01", false),
        ("to=2020-01-01", false),
    ] {
        for search in ["", "&q=Fly.io"] {
            let page = browser.page(&format!("/?{query}{search}"));
            assert_eq!(page.contains("href=\"/memory/"), is_found, "{query}{search}");
            let value = query.split(['=', '&']).nth(1).unwrap();
            assert!(page.contains(&format!("value=\"{value}\"")) && page.contains("Clear filters"), "{query}: {page}");
        }
    }
    // A filter without results is still displayed.
    assert!(none.contains("<option value=\"mistake\" selected"), "{none}");
}

#[test]
fn an_empty_database_says_what_to_do_next() {
    let desk = Desk::new();
    assert!(Browser::open(&desk, "en").page("/").contains("afterthought run --from all"));
    assert!(Browser::open(&desk, "zh").page("/").contains("还没有记忆"));
}

#[test]
fn the_whole_life_of_a_memory_without_javascript() {
    let desk = Desk::new();
    desk.json(&["remember", "The shop deploys to Heroku.", "--tag", "deploy"]);
    let browser = Browser::open(&desk, "en");
    let id = first_id(&browser.page("/?q=shop"));
    let path = format!("/memory/{id}");
    let edited = browser.submit(
        &format!("{path}/edit"),
        &[
            ("content", "The shop deploys to Fly.io."),
            ("title", "Deployment"),
            ("category", "project"),
            ("importance", "0.9"),
            ("tags", "deploy, fly"),
        ],
    );
    assert!(edited.contains("The memory was changed.") && edited.contains("<del>Heroku.</del>"), "{edited}");
    assert!(edited.contains("<ins>Fly.io.</ins>") && edited.contains("90%"), "{edited}");
    let pinned = browser.submit(&format!("{path}/pin"), &[]);
    assert!(pinned.contains("is pinned"));
    let changeset = pinned.split("name=\"changeset\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let undone = browser.submit(&format!("{path}/undo"), &[("changeset", changeset)]);
    assert!(undone.contains("The change was undone.") && undone.contains("Fly.io"), "{undone}");
    assert!(!desk.json(&["memory", "show", &id])[0]["memory"]["pinned"].as_bool().unwrap_or_default());
    assert!(browser.submit(&format!("{path}/pin"), &[]).contains("is pinned"));
    assert!(browser.submit(&format!("{path}/unpin"), &[]).contains("no longer pinned"));
    assert!(browser.submit(&format!("{path}/forget"), &[]).contains("is forgotten"));
    assert_eq!(desk.memories()[0].0, "forgotten");
    assert!(browser.submit(&format!("{path}/restore"), &[]).contains("active again"));
    assert_eq!(desk.memories(), [("active".to_owned(), "The shop deploys to Fly.io.".to_owned())]);
    // A rejected edit shows the reason, and changes nothing.
    let key = format!("The key is sk-proj-{}", "a1B2c3D4".repeat(6));
    let refused = browser.post(&format!("{path}/edit"), &[("content", &key), ("category", "project")]);
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("the text contains a secret"), "{refused:?}");
    assert_eq!(desk.memories()[0].1, "The shop deploys to Fly.io.");
}

#[test]
fn the_quote_and_the_links_of_a_memory_are_shown() {
    let desk = demo();
    let browser = Browser::open(&desk, "en");
    let page = browser.page(&format!("/memory/{}", first_id(&browser.page("/?q=Fly.io"))));
    assert!(page.contains("<mark>Our API is now deployed on Fly.io, region ams.</mark>"), "{page}");
    assert!(page.contains("supersedes") && page.contains("Heroku") && page.contains("codex:"), "{page}");
}

#[test]
fn a_chosen_language_is_kept() {
    let desk = demo();
    let browser = Browser::open(&desk, "zh-CN,zh;q=0.9");
    let chinese = browser.page("/");
    assert!(chinese.contains("<html lang=\"zh-Hans\">") && chinese.contains("最近更改"), "{chinese}");
    let english = browser.submit("/language", &[("language", "en"), ("back", "/?status=any")]);
    assert!(english.contains("<html lang=\"en\">") && english.contains("Last changed"), "{english}");
    for elsewhere in ["//evil.example/", "https://evil.example/", "/\\evil.example", "/\r\nX: y"] {
        let answered = browser.post("/language", &[("language", "zh"), ("back", elsewhere)]);
        assert_eq!(answered.header("location"), Some("/"), "{elsewhere:?}");
    }
}

#[test]
fn the_date_of_a_file_is_shown_as_such() {
    let desk = Desk::new();
    desk.write("undated.txt", "User: I am allergic to peanuts.\n\nAssistant: Noted.\n");
    assert_eq!(desk.run(&["run", "undated.txt", "--extractor", "rules", "-q"]).code, 0);
    for (language, date, said) in [("en", "file dated ", ">said "), ("zh", "文件日期 ", "说于 ")] {
        let browser = Browser::open(&desk, language);
        let search = browser.page("/?q=peanuts");
        let memory = browser.page(&format!("/memory/{}", first_id(&search)));
        for page in [search, memory, browser.page("/timeline")] {
            assert!(page.contains(date) && !page.contains(said), "{page}");
        }
    }
}
