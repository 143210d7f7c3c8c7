//! Statements in their speaker's own words: which are kept, which are not, and which a correction retracts.

use super::{all, said, transcript};
use crate::memory::MemoryType;
use transcripts::Message;

type Row = (&'static str, Option<(MemoryType, &'static str)>);

const PROCEDURAL: MemoryType = MemoryType::Procedural;
const EPISODIC: MemoryType = MemoryType::Episodic;
const SEMANTIC: MemoryType = MemoryType::Semantic;

const ROWS: &[Row] = &[
    (
        "When you give me recipes: grams, not cups.",
        Some((PROCEDURAL, "The user said: \"When you give me recipes: grams, not cups.\"")),
    ),
    (
        "The kiln was cold because of the fuse, and a new element did nothing.",
        Some((EPISODIC, "The user said: \"The kiln was cold because of the fuse, and a new element did nothing.\"")),
    ),
    (
        "My sister Ada is getting married in Leeds on 9 August.",
        Some((EPISODIC, "The user said: \"My sister Ada is getting married in Leeds on 9 August.\"")),
    ),
    (
        "The report is due next Friday.",
        Some((EPISODIC, "The user said: \"The report is due next Friday (2026-03-13).\"")),
    ),
    (
        "Only Ravi has to sign off, and the vote must be confirmed by Monday the ninth.",
        Some((
            EPISODIC,
            "The user said: \"Only Ravi has to sign off, and the vote must be confirmed by Monday the ninth (2026-03-09).\"",
        )),
    ),
    (
        "Ab jetzt immer auf Deutsch antworten, Code auf Englisch.",
        Some((PROCEDURAL, "Der Nutzer sagte: „Ab jetzt immer auf Deutsch antworten, Code auf Englisch.“")),
    ),
    (
        "Ich habe das Auto gestern verkauft, für 900 Euro.",
        Some((EPISODIC, "Der Nutzer sagte: „Ich habe das Auto gestern (2026-03-03) verkauft, für 900 Euro.“")),
    ),
    (
        "Mi hija es celíaca y no puede tomar ni un poco de pan.",
        Some((SEMANTIC, "El usuario dijo: «Mi hija es celíaca y no puede tomar ni un poco de pan.»")),
    ),
    (
        "Nunca pongas el total sin IVA en las facturas.",
        Some((PROCEDURAL, "El usuario dijo: «Nunca pongas el total sin IVA en las facturas.»")),
    ),
    ("以后报价都写到元，不要写万。", Some((PROCEDURAL, "用户说：“以后报价都写到元，不要写万。”"))),
    ("生产库只有老秦能动，别人没有权限。", Some((SEMANTIC, "用户说：“生产库只有老秦能动，别人没有权限。”"))),
    // Questions, hypotheses, role play, quotations, temporary and vague statements.
    ("Should the report be due next Friday?", None),
    ("If we ever sold this, we'd need tips and a deadline on Friday.", None),
    ("I'm allergic to Mondays lol.", None),
    ("Really, I LOVE it when the release moves to Friday 13 March.", None),
    ("Just this once, answer like a pirate and never use commas.", None),
    ("Please shorten this: \"I am allergic to bees and my son starts school on 3 May.\"", None),
    ("It must never be like that.", None),
    ("Wäre schön, wenn wir ab Mai immer freitags frei hätten.", None),
    ("Diesmal bitte ohne Tests, ich muss um 15 Uhr los.", None),
    ("Si yo tuviera 6.000 euros, me mudaba el 1 de marzo.", None),
    ("Por esta vez no uses tablas.", None),
    ("要是哪天我们卖到国外，时区以后都要改吗？", None),
    ("就这一次，以后不用这样写。", None),
];

#[test]
fn sentences_come_to_what_they_state_or_to_nothing() {
    let mut wrong = Vec::new();
    for (sentence, expected) in ROWS {
        let found: Vec<_> = all(&transcript(vec![said(Message::user(*sentence))]))
            .into_iter()
            .map(|one| (one.claim.memory_type, one.claim.content))
            .collect();
        let wanted: Vec<_> = expected.iter().map(|(kind, content)| (*kind, (*content).to_owned())).collect();
        if found != wanted {
            wrong.push(format!("{sentence}\n  found  {found:?}\n  wanted {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn contents(messages: Vec<Message>) -> Vec<String> {
    all(&transcript(messages.into_iter().map(said).collect())).into_iter().map(|one| one.claim.content).collect()
}

#[test]
fn a_correction_takes_back_what_it_corrects_and_nothing_else() {
    let found = contents(vec![
        Message::user("The exam is on 14 June, two papers."),
        Message::user("My partner Joss is coeliac and eats no bread."),
        Message::user("Exam news: the college has moved the date, it is on 28 June."),
    ]);
    assert_eq!(
        found,
        [
            "The user's partner Joss is coeliac and eats no bread.",
            "The user said: \"Exam news: the college has moved the date, it is on 28 June.\"",
        ]
    );
}

#[test]
fn a_sentence_that_leans_on_the_one_before_it_is_kept_with_it_or_not_at_all() {
    let whole = "The tide files carry GMT all year. So never convert them with a local zone.";
    assert_eq!(contents(vec![Message::user(whole)]), [format!("The user said: \"{whole}\"")]);
    assert_eq!(contents(vec![Message::user("They must never be converted by the loader again.")]), [""; 0]);
}

#[test]
fn among_people_a_short_message_is_one_statement_and_small_talk_is_none() {
    let spoken = |text: &str| Message { speaker: Some("Orla".into()), ..Message::user(text) };
    assert_eq!(
        contents(vec![
            spoken("We have a title. \"Salt and Slip\", Nimmo Gallery, opening on 14 November."),
            spoken("Always happy to help, never give up! We always look forward to it."),
        ]),
        ["Orla said: \"We have a title. 'Salt and Slip', Nimmo Gallery, opening on 14 November.\""]
    );
}

#[test]
fn said_twice_is_one_statement_with_both_as_evidence() {
    let window = transcript(vec![
        said(Message::user("The report is due next Friday.")),
        said(Message::user("the report is due next Friday")),
    ]);
    let found = all(&window);
    assert_eq!((found.len(), found[0].evidence.len()), (1, 2));
}
