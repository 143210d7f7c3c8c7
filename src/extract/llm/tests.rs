use std::cell::RefCell;
use std::collections::VecDeque;

use serde_json::{Value, json};

use super::*;
use crate::extract::{Outcome, Span, Spent};
use crate::llm::{Cost, Reply, Request, TurnRole};
use crate::tokens;
use transcripts::{Kind, Message, Transcript};

type Answer = Result<(Reply, Cost), LlmError>;

/// Returns the answers of a list, in order, and records the requests. An unexpected request fails the test.
struct Scripted {
    answers: RefCell<VecDeque<Answer>>,
    requests: RefCell<Vec<Request>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: RefCell::new(answers.into_iter().collect()), requests: RefCell::default() }
    }

    fn user_texts(&self) -> Vec<String> {
        self.requests.borrow().iter().map(|request| (*request.turns[0].text).clone()).collect()
    }

    fn run(&self, task: &Task<'_>) -> Extraction {
        let mut extractions = self.run_pack(std::slice::from_ref(task));
        extractions.pop().unwrap()
    }

    fn run_pack(&self, tasks: &[Task<'_>]) -> Vec<Extraction> {
        let extractions = futures::executor::block_on(extract(self, &Guard::default(), tasks));
        assert!(self.answers.borrow().is_empty(), "not every scripted answer was asked for");
        extractions
    }
}

impl Complete for Scripted {
    async fn complete(&self, request: &Request) -> Answer {
        self.requests.borrow_mut().push(request.clone());
        self.answers.borrow_mut().pop_front().expect("no request beyond the scripted answers")
    }

    fn model(&self) -> &'static str {
        "scripted"
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands among answers that are errors")]
fn answer(text: impl Into<String>, finish: Finish) -> Answer {
    let reply = Reply { text: text.into(), finish, prompt_tokens: 100, completion_tokens: 10, model: "m".into() };
    Ok((reply, Cost::Call))
}

fn stop(text: impl Into<String>) -> Answer {
    answer(text, Finish::Stop)
}

fn too_long() -> Answer {
    Err(LlmError::TooLong { endpoint: "http://localhost".into() })
}

fn entry(number: usize, quote: &str) -> Value {
    json!({
        "type": "semantic", "category": "fact", "title": "t", "content": format!("The user said {quote}."),
        "subject": null, "key": null, "value": null, "audience": "user", "basis": "stated", "importance": 5,
        "from": null, "to": null, "expires": null, "messages": [number], "quote": quote, "replaces": null,
        "tags": [], "episode": null, "procedure": null,
    })
}

fn list(entries: &[Value]) -> String {
    json!({"memories": entries}).to_string()
}

fn talk(texts: &[&str]) -> Transcript {
    let message = |(n, text): (usize, &&str)| Message { id: n.to_string(), ..Message::user(*text) };
    Transcript { messages: texts.iter().enumerate().map(message).collect(), ..Transcript::default() }
}

fn categories() -> Vec<String> {
    vec!["fact".into(), "decision".into()]
}

fn task<'a>(transcript: &'a Transcript, categories: &'a [String]) -> Task<'a> {
    let span = Span { context_start: 0, start: 0, end: transcript.messages.len() };
    Task { transcript, span, known: &[], instructions: None, categories }
}

fn run(texts: &[&str], answers: impl IntoIterator<Item = Answer>) -> (Extraction, Scripted) {
    let (transcript, categories) = (talk(texts), categories());
    let model = Scripted::new(answers);
    let extraction = model.run(&task(&transcript, &categories));
    (extraction, model)
}

fn quotes(extraction: &Extraction) -> Vec<&str> {
    extraction.candidates.iter().map(|one| one.evidence[0].quote.as_str()).collect()
}

fn spent(calls: u64) -> Spent {
    Spent { calls, cached: 0, prompt_tokens: 100 * calls, completion_tokens: 10 * calls }
}

/// The first request that is made for `tasks`, or `None` if they need no call.
fn first_request(tasks: &[Task<'_>]) -> Option<Request> {
    let view = views(tasks).into_iter().next()?;
    Some(ask(&Guard::default(), tasks, &view).request)
}

#[test]
fn a_sound_answer_costs_one_call() {
    let (extraction, model) = run(&["I like tea", "and figs"], [stop(list(&[entry(1, "I like tea")]))]);
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea"]));
    assert_eq!((extraction.dropped, extraction.spent, extraction.error), (vec![], spent(1), None));
    let (transcript, categories) = (talk(&["I like tea", "and figs"]), categories());
    let first = first_request(&[task(&transcript, &categories)]);
    assert_eq!(*model.requests.borrow(), [first.unwrap()]);
}

#[test]
fn an_empty_list_is_an_answer_and_silence_is_not() {
    let (extraction, _) = run(&["I like tea"], [stop(r#"{"memories":[]}"#)]);
    assert_eq!((extraction.outcome, extraction.spent, extraction.error), (Outcome::OkEmpty, spent(1), None));
    let (extraction, _) = run(&["I like tea"], [stop(""), stop("  ")]);
    assert_eq!((extraction.outcome, extraction.spent), (Outcome::Failed, spent(2)));
    assert_eq!(extraction.error.as_deref(), Some("the answer contains no list of memories"));
}

#[test]
fn a_window_without_human_signal_costs_nothing() {
    let (extraction, _) = run(&["ok", "thanks!"], []);
    let nothing = Extraction {
        outcome: Outcome::OkEmpty,
        candidates: vec![],
        dropped: vec![],
        spent: Spent::default(),
        error: None,
        useless: vec![],
    };
    assert_eq!(extraction, nothing);
    let (transcript, categories) = (talk(&["ok"]), categories());
    assert_eq!(first_request(&[task(&transcript, &categories)]), None);
}

#[test]
fn a_repair_round_names_the_errors_and_carries_the_answer() {
    let mut wrong = entry(2, "and figs");
    wrong["importance"] = json!(12);
    let first = list(&[entry(1, "I like tea"), wrong, entry(2, "and dates")]);
    let mended = list(&[entry(2, "and figs"), entry(2, "or dates")]);
    let (extraction, model) = run(&["I like tea", "and figs"], [stop(first.as_str()), stop(mended)]);
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea", "and figs"]));
    assert_eq!((extraction.dropped.len(), extraction.spent), (1, spent(2)));
    let requests = model.requests.borrow();
    let [one, two] = &requests[..] else { panic!("two requests") };
    assert_eq!((&two.system, &two.schema, &two.turns[0]), (&one.system, &one.schema, &one.turns[0]));
    assert_eq!((two.turns[1].role, &*two.turns[1].text), (TurnRole::Assistant, &first));
    assert_eq!(two.turns[2].role, TurnRole::User);
    insta::assert_snapshot!(*two.turns[2].text);
}

#[test]
fn an_unreadable_answer_is_asked_for_again_as_a_whole() {
    let (extraction, model) = run(&["I like tea"], [stop("Sure, I will!"), stop(list(&[entry(1, "I like tea")]))]);
    assert_eq!((extraction.outcome, extraction.spent), (Outcome::Ok, spent(2)));
    let turns: Vec<String> = model.requests.borrow()[1].turns[1..].iter().map(|turn| (*turn.text).clone()).collect();
    assert_eq!(turns[0], "Sure, I will!");
    assert!(turns[1].starts_with("That answer could not be used: it holds no JSON object"), "{}", turns[1]);
}

#[test]
fn what_stays_broken_is_counted_and_the_rest_is_kept() {
    let mut wrong = entry(1, "I like tea");
    wrong["category"] = json!("gossip");
    let first = list(&[entry(1, "I like tea"), wrong.clone()]);
    for second in [stop(list(&[wrong.clone()])), stop("sorry"), answer("", Finish::Refusal), too_long()] {
        let (extraction, _) = run(&["I like tea"], [stop(first.clone()), second]);
        assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Partial, vec!["I like tea"]));
        assert_eq!(extraction.dropped.len(), 1);
        assert!(extraction.error.is_some());
    }
    let alone = list(&[wrong]);
    let (extraction, _) = run(&["I like tea"], [stop(alone.clone()), stop(alone)]);
    assert_eq!((extraction.outcome, extraction.dropped.len()), (Outcome::Failed, 1));
    assert_eq!(extraction.error.as_deref(), Some("1 of 1 entries do not have the requested shape"));
}

#[test]
fn an_entry_withdrawn_in_the_repair_round_stays_counted() {
    let mut wrong = entry(1, "I like tea");
    wrong["importance"] = json!(0);
    let (extraction, _) = run(&["I like tea"], [stop(list(&[wrong.clone(), wrong])), stop(list(&[]))]);
    assert_eq!((extraction.outcome, extraction.dropped.len()), (Outcome::OkEmpty, 2));
}

#[test]
fn good_entries_sent_again_are_not_doubled() {
    let mut wrong = entry(2, "and figs");
    wrong["importance"] = json!(0);
    let all = list(&[entry(1, "I like tea"), entry(2, "and figs")]);
    let (extraction, _) = run(&["I like tea", "and figs"], [stop(list(&[entry(1, "I like tea"), wrong])), stop(all)]);
    assert_eq!((quotes(&extraction), extraction.dropped.len()), (vec!["I like tea", "and figs"], 0));
}

fn long(word: &str) -> String {
    format!("I like {word}. {}", "The rest is only talk. ".repeat(100))
}

#[test]
fn a_cut_answer_is_asked_for_in_halves() {
    let texts = [long("tea"), long("figs")];
    let answers = [
        answer(r#"{"memories":[{"ty"#, Finish::Length),
        stop(list(&[entry(1, "I like tea")])),
        stop(list(&[entry(2, "I like figs")])),
    ];
    let (extraction, model) = run(&[&texts[0], &texts[1]], answers);
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea", "I like figs"]));
    assert_eq!(extraction.spent, spent(3));
    let asked = model.user_texts();
    assert!(asked[1].contains("I like tea") && !asked[1].contains("I like figs"));
    assert!(asked[2].contains("<already_read>\n[1] user: I like tea"), "{}", asked[2]);
    assert!(asked[2].contains("<conversation>\n[2] user: I like figs"), "{}", asked[2]);
}

#[test]
fn a_request_that_is_too_long_is_halved_down_to_parts_of_a_message() {
    let text = long("tea") + &long("figs");
    let answers = [too_long(), stop(list(&[entry(1, "I like tea")])), stop(list(&[entry(1, "I like figs")]))];
    let (extraction, model) = run(&[&text], answers);
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea", "I like figs"]));
    assert!(model.user_texts()[1].contains("[1] user, part of a longer message: I like tea"));
}

#[test]
fn what_cannot_be_halved_is_salvaged_or_failed() {
    let whole = list(&[entry(1, "I like tea"), entry(1, "I like tea")]);
    let cut = || answer(&whole[..whole.len() - 30], Finish::Length);
    let (extraction, _) = run(&["I like tea"], [cut(), cut()]);
    assert_eq!((extraction.outcome, extraction.candidates.len(), extraction.dropped.len()), (Outcome::Partial, 1, 1));
    let (extraction, _) = run(&["I like tea"], [answer("<think>well", Finish::Length)]);
    assert_eq!(extraction.outcome, Outcome::Failed);
    assert!(extraction.error.unwrap().starts_with("the answer was cut off at the token limit"));
    let (extraction, _) = run(&["I like tea"], [too_long()]);
    assert_eq!((extraction.outcome, extraction.spent.calls), (Outcome::Failed, 1));
}

#[test]
fn a_cut_that_the_server_does_not_tell_of_is_a_cut() {
    let whole = list(&[entry(1, "I like tea"), entry(1, "I like figs")]);
    let cut = &whole[..whole.len() - 30];
    let texts = [long("tea"), long("figs")];
    let halves = [stop(list(&[entry(1, "I like tea")])), stop(list(&[entry(2, "I like figs")]))];
    let (extraction, _) = run(&[&texts[0], &texts[1]], [stop(cut)].into_iter().chain(halves));
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea", "I like figs"]));

    // If nothing can be halved, the rest is requested as long as the answer grows.
    let said = "I like tea. I like figs. I like nuts.";
    let rest = [list(&[entry(1, "I like figs"), entry(1, "I like nuts")]), list(&[entry(1, "I like nuts")])];
    let (extraction, model) = run(&[said], [stop(cut), stop(&rest[0][..rest[0].len() - 30]), stop(rest[1].as_str())]);
    let all = vec!["I like tea", "I like figs", "I like nuts"];
    assert_eq!((extraction.outcome, quotes(&extraction), extraction.dropped.len()), (Outcome::Ok, all, 0));
    let wish = &model.requests.borrow()[1].turns[2].text;
    assert!(wish.contains("up to the one that says “The user said I like tea.” are taken"), "{}", wish.as_str());
    let (extraction, _) = run(&[said], [stop(cut), stop(&rest[0][..rest[0].len() - 30]), stop("no")]);
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Partial, vec!["I like tea", "I like figs"]));
    assert!(extraction.error.unwrap().contains("the rest is missing"));
}

#[test]
fn replies_of_no_use_are_named_and_those_of_use_are_not() {
    let (extraction, model) = run(&["I like tea"], [stop("no"), stop("no")]);
    let asked: Vec<String> = model.requests.borrow().iter().map(|request| request.key("scripted")).collect();
    assert_eq!((extraction.outcome, extraction.useless), (Outcome::Failed, asked));
    let (extraction, _) = run(&["I like tea"], [stop("no"), stop(list(&[entry(1, "I like tea")]))]);
    assert_eq!((extraction.outcome, extraction.useless), (Outcome::Ok, vec![]));
    let error = LlmError::Transient { endpoint: "http://localhost".into(), reason: "timeout".into(), attempts: 3 };
    let (extraction, _) = run(&["I like tea"], [stop("no"), Err(error)]);
    assert_eq!((extraction.outcome, extraction.useless), (Outcome::Failed, vec![]), "it failed for want of a reply");
}

#[test]
fn endless_answers_end() {
    let texts: Vec<String> = (0..40).map(|n| long(&n.to_string())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let answers = (0..31).map(|_| answer("{", Finish::Length));
    let (extraction, _) = run(&texts, answers);
    assert_eq!((extraction.outcome, extraction.spent.calls), (Outcome::Failed, 31));
}

#[test]
fn refusals_and_errors_are_named_and_what_was_read_is_kept() {
    let (extraction, _) = run(&["I like tea"], [answer("", Finish::Refusal)]);
    assert_eq!((extraction.outcome, extraction.spent), (Outcome::Failed, spent(1)));
    assert_eq!(extraction.error.as_deref(), Some("the model declined to read this window; try another model"));
    let error = LlmError::Transient { endpoint: "http://localhost".into(), reason: "timeout".into(), attempts: 3 };
    let message = error.to_string();
    let texts = [long("tea"), long("figs")];
    let answers = [answer("{", Finish::Length), stop(list(&[entry(1, "I like tea")])), Err(error)];
    let (extraction, _) = run(&[&texts[0], &texts[1]], answers);
    assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Failed, vec!["I like tea"]));
    assert_eq!((extraction.error, extraction.spent.calls), (Some(message), 5));
}

#[test]
fn known_replies_are_counted_apart() {
    let reply = stop(list(&[])).map(|(reply, _)| (reply, Cost::Cached));
    let (extraction, _) = run(&["I like tea"], [reply]);
    assert_eq!(extraction.spent, Spent { cached: 1, ..Spent::default() });
}

#[test]
fn nothing_of_a_very_long_message_is_left_out() {
    let words: Vec<String> = (0..9_000).map(|n| format!("word{n}")).collect();
    let text = words.join(" ");
    let requests = views(&[task(&talk(&[&text]), &categories())]).len();
    assert!(requests > 1);
    let (extraction, model) = run(&[&text], (0..requests).map(|_| stop(list(&[]))));
    assert_eq!(extraction.outcome, Outcome::OkEmpty);
    let shown = model.user_texts().concat();
    let missing: Vec<&String> = words.iter().filter(|word| !shown.contains(word.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new());
    for request in model.user_texts() {
        assert!(tokens::count(&request) < 8_500);
    }
}

#[test]
fn the_system_prompt_is_the_same_for_every_window() {
    let (_, first) = run(&["I like tea"], [stop(list(&[]))]);
    let (_, second) = run(&["I like figs"], [stop(list(&[]))]);
    assert_eq!(first.requests.borrow()[0].system, second.requests.borrow()[0].system);
    assert!(!second.requests.borrow()[0].system.contains("figs"));
}

#[test]
fn injected_text_is_not_shown() {
    let mut transcript = talk(&["I like tea", "boot file"]);
    transcript.messages[1].kind = Kind::Context;
    let categories = categories();
    let model = Scripted::new([stop(list(&[]))]);
    model.run(&task(&transcript, &categories));
    assert!(!model.user_texts()[0].contains("boot file"));
}

/// Returns a session for each list of texts.
fn sessions(texts: &[&[&str]]) -> Vec<Transcript> {
    let session = |(n, texts): (usize, &&[&str])| Transcript { external_id: format!("s{n}"), ..talk(texts) };
    texts.iter().enumerate().map(session).collect()
}

fn run_pack(texts: &[&[&str]], answers: impl IntoIterator<Item = Answer>) -> (Vec<Extraction>, Scripted) {
    let (transcripts, categories) = (sessions(texts), categories());
    let tasks: Vec<Task<'_>> = transcripts.iter().map(|transcript| task(transcript, &categories)).collect();
    let model = Scripted::new(answers);
    let extractions = model.run_pack(&tasks);
    (extractions, model)
}

const THREE: [&[&str]; 3] = [&["I like tea"], &["I like figs", "and dates"], &["I like plums"]];

fn outcomes(extractions: &[Extraction]) -> Vec<(Outcome, u64)> {
    extractions.iter().map(|one| (one.outcome, one.spent.calls)).collect()
}

#[test]
fn sessions_share_a_request_and_each_gets_its_own() {
    let all = list(&[entry(4, "I like plums"), entry(3, "and dates"), entry(1, "I like tea")]);
    let (extractions, model) = run_pack(&THREE, [stop(all)]);
    assert_eq!(outcomes(&extractions), [(Outcome::Ok, 1), (Outcome::Ok, 0), (Outcome::Ok, 0)]);
    let evidence = |at: usize| extractions[at].candidates.iter().map(|one| &one.evidence[0]).collect::<Vec<_>>();
    for (at, quote) in ["I like tea", "and dates", "I like plums"].into_iter().enumerate() {
        let [one] = evidence(at)[..] else { panic!("one candidate") };
        assert_eq!((one.transcript.as_str(), one.quote.as_str()), (format!(":s{at}").as_str(), quote));
    }
    insta::assert_snapshot!(model.user_texts()[0]);
}

#[test]
fn an_entry_rests_on_one_session_only() {
    let mut across = entry(1, "and dates");
    across["messages"] = json!([1, 3, 2, 4]);
    let mut elsewhere = entry(1, "I like plums");
    elsewhere["messages"] = json!([1, 2]);
    let mut nowhere = entry(9, "I like tea");
    nowhere["messages"] = json!([9]);
    let answer = list(&[across, elsewhere, nowhere, entry(1, "I like tea")]);
    let (extractions, _) = run_pack(&THREE, [stop(answer)]);
    let cited: Vec<_> = extractions[1].candidates.iter().map(|one| one.evidence[0].messages.clone()).collect();
    assert_eq!(cited, [["1", "0"]], "the quoted message first, and none of another session");
    let reasons: Vec<_> = extractions[0].dropped.iter().map(|one| one.reason).collect();
    assert_eq!(reasons, [crate::extract::DropReason::QuoteNotFound, crate::extract::DropReason::WrongMessage]);
    assert_eq!((extractions[0].candidates.len(), extractions[2].candidates.len()), (1, 0));
}

#[test]
fn what_cannot_be_had_of_several_sessions_is_asked_for_by_half() {
    let tea_and_figs = || stop(list(&[entry(1, "I like tea"), entry(2, "I like figs")]));
    let plums = || stop(list(&[entry(1, "I like plums")]));
    let cut = list(&[entry(1, "I like tea"), entry(2, "I like figs")]);
    let half = cut[..cut.len() - 30].to_owned();
    for first in [
        too_long(),
        stop("Sure, I will!"),
        stop(""),
        stop(half.clone()),
        answer(half, Finish::Length),
        answer("", Finish::Refusal),
    ] {
        let (extractions, model) = run_pack(&THREE, [first, tea_and_figs(), plums()]);
        assert_eq!(outcomes(&extractions), [(Outcome::Ok, 2), (Outcome::Ok, 0), (Outcome::Ok, 1)]);
        assert!(extractions.iter().all(|one| one.candidates.len() == 1 && one.dropped.is_empty()));
        assert!(!model.user_texts()[2].contains("I like tea"));
    }
}

#[test]
fn a_session_that_is_always_bad_fails_alone() {
    let plums = || stop(list(&[entry(1, "I like plums")]));
    let none = || stop(list(&[]));
    let answers = [stop("no"), stop("no"), none(), stop("no"), stop("no"), plums()];
    let (extractions, _) = run_pack(&THREE, answers);
    assert_eq!(outcomes(&extractions), [(Outcome::OkEmpty, 3), (Outcome::Failed, 2), (Outcome::Ok, 1)]);
}

#[test]
fn an_entry_of_wrong_shape_concerns_its_own_session() {
    let mut wrong = entry(3, "and dates");
    wrong["importance"] = json!(12);
    let first = list(&[entry(1, "I like tea"), wrong.clone(), entry(2, "I like figs")]);
    let mended = list(&[entry(3, "and dates")]);
    let (extractions, _) = run_pack(&THREE, [stop(first.clone()), stop(mended)]);
    assert_eq!(outcomes(&extractions), [(Outcome::Ok, 2), (Outcome::Ok, 0), (Outcome::OkEmpty, 0)]);
    assert_eq!((quotes(&extractions[1]), extractions[1].dropped.len()), (vec!["I like figs", "and dates"], 0));
    let (extractions, _) = run_pack(&THREE, [stop(first), stop(list(&[wrong]))]);
    let outcomes: Vec<_> = extractions.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Partial, Outcome::OkEmpty]);
}

#[test]
fn several_sessions_of_which_nothing_could_be_mended_are_read_apart() {
    let mut wrong = entry(1, "I like tea");
    wrong["importance"] = json!(0);
    let bad = || list(std::slice::from_ref(&wrong));
    let good = || stop(list(&[entry(1, "I like tea"), entry(2, "I like figs")]));
    let none = || stop(list(&[]));
    for second in [stop(bad()), answer("", Finish::Refusal)] {
        let (extractions, _) = run_pack(&THREE, [stop(bad()), second, good(), none()]);
        assert_eq!(outcomes(&extractions), [(Outcome::Ok, 3), (Outcome::Ok, 0), (Outcome::OkEmpty, 1)]);
        assert!(extractions.iter().all(|one| one.dropped.is_empty() && one.error.is_none()));
    }
}

#[test]
fn a_model_that_declines_everything_is_given_up() {
    let texts: Vec<String> = (0..40).map(|n| format!("I like dish {n}")).collect();
    let texts: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
    let texts: Vec<&[&str]> = texts.iter().map(<[_; 1]>::as_slice).collect();
    let (extractions, _) = run_pack(&texts, (0..31).map(|_| answer("", Finish::Refusal)));
    assert!(extractions.iter().all(|one| one.outcome == Outcome::Failed));
    assert_eq!(extractions.iter().map(|one| one.spent.calls).sum::<u64>(), 31);
    assert!(extractions[39].error.as_deref().is_some_and(|error| error.starts_with("too many replies in a row")));
}

#[test]
fn a_session_without_human_signal_is_not_shown_among_others() {
    let (extractions, model) = run_pack(&[&["ok"], &["I like figs"]], [stop(list(&[entry(1, "I like figs")]))]);
    assert_eq!(outcomes(&extractions), [(Outcome::OkEmpty, 0), (Outcome::Ok, 1)]);
    assert!(!model.user_texts()[0].contains(": ok") && !model.user_texts()[0].contains("Session 2"));
}

#[test]
fn long_requests_may_have_long_answers() {
    let most = |text: &str| {
        let (_, model) = run(&[text], [stop(list(&[]))]);
        model.requests.borrow()[0].max_completion_tokens
    };
    assert_eq!((most("I like tea"), most(&"I like tea and figs. ".repeat(1_000))), (8_192, 16_384));
}
