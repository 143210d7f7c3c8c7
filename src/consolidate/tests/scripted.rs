//! A model that follows a script, and a store that is filled from lines.

use std::cell::RefCell;

use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply, Request};
use crate::memory::{Evidence, Memory, Status};
use crate::store::{Filter, Order, Store};

use super::testing::{incoming, now};
use crate::consolidate::plan::apply::{Applied, apply, consolidate};
use crate::consolidate::{Decision, IncomingClaim, Plan};

/// A model that answers from a script, and records its requests. An answer that ends in `…` was cut off there.
#[derive(Default)]
pub(super) struct Scripted {
    pub(super) replies: RefCell<Vec<Result<String, LlmError>>>,
    pub(super) asked: RefCell<Vec<Request>>,
}

impl Scripted {
    pub(super) fn saying(replies: &[&str]) -> Self {
        let replies = replies.iter().rev().map(|text| Ok((*text).to_owned())).collect();
        Self { replies: RefCell::new(replies), asked: RefCell::default() }
    }

    pub(super) fn failing() -> Self {
        let error = LlmError::Transient { endpoint: "test".into(), reason: "timeout".into(), attempts: 3 };
        Self { replies: RefCell::new(vec![Err(error)]), asked: RefCell::default() }
    }
}

impl Complete for Scripted {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        self.asked.borrow_mut().push(request.clone());
        let text = self.replies.borrow_mut().pop().expect("the script covers every call")?;
        let (text, finish) = match text.strip_suffix('…') {
            Some(cut) => (cut.to_owned(), Finish::Length),
            None => (text, Finish::Stop),
        };
        let model = "scripted".into();
        Ok((Reply { text, finish, prompt_tokens: 100, completion_tokens: 10, model }, Cost::Call))
    }

    fn model(&self) -> &'static str {
        "scripted"
    }
}

pub(super) fn ready<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}

pub(super) fn plan_with(store: &Store, model: Option<&Scripted>, incoming: Vec<IncomingClaim>) -> Plan {
    ready(consolidate(store, &Guard::default(), model, incoming, now())).unwrap().0
}

pub(super) fn plan(store: &Store, lines: &[&str]) -> Plan {
    plan_with(store, None, lines.iter().map(|line| incoming(line)).collect())
}

pub(super) fn write(store: &Store, plan: &Plan) -> Applied {
    apply(store, plan, None, now()).unwrap()
}

pub(super) fn learn(store: &Store, lines: &[&str]) -> Plan {
    let plan = plan(store, lines);
    write(store, &plan);
    plan
}

pub(super) fn decisions(plan: &Plan) -> Vec<Decision> {
    plan.changes.iter().map(|change| change.decision).collect()
}

pub(super) fn all(store: &Store) -> Vec<Memory> {
    store.list(&Filter { statuses: Vec::new(), ..Filter::default() }, Order::Id, 10_000, 0).unwrap()
}

pub(super) fn with_status(store: &Store, status: Status) -> Vec<String> {
    all(store).into_iter().filter(|memory| memory.status == status).map(|memory| memory.claim.content).collect()
}

pub(super) fn evidence_of(store: &Store, content: &str) -> Vec<Evidence> {
    let memory = all(store).into_iter().find(|memory| memory.claim.content == content).unwrap();
    store.evidence(&memory.id).unwrap()
}
