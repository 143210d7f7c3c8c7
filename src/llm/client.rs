//! Asks an OpenAI-compatible server.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::BackoffBuilder as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::dialect::Dialect;
use super::endpoint::{self, Endpoint};
use super::fault::{Fault, Verdict};
use super::gate::Gate;
use super::settings::ModelSettings;
use super::{Complete, Cost, Finish, LlmError, Reply, Request, retry, wire};

type Sleep = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Retries where nobody listens or nothing comes in time: enough for a server that is just starting, and soon over for
/// a wrong address or a model that is too slow, which no wait mends.
pub(super) const SILENT_RETRIES: u32 = 2;

/// Asks an OpenAI-compatible server, again where that may help.
///
/// It learns what the server takes: a request that is rejected for its form is sent once more without what was
/// complained of, and so are all later ones. While a server cannot be reached, only the first call is retried.
pub struct Client {
    api: async_openai::Client<Endpoint>,
    pub(super) http: reqwest::Client,
    pub(super) settings: ModelSettings,
    dialect: Mutex<Dialect>,
    pub(super) gate: Gate,
    /// The last call ended without a connection, so the next one need not try as hard.
    pub(super) is_down: AtomicBool,
    pub(super) sleep: Sleep,
}

impl Client {
    /// Returns a client for `settings`; nothing is sent yet.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if the base URL, the key or a header cannot be sent.
    pub fn new(settings: ModelSettings) -> Result<Self, LlmError> {
        let endpoint = Endpoint::new(&settings)?;
        let http = endpoint::http_client(&endpoint)?;
        let (sender, timeout) = (http.clone(), settings.timeout);
        // A service of our own also replaces the retries that async-openai makes by default.
        let service = tower::service_fn(move |factory| endpoint::attempt(sender.clone(), factory, timeout));
        Ok(Self {
            api: async_openai::Client::build(http.clone(), endpoint).with_http_service(service),
            http,
            dialect: Mutex::new(Dialect::new(&settings)),
            settings,
            gate: Gate::default(),
            is_down: AtomicBool::new(false),
            sleep: Arc::new(|wait| Box::pin(tokio::time::sleep(wait))),
        })
    }

    /// Returns the client with `sleep` for the waits between attempts.
    #[must_use]
    pub fn with_sleep(mut self, sleep: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        self.sleep = Arc::new(sleep);
        self
    }

    /// Asks until there is a reply, the retries are used up, or nothing is left to change about the request.
    async fn ask(&self, request: &Request) -> Result<Reply, LlmError> {
        let mut attempts = 0;
        loop {
            let dialect = self.dialect();
            let body = wire::body(request, &self.settings.model, &dialect);
            match self.ask_in(&body, request, &mut attempts).await {
                Ok(reply) => return Ok(reply),
                Err(fault) if self.learn(dialect, &fault, Some(request)) => {}
                Err(fault) => return Err(self.error(&fault, attempts, request)),
            }
        }
    }

    /// Sends `body` until there is a reply or a fault that waiting does not help.
    async fn ask_in(&self, body: &Value, request: &Request, attempts: &mut u32) -> Result<Reply, Fault> {
        let retries = if self.is_down.load(Ordering::Relaxed) { 0 } else { self.settings.max_retries };
        let mut waits = retry::waits(retries, self.settings.jitter_seed).build();
        loop {
            *attempts += 1;
            let outcome = self.attempt(body, request).await;
            let wait = match &outcome {
                Err(Fault::Unreachable(_) | Fault::TimedOut(_)) if *attempts > SILENT_RETRIES => None,
                Err(fault) if fault.verdict() == Verdict::Retry => retry::wait_after(fault, waits.next()),
                Ok(_) | Err(_) => None,
            };
            let Some(wait) = wait else {
                self.is_down.store(matches!(outcome, Err(Fault::Unreachable(_))), Ordering::Relaxed);
                return outcome;
            };
            (self.sleep)(wait).await;
        }
    }

    async fn attempt(&self, body: &Value, request: &Request) -> Result<Reply, Fault> {
        let pass = self.gate.enter().await;
        let answer = self.api.chat().create_byot::<_, Value>(body).await.map_err(Fault::from);
        let reply = answer.and_then(|answer| wire::reply(&answer, request, &self.settings.model));
        match &reply {
            Ok(_) => pass.widen(),
            Err(fault) if fault.is_overload() => pass.narrow(),
            Err(_) => {}
        }
        reply
    }

    pub(super) fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `fault`, met in dialect `used`, taught something that makes another attempt worth while.
    pub(super) fn learn(&self, used: Dialect, fault: &Fault, request: Option<&Request>) -> bool {
        let less = request.and_then(|request| used.with_less(fault.complaint()?, request.max_completion_tokens));
        let form = || fault.rejection().and_then(|rejection| used.without(rejection));
        let Some(next) = less.or_else(form) else { return false };
        let mut dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        *dialect = dialect.merge(next);
        tracing::debug!(endpoint = self.endpoint().shown, dialect = ?*dialect, "the server rejects part of the request");
        true
    }

    pub(super) fn error(&self, fault: &Fault, attempts: u32, request: &Request) -> LlmError {
        self.error_about(fault, attempts, &request.turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>())
    }

    /// Returns the error of a call that carried `texts`, without any longer piece of them.
    pub(super) fn error_about(&self, fault: &Fault, attempts: u32, texts: &[&str]) -> LlmError {
        let mut reason = self.endpoint().clean(&fault.to_string());
        if let Fault::Status { status, .. } = fault
            && texts.iter().any(|text| quotes(&reason, text))
        {
            reason = format!("status {status}: (a message that quotes the conversation)");
        }
        self.sorted(fault, attempts, reason)
    }

    /// Returns the error of a call that carries no conversation.
    pub(super) fn fault_error(&self, fault: &Fault, attempts: u32) -> LlmError {
        self.sorted(fault, attempts, self.endpoint().clean(&fault.to_string()))
    }

    fn sorted(&self, fault: &Fault, attempts: u32, mut reason: String) -> LlmError {
        let endpoint = self.endpoint().shown.clone();
        match fault.verdict() {
            Verdict::TooLong => LlmError::TooLong { endpoint },
            Verdict::Permanent(remedy) => LlmError::Permanent { endpoint, reason, remedy },
            Verdict::Retry => {
                if let Some(wait) = fault.wait() {
                    reason = format!("{reason} (it asks to wait {} s)", wait.as_secs());
                }
                if matches!(fault, Fault::Unreachable(_)) {
                    reason = format!("{reason}, is the server running at {endpoint}?");
                }
                LlmError::Transient { endpoint, reason, attempts }
            }
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        self.api.config()
    }
}

/// Whether `reason` holds a longer piece of what was asked; such a piece must not get into a log.
fn quotes(reason: &str, asked: &str) -> bool {
    /// Shorter pieces are taken for chance.
    const LONGEST_CHANCE: usize = 40;
    let starts: Vec<usize> = reason.char_indices().map(|(start, _)| start).chain([reason.len()]).collect();
    starts.windows(LONGEST_CHANCE + 1).any(|window| {
        let piece = &reason[window[0]..window[LONGEST_CHANCE]];
        asked.contains(piece)
    })
}

impl Complete for Client {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let first = self.ask(request).await?;
        if first.finish != Finish::Stop || !first.text.trim().is_empty() {
            return Ok((first, Cost::Call));
        }
        let second = self.ask(request).await?;
        let reply = Reply {
            prompt_tokens: first.prompt_tokens + second.prompt_tokens,
            completion_tokens: first.completion_tokens + second.completion_tokens,
            ..second
        };
        Ok((reply, Cost::Call))
    }

    fn model(&self) -> &str {
        &self.settings.model
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("settings", &self.settings)
            .field("dialect", &self.dialect())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::tests::request;
    use super::*;

    #[test]
    fn calls_may_move_between_threads() {
        fn assert_send<T: Send>(_: &T) {}
        let client = Client::new(ModelSettings::new("http://127.0.0.1:1/v1", "m")).unwrap();
        let request = request("hi");
        assert_send(&client.complete(&request));
    }

    #[test]
    fn only_a_longer_piece_of_the_conversation_counts_as_quoted() {
        let said = "Am Montag ziehe ich nach Köln, meine Katze heißt Mia 🐈.";
        let first = |count| said.chars().take(count).collect::<String>();
        assert!(quotes(&format!("bad input: {}", first(40)), said));
        assert!(!quotes(&format!("bad input: {}", first(39)), said));
        assert!(!quotes("", said));
    }
}
