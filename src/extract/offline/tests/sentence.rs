//! Tests of splitting a person's own words into sentences.

use crate::extract::offline::sentence::{MAX_BULLETS, prose_sentences};

#[test]
fn sentences_keep_versions_urls_files_abbreviations_and_code_together() {
    let text = "We run v1.2.3 on https://a.example/x.html now. See main.rs, e.g. the top, etc. and `a. B` too. Done!";
    assert_eq!(
        prose_sentences(text),
        ["We run v1.2.3 on https://a.example/x.html now.", "See main.rs, e.g. the top, etc. and `a. B` too.", "Done!",]
    );
}

#[test]
fn chinese_sentences_end_without_spaces() {
    assert_eq!(prose_sentences("我叫小林。我住在杭州！真的吗？"), ["我叫小林。", "我住在杭州！", "真的吗？"]);
}

#[test]
fn code_quotes_logs_diffs_and_traces_are_not_said() {
    let text = "I use vim.\n```\nI use nano.\n```\n> I use emacs.\n2026-01-02 10:00:00 I use ed.\n  at run (main.js:3)\n+ let x = 1;\n$ I use joe\nTraceback (most recent call last):\nI use kak.";
    assert_eq!(prose_sentences(text), ["I use vim.", "I use kak."]);
}

#[test]
fn wrapped_lines_are_one_sentence_and_short_lines_are_their_own() {
    let wrapped = "I prefer to keep all the configuration of a service in one\nfile at the top.";
    assert_eq!(prose_sentences(wrapped), [wrapped]);
    assert_eq!(prose_sentences("I use vim\nwe deploy on Heroku"), ["I use vim", "we deploy on Heroku"]);
}

#[test]
fn short_lists_are_read_and_long_ones_are_dumps() {
    assert_eq!(prose_sentences("- I use vim.\n- We use Go."), ["I use vim.", "We use Go."]);
    assert_eq!(prose_sentences(&"- I use vim.\n".repeat(MAX_BULLETS + 1)), Vec::<&str>::new());
}

#[test]
fn a_pasted_page_leaves_only_its_frame() {
    let body = "Some line of the page.\n".repeat(60);
    assert_eq!(prose_sentences(&format!("I use vim.\n\n{body}\nWe use Go.")), ["I use vim.", "We use Go."]);
}

#[test]
fn who_writes_no_capitals_ends_sentences_all_the_same() {
    assert_eq!(
        prose_sentences("i use vim. we deploy on heroku, e.g. the site. ok"),
        ["i use vim.", "we deploy on heroku, e.g. the site.", "ok"]
    );
    assert_eq!(prose_sentences("I use vim. we deploy"), ["I use vim. we deploy"]);
}

#[test]
fn steps_that_are_counted_in_a_line_are_one_sentence() {
    let steps = "So geht es: 1. Kasse zählen, 2. Tür schließen.";
    assert_eq!(prose_sentences(steps), [steps]);
}
