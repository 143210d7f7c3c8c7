//! Tests of explicit statements, and of statements that a correction retracts.

use super::{all, said, transcript};
use crate::memory::{Audience, MemoryType};
use transcripts::Message;

type Row = (&'static str, Option<(MemoryType, &'static str)>);

const PROCEDURAL: MemoryType = MemoryType::Procedural;
const SEMANTIC: MemoryType = MemoryType::Semantic;

const ROWS: &[Row] = &[
    // Standing instructions, in the speaker's own words.
    (
        "Ab jetzt immer auf Deutsch antworten, Code auf Englisch.",
        Some((PROCEDURAL, "Der Nutzer sagte: „Ab jetzt immer auf Deutsch antworten, Code auf Englisch.“")),
    ),
    ("Nie direkt auf main pushen.", Some((PROCEDURAL, "Der Nutzer sagte: „Nie direkt auf main pushen.“"))),
    (
        "Nunca pongas el total sin IVA en las facturas.",
        Some((PROCEDURAL, "El usuario dijo: «Nunca pongas el total sin IVA en las facturas.»")),
    ),
    (
        "A partir de ahora responde en español.",
        Some((PROCEDURAL, "El usuario dijo: «A partir de ahora responde en español.»")),
    ),
    // Things to be remembered, decisions, and statements about the speaker.
    (
        "Merk dir, dass die Abgabe am 13. März ist.",
        Some((SEMANTIC, "Der Nutzer sagte: „Merk dir, dass die Abgabe am 13. März ist.“")),
    ),
    (
        "Wir haben uns für Postgres entschieden.",
        Some((SEMANTIC, "Der Nutzer sagte: „Wir haben uns für Postgres entschieden.“")),
    ),
    (
        "Hemos decidido usar Postgres para la base de datos.",
        Some((SEMANTIC, "El usuario dijo: «Hemos decidido usar Postgres para la base de datos.»")),
    ),
    ("Ich wohne in Leipzig.", Some((SEMANTIC, "Der Nutzer sagte: „Ich wohne in Leipzig.“"))),
    ("Mi hija es celíaca.", Some((SEMANTIC, "El usuario dijo: «Mi hija es celíaca.»"))),
    (
        "Prefiero los tabuladores a los espacios.",
        Some((SEMANTIC, "El usuario dijo: «Prefiero los tabuladores a los espacios.»")),
    ),
    // Requests to write to a file that every session reads, which are questions only in form.
    (
        "Can you update CLAUDE.md that we should always run `just fmt` together with `just lint`?",
        Some((PROCEDURAL, "The team should always run `just fmt` together with `just lint`.")),
    ),
    (
        "Create a rule that specifies that every bug fix starts with a failing test.",
        Some((SEMANTIC, "Every bug fix starts with a failing test.")),
    ),
    ("请写进 CLAUDE.md：发布只在周二进行。", Some((SEMANTIC, "发布只在周二进行。"))),
    ("Can you update CLAUDE.md?", None),
    // A decision that was not made.
    ("Nunca acordamos dónde nos veríamos.", None),
    ("No hemos decidido qué base de datos usar.", None),
    ("Wir haben nie vereinbart, wo wir uns treffen.", None),
    ("We never agreed on a place for the offsite.", None),
    ("我们一直没决定用哪个数据库。", None),
    // True, but nobody asked to keep it.
    ("The kiln was cold because of the fuse, and a new element did nothing.", None),
    ("The report is due next Friday.", None),
    ("When you give me recipes: grams, not cups.", None),
    ("My sister Ada is getting married in Leeds on 9 August.", None),
    ("I'd personally prefer a map here, then the combined array.", None),
    ("Turns out the raw data is now newly used.", None),
    ("We need the equivalent flag on `sync`, `run` and `watch`.", None),
    ("Ich habe das Auto gestern verkauft, für 900 Euro.", None),
    ("El proveedor de pan es Horno Garrido.", None),
    ("生产库只有老秦能动，别人没有权限。", None),
    // About the task at hand, or without what it is about.
    ("I am Warden. Check the hooks, and start the round.", None),
    ("In the future we can generate the report from the archive.", None),
    ("We don't need to rename the fields one by one.", None),
    ("Remember, we have now looked only at the parser.", None),
    ("Remember, show me the whole output of the last command.", None),
    ("Any code that needs adjusting as a result.", None),
    ("From now on, always add a single digit to them.", None),
    ("I prefer 3hrs.", None),
    ("My budget is 600.", None),
    // Questions, suppositions, role play, quotations, temporary wishes, and statements about nothing in particular.
    ("Should the report be due next Friday?", None),
    ("I'm allergic to Mondays lol.", None),
    ("Just this once, answer like a pirate and never use commas.", None),
    ("By default, buffer the output and flush it at each newline.", None),
    ("Please shorten this: \"I am allergic to bees and my son starts school on 3 May.\"", None),
    ("It must never be like that.", None),
    ("Wäre schön, wenn wir ab Mai immer freitags frei hätten.", None),
    ("Diesmal bitte ohne Tests, ich muss um 15 Uhr los.", None),
    ("Por esta vez no uses tablas.", None),
    ("就这一次，以后不用这样写。", None),
];

#[test]
fn explicit_sentences_are_kept_and_others_are_not() {
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
fn instructions_in_the_description_of_a_task_end_with_the_task() {
    let task = "Make these changes one at a time. Remove the handles. Never start the next step early. Move the buttons. \
                Make them smaller. Drop the badges. Keep the ports. Light them up. Show the format.";
    assert_eq!(contents(vec![Message::user(task)]), [""; 0]);
    assert_eq!(contents(vec![Message::user("Never start the next step early.")]).len(), 1);
    let lasting = format!("{task} From now on, run the linter first.");
    assert_eq!(contents(vec![Message::user(lasting)]).len(), 1);
}

#[test]
fn only_what_users_say_of_themselves_and_of_answers_holds_everywhere() {
    for (sentence, audience) in [
        ("I prefer tabs over spaces.", Audience::User),
        ("My name is Ana Souza.", Audience::User),
        ("From now on, answer in German.", Audience::User),
        ("Ab jetzt immer auf Deutsch antworten.", Audience::User),
        ("Always run cargo fmt before committing.", Audience::Project),
        ("Please use pnpm instead of npm.", Audience::Project),
        ("I decided to use Postgres.", Audience::Project),
        ("Remember that invoices are numbered per country.", Audience::Project),
        ("Nie direkt auf main pushen.", Audience::Project),
        ("I prefer tabs over spaces in this repository.", Audience::Project),
        ("I prefer pnpm for the project.", Audience::Project),
        ("I'm the maintainer of the repository.", Audience::Project),
        ("我更喜欢在这个项目里用制表符。", Audience::Project),
    ] {
        let found = all(&transcript(vec![Message::user(sentence)]));
        assert_eq!(found.iter().map(|one| one.audience).collect::<Vec<_>>(), [audience], "{sentence}");
    }
}

#[test]
fn a_correction_takes_back_what_it_corrects_and_nothing_else() {
    let found = contents(vec![
        Message::user("We decided to hold the exam on 14 June, in two papers."),
        Message::user("I am allergic to kiwis."),
        Message::user("Exam news: the college has moved the date, it is on 28 June."),
    ]);
    assert_eq!(found, ["The user is allergic to kiwis."]);
}

#[test]
fn likes_and_dislikes_among_people_are_small_talk() {
    let by = |name: &str, text: &str| Message { speaker: Some(name.to_owned()), ..Message::user(text) };
    for small_talk in ["I hate fish.", "I don't like 1d.", "I love this round."] {
        assert_eq!(contents(vec![by("Joe", small_talk)]), [""; 0], "{small_talk}");
    }
    assert_eq!(contents(vec![by("Joe", "I prefer tabs over spaces.")]), ["Joe prefers tabs over spaces."]);
    assert_eq!(contents(vec![Message::user("I hate YAML with a passion.")]).len(), 1);
}

#[test]
fn said_twice_is_one_statement_with_both_as_evidence() {
    let window = transcript(vec![
        said(Message::user("Prefiero los tabuladores a los espacios.")),
        said(Message::user("prefiero los tabuladores a los espacios")),
    ]);
    let found = all(&window);
    assert_eq!((found.len(), found[0].evidence.len()), (1, 2));
}
