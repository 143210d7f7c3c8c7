//! Tests of windows: confirmation, episodes, games, repetitions, context, arbitrary text.

use proptest::prelude::*;

use super::{all, said, span_of, transcript};
use crate::extract::offline::sentence::fold;
use crate::extract::{Outcome, Span, Task, offline};
use crate::memory::{Audience, Candidate, Procedure, Structured};
use transcripts::{Kind, Message, Role, Transcript};

fn contents(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate.claim.content.as_str()).collect()
}

fn quotes(candidate: &Candidate) -> Vec<(&str, &str)> {
    candidate.evidence.iter().map(|piece| (piece.messages[0].as_str(), piece.quote.as_str())).collect()
}

#[test]
fn old_and_new_deploy_targets_share_a_key() {
    let found = all(&transcript(vec![
        Message::user("We deploy on Heroku."),
        Message::user("We moved to Fly.io."),
        Message::user("Our deploy target is Fly.io now."),
    ]));
    let slots: Vec<_> = found.iter().map(|one| (one.claim.key.as_deref(), one.claim.value.as_deref())).collect();
    let target = Some("project.deploy_target");
    assert_eq!(slots, [(target, Some("Heroku")), (target, Some("Fly.io")), (target, Some("Fly.io"))]);
    assert!(found.iter().all(|one| one.audience == Audience::Project));
}

#[test]
fn a_plain_yes_to_one_clear_proposal_is_a_decision() {
    let window = transcript(vec![
        Message::assistant("Both would do. Shall we use Postgres for the main database?"),
        Message::user("Yes, do that."),
    ]);
    let found = all(&window);
    assert_eq!(
        contents(&found),
        ["The team decided to use Postgres for the main database (proposed by the assistant, confirmed by the user)."]
    );
    assert_eq!(quotes(&found[0]), [("2", "Yes, do that."), ("1", "Shall we use Postgres for the main database?")]);
    assert_eq!(found[0].claim.key.as_deref(), Some("project.database"));
}

#[test]
fn a_plain_yes_in_chinese_is_a_decision() {
    let window = transcript(vec![Message::assistant("要不要改用 pnpm？"), Message::user("好的，就这样。")]);
    assert_eq!(contents(&all(&window)), ["团队决定改用 pnpm（由助手提议，用户确认）。"]);
}

#[test]
fn other_answers_and_other_questions_decide_nothing() {
    for (asked, answered) in [
        ("Shall we use Postgres for the main database?", "No, MySQL."),
        ("Shall we use Postgres for the main database?", "Yes, but only for staging."),
        ("Shall we use Postgres or MySQL?", "Yes."),
        ("Shall we use Postgres? Or should I look at others?", "Yes."),
        ("Shall we use that?", "Yes."),
        ("We use Postgres.", "Yes."),
        ("Do you want me to deploy to Vercel?", "ok"),
    ] {
        let found = all(&transcript(vec![Message::assistant(asked), Message::user(answered)]));
        assert_eq!(contents(&found), [""; 0], "{asked} {answered}");
    }
}

#[test]
fn what_was_solved_or_tried_is_left_to_the_work_ledger() {
    for messages in [
        vec![
            Message::user("The build fails with a linker error on macOS."),
            Message::assistant("I added `-ld_classic` to the linker flags."),
            Message::user("That fixed it, thanks!"),
        ],
        vec![Message::user("Login returns 500 after the upgrade."), Message::user("The cause was a stale cookie.")],
        vec![Message::user("I tried clearing the npm cache but it didn't work.")],
    ] {
        assert_eq!(contents(&all(&transcript(messages))), [""; 0]);
    }
}

#[test]
fn what_was_said_before_the_span_is_not_read_again() {
    let window = transcript(vec![Message::user("I live in Lisbon."), Message::user("I prefer tabs over spaces.")]);
    let whole = Span { context_start: 0, start: 0, end: 2 };
    assert_eq!(span_of(&window, whole).len(), 2);
    let late = Span { context_start: 0, start: 1, end: 2 };
    assert_eq!(contents(&span_of(&window, late)), ["The user prefers tabs over spaces."]);
}

#[test]
fn instructions_are_kept_as_procedures() {
    let found = all(&transcript(vec![Message::user("Before committing, run the linter.")]));
    assert_eq!(
        found[0].claim.structured,
        Some(Structured::Procedure(Procedure {
            name: "Before committing, run the linter".into(),
            description: "Before committing, run the linter".into(),
            steps: vec!["Run the linter".into()],
            triggers: vec!["Before committing".into()],
            priority: None,
        }))
    );
    assert!((found[0].claim.importance - 0.8).abs() < f64::EPSILON);
}

#[test]
fn only_a_persons_prose_is_read() {
    let prose = Message::user("I prefer tabs over spaces.");
    let mut messages = vec![Message { role: Role::Assistant, ..prose.clone() }];
    for kind in [Kind::ToolCall, Kind::ToolResult, Kind::Reasoning, Kind::Context, Kind::Summary, Kind::Attachment] {
        messages.push(Message { kind, ..prose.clone() });
    }
    let window = transcript(messages);
    let task = Task {
        transcript: &window,
        span: Span { context_start: 0, start: 0, end: window.messages.len() },
        known: &[],
        instructions: None,
        categories: &[],
    };
    let extraction = offline::extract(&task);
    assert_eq!((extraction.outcome, extraction.candidates), (Outcome::OkEmpty, vec![]));
}

#[test]
fn a_game_hides_what_is_said_in_it_and_after() {
    let window = transcript(vec![
        Message::user("I prefer tabs over spaces."),
        Message::user("Let's role-play: you are the dungeon master."),
        Message::user("I live in Mordor."),
    ]);
    assert_eq!(contents(&all(&window)), ["The user prefers tabs over spaces."]);
}

#[test]
fn repeats_are_one_candidate_with_all_the_evidence() {
    let window = transcript(vec![Message::user("I prefer tabs."), Message::user("As I said, I prefer tabs!")]);
    let found = all(&window);
    assert_eq!(contents(&found), ["The user prefers tabs."]);
    assert_eq!(quotes(&found[0]), [("1", "I prefer tabs."), ("2", "As I said, I prefer tabs!")]);
}

#[test]
fn named_speakers_stand_for_themselves() {
    let spoken = |text: &str| Message { speaker: Some("Ana".into()), ..said(Message::user(text)) };
    let window = transcript(vec![
        spoken("I live in Porto and I work as a nurse."),
        spoken("I like chocolate, and I went to a pottery class yesterday."),
        spoken("Please use pnpm instead of npm."),
    ]);
    assert_eq!(contents(&all(&window)), ["Ana lives in Porto.", "Ana works as a nurse."]);
}

#[test]
fn the_name_of_the_person_addressed_is_no_part_of_a_statement() {
    let by = |name: &str, text: &str| Message { speaker: Some(name.to_owned()), ..said(Message::user(text)) };
    for address in ["antis: ", "Antis, ", "@rui: antis: ", "Rui: "] {
        let text = format!("{address}I work as a nurse.");
        let window = transcript(vec![by("antis", "Hello."), by("Rui Paz", "Hello."), by("mia", &text)]);
        let found = all(&window);
        assert_eq!(contents(&found), ["Mia works as a nurse."], "{text}");
        assert!(text.contains(quotes(&found[0])[0].1), "{text}");
    }
}

#[test]
fn validity_begins_with_the_named_day_or_the_message() {
    let found = all(&transcript(vec![
        said(Message::user("I moved to Lisbon on 2026-02-01 or yesterday.")),
        said(Message::user("We moved to Fly.io yesterday.")),
        said(Message::user("I prefer tabs.")),
        Message::user("We moved from Jest to Vitest yesterday."),
    ]));
    let from: Vec<_> =
        found[found.len() - 3..].iter().map(|one| one.claim.valid_from.map(|at| at.to_string())).collect();
    assert_eq!(from, [Some("2026-03-03T00:00:00Z".to_owned()), Some("2026-03-04T12:00:00Z".to_owned()), None]);
    assert_eq!(found[found.len() - 1].claim.content, "The team moved from Jest to Vitest yesterday.");
}

#[test]
fn categories_that_are_not_allowed_are_left_out() {
    let window = transcript(vec![Message::user("I prefer tabs. We deploy on Heroku.")]);
    let span = Span { context_start: 0, start: 0, end: 1 };
    let categories = ["project".to_owned()];
    let task = Task { transcript: &window, span, known: &[], instructions: None, categories: &categories };
    assert_eq!(contents(&offline::extract(&task).candidates), ["The team deploys on Heroku."]);
}

#[test]
fn huge_messages_are_read_in_linear_time() {
    let text = "I prefer tabs over spaces and we deploy on Heroku and so on ".repeat(20_000);
    assert_eq!(all(&transcript(vec![Message::user(text)])), []);
}

fn check(window: &Transcript) -> Result<(), TestCaseError> {
    let found = all(window);
    prop_assert_eq!(&found, &all(window));
    for piece in found.iter().flat_map(|candidate| &candidate.evidence) {
        let message = window.messages.iter().find(|message| message.id == piece.messages[0]).unwrap();
        prop_assert!(fold(&message.text).contains(&fold(&piece.quote)));
        prop_assert_eq!(&piece.content_hash, &message.content_hash());
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_survived_and_every_quote_is_found(texts in prop::collection::vec("\\PC{0,200}", 0..4)) {
        check(&transcript(texts.into_iter().map(|text| said(Message::user(text))).collect()))?;
    }

    #[test]
    fn mixed_up_statements_keep_their_quotes(words in prop::collection::vec(
        prop::sample::select(vec![
            "I", "prefer", "tabs", "we", "moved", "from", "Heroku", "to", "Fly.io", ".", "\n", "yesterday", "always", "run", "`", "\"",
            "我", "喜欢", "我们", "改用", "pnpm", "。", "，", "记住", "昨天", "remember that", "it fails", "that fixed it", "- ", "```", "é", "🙂",
        ]), 0..40)) {
        let text = words.join(" ");
        check(&transcript(vec![said(Message::user(text.clone())), Message::assistant("Shall we use Postgres?"), said(Message::user(text))]))?;
    }
}
