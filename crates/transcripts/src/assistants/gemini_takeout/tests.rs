//! Conversations as they are read from both forms.

use serde_json::json;

use super::*;
use crate::testing::read_input;
use crate::{Kind, Role, Transcript};

fn read(text: &str) -> (Vec<Transcript>, Vec<String>) {
    let (seen, skipped) = read_input(&GeminiTakeout, Input::from_text("MyActivity.json", text));
    (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
}

fn texts(text: &str) -> Vec<Vec<String>> {
    read(text).0.into_iter().map(|one| one.messages.into_iter().map(|message| message.text).collect()).collect()
}

fn entry(title: &str, minute: u32, answer: Option<&str>) -> Value {
    let mut entry = json!({"header": "Gemini Apps", "title": title, "time": format!("2026-01-02T10:{minute:02}:00.000Z"),
        "products": ["Gemini Apps"]});
    if let Some(answer) = answer {
        entry["safeHtmlItem"] = json!([{"html": answer}]);
    }
    entry
}

#[test]
fn entries_half_an_hour_apart_are_conversations_in_the_order_of_speech() {
    let newest_first = json!([
        entry("Prompted three", 55, Some("<p>3</p>")),
        entry("Prompted two", 20, None),
        entry("Prompted one", 0, Some("<p>1</p>")),
    ]);
    assert_eq!(texts(&newest_first.to_string()), [vec!["three", "3"], vec!["one", "1", "two"]]);
    let mut oldest_first = newest_first.as_array().unwrap().clone();
    oldest_first.reverse();
    assert_eq!(texts(&json!(oldest_first).to_string()), [vec!["one", "1", "two"], vec!["three", "3"]]);
}

#[test]
fn the_verb_is_learnt_in_any_language_and_what_lacks_it_is_no_prompt() {
    let prompts = ["plant beans", "when to sow", "who eats kale", "where is north", "why rain"];
    for verb in ["Eingegebener Prompt: ", "Prompt saisi\u{a0}: ", "送信したメッセージ: "] {
        let mut entries: Vec<Value> =
            (0_u32..).zip(prompts).map(|(minute, prompt)| entry(&format!("{verb}{prompt}"), minute, None)).collect();
        entries.push(entry("Canvas", 9, None));
        let (seen, _) = read(&json!(entries).to_string());
        let told: Vec<_> = seen[0].messages.iter().map(|message| (message.role, message.text.as_str())).collect();
        let mut expected: Vec<_> = prompts.iter().map(|prompt| (Role::User, *prompt)).collect();
        expected.push((Role::Other, "Canvas"));
        assert_eq!(told, expected, "{verb}");
    }
}

#[test]
fn an_answered_entry_is_a_prompt_and_a_note_is_context() {
    let entries = json!([entry("Gave feedback", 1, None), entry("Prompted by fear?", 0, Some("No.")), 7]);
    let (seen, skipped) = read(&entries.to_string());
    let told: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
    assert_eq!(told, [(Kind::Prose, "by fear?"), (Kind::Prose, "No."), (Kind::Context, "Gave feedback")]);
    assert_eq!(skipped, ["no entry of an activity: it has no `title` and `time`"]);
}

#[test]
fn entries_of_other_products_are_counted_and_no_activity_of_theirs_is_claimed() {
    let search = json!({"header": "Search", "title": "Searched for kale", "time": "2026-01-02T10:00:00Z", "products": ["Search"]});
    let (seen, skipped) = read(&json!([search, entry("Prompted a", 0, None), search]).to_string());
    assert_eq!((seen.len(), skipped), (1, vec!["entries of other products than Gemini: 2".to_owned()]));
    assert!(!GeminiTakeout.sniff(&Head::new(json!([search]).to_string().into(), true)));
}

#[test]
fn a_conversation_keeps_its_identity_while_it_grows() {
    let one = json!([entry("Prompted a", 0, None)]).to_string();
    let two = json!([entry("Prompted b", 5, None), entry("Prompted a", 0, None)]).to_string();
    assert_eq!(read(&one).0[0].external_id, read(&two).0[0].external_id);
}

fn cell(product: &str, body: &str) -> String {
    format!(
        "<div class=\"outer-cell mdl-cell\"><div class=\"mdl-grid\"><div class=\"header-cell mdl-cell\"><p class=\"mdl-typography--title\">{product}<br></p></div><div class=\"content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1\">{body}</div><div class=\"content-cell mdl-cell mdl-typography--body-1 mdl-typography--text-right\"></div><div class=\"content-cell mdl-typography--caption\"><b>Products:</b><br>&emsp;{product}<br></div></div></div>"
    )
}

#[test]
fn the_page_is_read_like_the_file() {
    let page = format!(
        "<html><head><style>p{{}}</style></head><body>{}{}{}{}</body></html>",
        cell(
            "Gemini Apps",
            "Prompted&nbsp;and in<br>the shade?<br>Jan 2, 2026, 10:05:00\u{202f}AM UTC<br><p>Then <b>ferns</b>.</p><ul><li>hardy</li></ul>"
        ),
        cell(
            "Gemini Apps",
            "Prompted&nbsp;what grows in sun?<br>Attached 1 file.<br>-&nbsp;<a href=\"b.jpg\">bed.jpg</a><br>Jan 2, 2026, 10:00:00\u{202f}AM UTC<br><p>Sage &amp; thyme.</p>"
        ),
        cell("Search", "Searched for kale<br>Jan 2, 2026, 10:00:00\u{202f}AM UTC<br>"),
        cell("Gemini Apps", "nothing here"),
    );
    assert!(GeminiTakeout.sniff(&Head::new(page.as_str().into(), true)));
    let (seen, skipped) = read(&page);
    let told: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
    let expected = [
        (Kind::Prose, "what grows in sun?"),
        (Kind::Attachment, "[file: bed.jpg]"),
        (Kind::Prose, "Sage & thyme."),
        (Kind::Prose, "and in\nthe shade?"),
        (Kind::Prose, "Then ferns.\n- hardy"),
    ];
    assert_eq!(told, expected);
    assert_eq!(skipped, ["an entry without words or date", "entries of other products than Gemini: 1"]);
    assert!(!GeminiTakeout.sniff(&Head::new(cell("Search", "Searched for Gemini<br>").into(), true)));
}

#[test]
fn few_titles_in_a_language_that_is_not_known_are_prompts_as_they_stand() {
    let entries = json!([entry("Запрос: когда сеять", 0, None)]);
    let (seen, _) = read(&entries.to_string());
    assert_eq!((seen[0].messages[0].kind, seen[0].messages[0].text.as_str()), (Kind::Prose, "Запрос: когда сеять"));
}
