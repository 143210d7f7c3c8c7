//! The extractor that asks a model: one request a window, one repair round, and halves where an answer is too long.

use super::prompt::View;
pub use super::request::first_request;
use super::request::{Asked, again, ask, halved, views, within};
use super::validate::{Checked, Legible, check, is_mendable, without_secret};
use super::{DropReason, Dropped, Extraction, Outcome, Spent, Task};
use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply, Request};
use crate::memory::Candidate;

/// How often a window is halved because its answer was cut or its request too long.
const MAX_HALVINGS: u8 = 4;
/// Asks `model` what is worth keeping of one window.
///
/// A window in which nobody says anything costs no call. If the answer cannot be used, or not all of it, the model is
/// asked once more and told why; what is still unusable is counted. If the answer is cut at the token limit, or the
/// request too long for the model, the window is read in halves. A person's message of over 8,000 tokens is read in
/// several requests, so that nothing of it is lost.
///
/// The outcome is [`Outcome::Failed`] if any part of the window got no answer; candidates from the other parts are
/// returned all the same. Every entry of an answer comes back as a candidate or as dropped; of an entry that was sent
/// again, only the last version.
pub async fn extract<C: Complete>(model: &C, guard: &Guard, task: &Task<'_>) -> Extraction {
    let mut reading = Reading::default();
    let mut open: Vec<(View, u8)> = views(task).into_iter().rev().map(|view| (view, 0)).collect();
    while let Some((view, halvings)) = open.pop() {
        let task = within(task, &view);
        // Found only when they are wanted, as it means counting every token again.
        let halves = || if halvings < MAX_HALVINGS { halved(&task, &view) } else { Vec::new() };
        match reading.read(model, guard, &task, &view, halves).await {
            Next::Done => {}
            Next::Halves(halves) => open.extend(halves.into_iter().rev().map(|half| (half, halvings + 1))),
        }
    }
    reading.finish()
}

/// What to do after a request.
enum Next {
    /// Go on.
    Done,
    /// Read the same in these halves.
    Halves(Vec<View>),
}

/// What has come of a window so far.
#[derive(Default)]
struct Reading {
    candidates: Vec<Candidate>,
    dropped: Vec<Dropped>,
    spent: Spent,
    /// Parts that got an answer of which something could be used, be it that there is nothing to keep.
    answered: usize,
    /// Why a part got no answer.
    failure: Option<String>,
    /// Why an answer could not be used whole.
    flaw: Option<String>,
}

impl Reading {
    async fn read<C: Complete>(
        &mut self,
        model: &C,
        guard: &Guard,
        task: &Task<'_>,
        view: &View,
        halves: impl Fn() -> Vec<View>,
    ) -> Next {
        let asked = ask(guard, task, view);
        let reply = match self.complete(model, &asked.request).await {
            Ok(reply) => reply,
            Err(error) => {
                let halves = if matches!(error, LlmError::TooLong { .. }) { halves() } else { Vec::new() };
                return if halves.is_empty() { self.fail(error.to_string()) } else { Next::Halves(halves) };
            }
        };
        match reply.finish {
            Finish::Length => match halves() {
                halves if halves.is_empty() => {}
                halves => return Next::Halves(halves),
            },
            Finish::Refusal => {
                return self.fail("the model declined to read this window; try another model".to_owned());
            }
            Finish::Stop => {}
        }
        let checked = check(&reply.text, task, &asked.shown, &asked.request.schema);
        let is_cut = reply.finish == Finish::Length;
        // A cut answer would be cut again.
        if !is_cut && checked.wants_repair() {
            let request = again(guard, &asked.request, &reply.text, &checked);
            let second = self.complete(model, &request).await;
            self.take_repaired(guard, task, &asked, checked, second);
        } else {
            self.take(guard, checked, is_cut);
        }
        Next::Done
    }

    async fn complete<C: Complete>(&mut self, model: &C, request: &Request) -> Result<Reply, LlmError> {
        let answer = model.complete(request).await;
        match &answer {
            Ok((reply, Cost::Call)) => {
                self.spent += Spent {
                    calls: 1,
                    cached: 0,
                    prompt_tokens: reply.prompt_tokens,
                    completion_tokens: reply.completion_tokens,
                };
            }
            Ok((_, Cost::Cached)) => self.spent.cached += 1,
            Err(LlmError::Transient { attempts, .. }) => self.spent.calls += u64::from(*attempts),
            Err(LlmError::Permanent { .. } | LlmError::TooLong { .. }) => self.spent.calls += 1,
            Err(
                LlmError::Budget { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } | LlmError::Cassette { .. },
            ) => {}
        }
        answer.map(|(reply, _)| reply)
    }

    fn fail(&mut self, reason: String) -> Next {
        self.failure.get_or_insert(reason);
        Next::Done
    }

    /// Takes an answer as it is.
    fn take(&mut self, guard: &Guard, checked: Checked, is_cut: bool) {
        let broken = checked.dropped.iter().filter(|(_, one)| one.reason == DropReason::Invalid).count();
        let proposed = checked.candidates.len() + checked.dropped.len();
        match checked.legible {
            Legible::Not if is_cut => {
                self.fail(
                    "the answer was cut at the token limit before it began; use a model that thinks less".to_owned(),
                );
                return;
            }
            Legible::Not => self.flaw("the answer holds no list of memories".to_owned()),
            Legible::Cut => self.flaw("the answer was cut; its whole entries were kept".to_owned()),
            Legible::Whole if broken > 0 => {
                self.flaw(format!("{broken} of {proposed} entries do not have the shape that was asked for"));
            }
            Legible::Whole => {}
        }
        if checked.legible != Legible::Not && (proposed == 0 || broken < proposed) {
            self.answered += 1;
        }
        self.keep(guard, checked);
    }

    /// Takes an answer with its second version: entries that were sent again replace as many that were faulty.
    fn take_repaired(
        &mut self,
        guard: &Guard,
        task: &Task<'_>,
        asked: &Asked,
        first: Checked,
        second: Result<Reply, LlmError>,
    ) {
        let second = match second {
            Ok(reply) if reply.finish != Finish::Refusal => {
                check(&reply.text, task, &asked.shown, &asked.request.schema)
            }
            Ok(_) => return self.take_unrepaired(guard, first, "the model declined to correct its answer"),
            Err(error) => return self.take_unrepaired(guard, first, &error.to_string()),
        };
        if second.legible == Legible::Not {
            return self.take(guard, first, false);
        }
        self.take(guard, merged(first, second), false);
    }

    /// Without an answer to the repair round the window is open if nothing of the first could be used.
    fn take_unrepaired(&mut self, guard: &Guard, first: Checked, reason: &str) {
        if first.candidates.is_empty() {
            self.failure.get_or_insert_with(|| reason.to_owned());
        } else {
            self.flaw(reason.to_owned());
        }
        self.take(guard, first, false);
    }

    fn flaw(&mut self, reason: String) {
        self.flaw.get_or_insert(reason);
    }

    /// Takes the secrets out of the candidates on their way in.
    fn keep(&mut self, guard: &Guard, checked: Checked) {
        self.dropped.extend(checked.dropped.into_iter().map(|(_, dropped)| dropped));
        for candidate in checked.candidates {
            match without_secret(guard.redact(candidate).0.into_inner()) {
                Ok(candidate) => self.candidates.push(candidate),
                Err(dropped) => self.dropped.push(dropped),
            }
        }
    }

    fn finish(self) -> Extraction {
        let outcome = if self.failure.is_some() || self.flaw.is_some() && self.answered == 0 {
            Outcome::Failed
        } else if self.flaw.is_some() {
            Outcome::Partial
        } else if self.candidates.is_empty() {
            Outcome::OkEmpty
        } else {
            Outcome::Ok
        };
        Extraction {
            outcome,
            candidates: self.candidates,
            dropped: self.dropped,
            spent: self.spent,
            error: self.failure.or(self.flaw),
        }
    }
}

/// Puts the entries of a repair round in the place of the faulty ones; what was not sent again stays dropped.
fn merged(first: Checked, second: Checked) -> Checked {
    let taken = first.candidates.len();
    let (mendable, judged): (Vec<_>, Vec<_>) =
        first.dropped.into_iter().partition(|(_, dropped)| is_mendable(dropped.reason));
    let mut candidates = first.candidates;
    for candidate in second.candidates {
        // Some models send the good entries again, too.
        if !candidates[..taken].contains(&candidate) {
            candidates.push(candidate);
        }
    }
    let sent_again = candidates.len() - taken + second.dropped.len();
    let given_up = mendable.into_iter().skip(sent_again).map(|(place, dropped)| (place, given_up(dropped)));
    let dropped = judged.into_iter().chain(given_up).chain(second.dropped).collect();
    Checked { legible: second.legible, candidates, dropped }
}

/// An entry that the model withdrew is no longer a fault of the answer.
fn given_up(dropped: Dropped) -> Dropped {
    match dropped.reason {
        DropReason::Invalid => {
            Dropped { reason: DropReason::NotSaid, detail: format!("withdrawn: {}", dropped.detail) }
        }
        DropReason::WrongMessage
        | DropReason::QuoteNotFound
        | DropReason::NotSaid
        | DropReason::Secret
        | DropReason::KnownContext => dropped,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use serde_json::{Value, json};

    use super::*;
    use crate::extract::Span;
    use crate::llm::TurnRole;
    use crate::tokens;
    use crate::transcript::{Kind, Message, Transcript};

    type Answer = Result<(Reply, Cost), LlmError>;

    /// Answers from a list, in order, and keeps what it was asked. An unexpected request is a failure of the test.
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
            let extraction = futures::executor::block_on(extract(self, &Guard::default(), task));
            assert!(self.answers.borrow().is_empty(), "not every scripted answer was asked for");
            extraction
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

    #[test]
    fn a_sound_answer_costs_one_call() {
        let (extraction, model) = run(&["I like tea", "and figs"], [stop(list(&[entry(1, "I like tea")]))]);
        assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea"]));
        assert_eq!((extraction.dropped, extraction.spent, extraction.error), (vec![], spent(1), None));
        let (transcript, categories) = (talk(&["I like tea", "and figs"]), categories());
        let first = first_request(&Guard::default(), &task(&transcript, &categories));
        assert_eq!(*model.requests.borrow(), [first.unwrap()]);
    }

    #[test]
    fn an_empty_list_is_an_answer_and_silence_is_not() {
        let (extraction, _) = run(&["I like tea"], [stop(r#"{"memories":[]}"#)]);
        assert_eq!((extraction.outcome, extraction.spent, extraction.error), (Outcome::OkEmpty, spent(1), None));
        let (extraction, _) = run(&["I like tea"], [stop(""), stop("  ")]);
        assert_eq!((extraction.outcome, extraction.spent), (Outcome::Failed, spent(2)));
        assert_eq!(extraction.error.as_deref(), Some("the answer holds no list of memories"));
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
        };
        assert_eq!(extraction, nothing);
        let (transcript, categories) = (talk(&["ok"]), categories());
        assert_eq!(first_request(&Guard::default(), &task(&transcript, &categories)), None);
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
        let turns: Vec<String> =
            model.requests.borrow()[1].turns[1..].iter().map(|turn| (*turn.text).clone()).collect();
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
        assert_eq!(extraction.error.as_deref(), Some("1 of 1 entries do not have the shape that was asked for"));
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
        let (extraction, _) =
            run(&["I like tea", "and figs"], [stop(list(&[entry(1, "I like tea"), wrong])), stop(all)]);
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
        assert!(asked[2].contains("<already_read>\n[1] user:\n  I like tea"), "{}", asked[2]);
        assert!(asked[2].contains("<conversation>\n[2] user:\n  I like figs"), "{}", asked[2]);
    }

    #[test]
    fn a_request_that_is_too_long_is_halved_down_to_parts_of_a_message() {
        let text = long("tea") + &long("figs");
        let answers = [too_long(), stop(list(&[entry(1, "I like tea")])), stop(list(&[entry(1, "I like figs")]))];
        let (extraction, model) = run(&[&text], answers);
        assert_eq!((extraction.outcome, quotes(&extraction)), (Outcome::Ok, vec!["I like tea", "I like figs"]));
        assert!(model.user_texts()[1].contains("[1] user, part of a longer message:\n  I like tea"));
    }

    #[test]
    fn what_cannot_be_halved_is_salvaged_or_failed() {
        let whole = list(&[entry(1, "I like tea"), entry(1, "I like tea")]);
        let (extraction, _) = run(&["I like tea"], [answer(&whole[..whole.len() - 30], Finish::Length)]);
        assert_eq!(
            (extraction.outcome, extraction.candidates.len(), extraction.dropped.len()),
            (Outcome::Partial, 1, 1)
        );
        let (extraction, _) = run(&["I like tea"], [answer("<think>well", Finish::Length)]);
        assert_eq!(extraction.outcome, Outcome::Failed);
        assert!(extraction.error.unwrap().starts_with("the answer was cut at the token limit"));
        let (extraction, _) = run(&["I like tea"], [too_long()]);
        assert_eq!((extraction.outcome, extraction.spent.calls), (Outcome::Failed, 1));
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
        let requests = views(&task(&talk(&[&text]), &categories())).len();
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
}
