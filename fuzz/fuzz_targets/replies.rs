//! Replies of a model to extraction requests.
#![no_main]

use std::sync::LazyLock;

use afterthought::extract::{Span, Task, llm};
use afterthought::guard::Guard;
use afterthought::llm::{Complete, Cost, Finish, LlmError, Reply, Request};
use transcripts::{Message, Transcript};
use libfuzzer_sys::fuzz_target;

struct Fixed(String, Finish);

impl Complete for Fixed {
    async fn complete(&self, _: &Request) -> Result<(Reply, Cost), LlmError> {
        let reply =
            Reply { text: self.0.clone(), finish: self.1, prompt_tokens: 1, completion_tokens: 1, model: "m".into() };
        Ok((reply, Cost::Cached))
    }

    fn model(&self) -> &str {
        "m"
    }
}

static TALK: LazyLock<Transcript> = LazyLock::new(|| Transcript {
    source: "jsonl".into(),
    external_id: "talk".into(),
    messages: vec![
        Message { id: "m1".into(), ..Message::user("From now on we deploy on Mondays, never on Fridays.") },
        Message { id: "m2".into(), ..Message::assistant("Noted.") },
        Message { id: "m3".into(), ..Message::user("我对花生过敏。") },
    ],
    ..Transcript::default()
});
static GUARD: LazyLock<Guard> = LazyLock::new(Guard::default);

fuzz_target!(|bytes: &[u8]| {
    let finish = match bytes.first() {
        Some(b'!') => Finish::Length,
        Some(b'?') => Finish::Refusal,
        _ => Finish::Stop,
    };
    let model = Fixed(String::from_utf8_lossy(bytes).into_owned(), finish);
    let categories = ["fact", "decision", "preference", "convention"].map(String::from);
    let span = Span { context_start: 0, start: 0, end: 3 };
    let task = Task { transcript: &TALK, span, known: &[], instructions: None, categories: &categories };
    for extraction in futures::executor::block_on(llm::extract(&model, &GUARD, &[task])) {
        for candidate in extraction.candidates {
            assert!(!candidate.claim.content.trim().is_empty() && !candidate.evidence.is_empty());
            assert!((0.0..=1.0).contains(&candidate.claim.importance), "{}", candidate.claim.importance);
            assert!((0.0..=1.0).contains(&candidate.claim.confidence), "{}", candidate.claim.confidence);
            for piece in &candidate.evidence {
                let said = TALK.messages.iter().find(|message| message.id == piece.messages[0]);
                assert!(said.is_some_and(|said| said.text.contains(&piece.quote)), "nobody said {:?}", piece.quote);
            }
        }
        assert!(extraction.dropped.iter().all(|dropped| dropped.detail.len() < 2_000), "reasons are short");
        assert_eq!(extraction.spent.calls, 0, "what is kept costs nothing");
    }
});
