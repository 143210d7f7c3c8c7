//! A client for OpenAI-compatible servers, which makes fewer calls at a time while the server is overloaded. The module
//! also finds a local Ollama server.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_openai::config::Config as _;
use backon::BackoffBuilder as _;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Notify;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use super::endpoint::ModelSettings;
use super::endpoint::{self, Endpoint, fetch, http_client};
use super::fault::{Fault, Verdict};
use super::protocol::Protocol;
use super::wire::Dialect;
use super::{Complete, Cost, Finish, LlmError, Reply, Request, anthropic, fault, program, wire};

type Sleep = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Number of retries if no server listens, no answer arrives in time or a program fails. This is enough for a server
/// that is just starting. More retries would not help with a wrong address, a slow model or a plan whose limit is
/// reached.
const SILENT_RETRIES: u32 = 2;

/// Sends requests to an OpenAI-compatible server, and repeats them if this may help.
///
/// The client learns what the server accepts. A request that is rejected for its form is sent once more without the
/// rejected part, as are all later requests. While a server cannot be reached, only the first call is retried.
pub struct Client {
    pub(super) api: async_openai::Client<Endpoint>,
    pub(super) http: reqwest::Client,
    pub(super) settings: ModelSettings,
    dialect: Mutex<Dialect>,
    gate: Gate,
    /// Whether the last call ended without a connection. If so, the next call is not retried.
    is_down: AtomicBool,
    pub(super) sleep: Sleep,
}

impl Client {
    /// Returns a client for `settings`. No request is sent yet.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if the base URL, the key or a header cannot be sent.
    pub fn new(settings: ModelSettings) -> Result<Self, LlmError> {
        let endpoint = Endpoint::new(&settings)?;
        let http = endpoint::http_client(&endpoint)?;
        let (sender, timeout) = (http.clone(), settings.timeout);
        // A custom service also replaces the retries that async-openai makes by default.
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

    /// Returns the client with `sleep` as its function for waiting between attempts.
    #[must_use]
    pub fn with_sleep(mut self, sleep: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        self.sleep = Arc::new(sleep);
        self
    }

    /// Sends `request` until there is a reply, the retries are used up, or nothing is left to change about the request.
    async fn ask(&self, request: &Request) -> Result<Reply, LlmError> {
        let mut attempts = 0;
        loop {
            let dialect = self.dialect();
            let body = match self.settings.protocol {
                Protocol::Anthropic => anthropic::body(request, &self.settings.model, &dialect),
                _ => wire::body(request, &self.settings.model, &dialect),
            };
            match self.with_retries(&mut attempts, || self.attempt(&body, request)).await {
                Ok(reply) => return Ok(reply),
                Err(fault) if self.learn(dialect, &fault, Some(request)) => {}
                Err(fault) => return Err(self.error(&fault, attempts, request)),
            }
        }
    }

    /// Whether requests may be sent in batches.
    pub(crate) fn has_batches(&self) -> bool {
        matches!(self.settings.protocol, Protocol::OpenAi | Protocol::Anthropic)
    }

    async fn attempt(&self, body: &Value, request: &Request) -> Result<Reply, Fault> {
        let model = &self.settings.model;
        let own_count = || request.prompt_tokens();
        match &self.settings.protocol {
            Protocol::OpenAi => {
                let answer = self.api.chat().create_byot::<_, Value>(body).await.map_err(Fault::from)?;
                wire::reply(&answer, model, &own_count)
            }
            Protocol::Anthropic => {
                let timeout = self.settings.timeout;
                let answer = endpoint::post(&self.http, self.endpoint(), anthropic::PATH, body, timeout).await?;
                anthropic::reply(&answer, model, &own_count)
            }
            program => program::ask(program, model, request, self.settings.timeout).await,
        }
    }

    /// Makes attempts until one of them succeeds or another would not help, and adds their number to `attempts`. Each
    /// attempt waits until the server has room for another call.
    pub(super) async fn with_retries<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        attempts: &mut u32,
        attempt: impl Fn() -> F,
    ) -> Result<T, Fault> {
        // While the server is down, every waiting call would otherwise go through all its retries.
        let retries = if self.is_down.load(Ordering::Relaxed) { 0 } else { self.settings.max_retries };
        let mut waits = fault::waits(retries, self.settings.jitter_seed).build();
        loop {
            *attempts += 1;
            let pass = self.gate.enter().await;
            let outcome = attempt().await;
            match &outcome {
                Ok(_) => pass.widen(),
                Err(fault) if fault.is_overload() => pass.narrow(),
                Err(_) => {}
            }
            // Another call may be made during the wait.
            drop(pass);
            let wait = match &outcome {
                Err(Fault::Unreachable(_) | Fault::TimedOut(_) | Fault::Declined(_)) if *attempts > SILENT_RETRIES => {
                    None
                }
                Err(fault) if fault.verdict() == Verdict::Retry => fault::wait_after(fault, waits.next()),
                Ok(_) | Err(_) => None,
            };
            let Some(wait) = wait else {
                self.is_down.store(matches!(outcome, Err(Fault::Unreachable(_))), Ordering::Relaxed);
                return outcome;
            };
            (self.sleep)(wait).await;
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `fault`, the answer to a request in dialect `used`, shows how to change the request so that another
    /// attempt is worthwhile.
    pub(super) fn learn(&self, used: Dialect, fault: &Fault, request: Option<&Request>) -> bool {
        let less = request.and_then(|request| used.with_less(fault.complaint()?, request.max_completion_tokens));
        let form = || fault.rejection().and_then(|rejection| used.without(rejection));
        // The size of the limit is changed first, because complaints about the size and about the name of the field
        // both contain its name.
        let Some(next) = less.or_else(form) else { return false };
        let mut dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        *dialect = dialect.merge(next);
        tracing::debug!(endpoint = self.endpoint().shown, dialect = ?*dialect, "the server rejects part of the request");
        true
    }

    pub(super) fn error(&self, fault: &Fault, attempts: u32, request: &Request) -> LlmError {
        self.error_about(fault, attempts, &request.turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>())
    }

    /// Returns the error of a call that contained `texts`, without quoting long parts of them.
    pub(super) fn error_about(&self, fault: &Fault, attempts: u32, texts: &[&str]) -> LlmError {
        let mut reason = self.endpoint().clean(&fault.to_string());
        // Only the error of an answer with an error status repeats the server's words, which may quote the request.
        let status = match fault {
            Fault::Status { status, .. } => format!("status {status}: "),
            Fault::Declined(_) => String::new(),
            _ => return self.sorted(fault, attempts, reason),
        };
        if texts.iter().any(|text| quotes(&reason, text)) {
            reason = format!("{status}(message left out, because it quotes the conversation)");
        }
        self.sorted(fault, attempts, reason)
    }

    /// Returns the error of a call that contains no conversation.
    pub(super) fn fault_error(&self, fault: &Fault, attempts: u32) -> LlmError {
        self.sorted(fault, attempts, self.endpoint().clean(&fault.to_string()))
    }

    fn sorted(&self, fault: &Fault, attempts: u32, mut reason: String) -> LlmError {
        let endpoint = self.endpoint().shown.clone();
        match fault.verdict() {
            Verdict::TooLong => LlmError::TooLong { endpoint },
            Verdict::Permanent(remedy) => LlmError::Permanent { endpoint, reason, remedy: remedy.into() },
            Verdict::NoAccess => {
                let remedy = match self.settings.protocol.program() {
                    Some(program) => format!("log in with `{program}`").into(),
                    None => format!("check {}", self.settings.key_name).into(),
                };
                LlmError::Permanent { endpoint, reason, remedy }
            }
            Verdict::Retry => {
                if let Some(wait) = fault.wait() {
                    reason = format!("{reason} (the server requests a wait of {} s)", wait.as_secs());
                }
                if matches!(fault, Fault::Unreachable(_)) {
                    reason = format!("is the server running? {reason}");
                }
                LlmError::Transient { endpoint, reason, attempts }
            }
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        self.api.config()
    }
}

/// Whether `reason` contains a long part of the request, which must not appear in a log.
fn quotes(reason: &str, asked: &str) -> bool {
    /// Matches of up to this length are considered coincidence.
    const LONGEST_CHANCE: usize = 40;
    // The text is divided at characters, since slicing inside a character would panic.
    let starts: Vec<usize> = reason.char_indices().map(|(start, _)| start).chain([reason.len()]).collect();
    starts.windows(LONGEST_CHANCE + 1).any(|window| {
        let piece = &reason[window[0]..window[LONGEST_CHANCE]];
        asked.contains(piece)
    })
}

impl Complete for Client {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let span = self.span("chat");
        span.record("gen_ai.request.max_tokens", request.max_completion_tokens);
        let completed = self.complete_once_more_if_empty(request).instrument(span.clone()).await;
        match &completed {
            Ok((reply, _)) => {
                span.record("gen_ai.usage.input_tokens", reply.prompt_tokens);
                span.record("gen_ai.usage.output_tokens", reply.completion_tokens);
            }
            Err(error) => mark_failed(&span, error.kind()),
        }
        completed
    }

    fn model(&self) -> &str {
        &self.settings.model
    }
}

impl Client {
    /// Returns the span of a call, with the attributes of OpenTelemetry's conventions for generative AI. No span
    /// contains text that is sent or received.
    pub(super) fn span(&self, operation: &'static str) -> Span {
        let model = self.settings.model.as_str();
        let url = reqwest::Url::parse(&self.settings.base_url).ok();
        tracing::info_span!(
            "model",
            otel.name = format_args!("{operation} {model}"),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = operation,
            gen_ai.provider.name = self.settings.protocol.provider(),
            gen_ai.request.model = model,
            gen_ai.request.max_tokens = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            server.address = url.as_ref().and_then(reqwest::Url::host_str),
            server.port = url.as_ref().and_then(reqwest::Url::port_or_known_default),
            error.type = Empty,
        )
    }

    async fn complete_once_more_if_empty(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let first = self.ask(request).await?;
        // Small models occasionally return an empty answer, but usually answer properly when asked again.
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
}

/// Marks the span of a call that failed, with a class of error.
pub(super) fn mark_failed(span: &Span, kind: &'static str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("settings", &self.settings)
            .field("dialect", &self.dialect())
            .finish_non_exhaustive()
    }
}

/// Limits the calls in flight. The limit is halved after each overload. It grows by one after as many good answers as
/// it allows calls.
#[derive(Debug)]
struct Gate {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    limit: usize,
    in_flight: usize,
    good_answers: usize,
}

impl Default for Gate {
    /// Returns a gate without a limit.
    fn default() -> Self {
        // There is no limit at first, because only a refusal shows how many calls a server accepts.
        Self { state: Mutex::new(State { limit: usize::MAX, in_flight: 0, good_answers: 0 }), changed: Notify::new() }
    }
}

impl Gate {
    /// Returns a pass as soon as there is room.
    async fn enter(&self) -> Pass<'_> {
        loop {
            // The future is created before the state is read, so that no change in between is missed.
            let changed = self.changed.notified();
            if self.try_enter() {
                return Pass { gate: self };
            }
            changed.await;
        }
    }

    fn try_enter(&self) -> bool {
        let mut state = self.state();
        let enters = state.in_flight < state.limit;
        state.in_flight += usize::from(enters);
        enters
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permission for one call in flight, released on drop.
struct Pass<'a> {
    gate: &'a Gate,
}

impl Pass<'_> {
    /// Halves the number of calls that may be in flight, to at least one.
    fn narrow(&self) {
        let mut state = self.gate.state();
        // The limit is computed from the calls in flight, because the limit is infinite until the first overload.
        state.limit = (state.in_flight / 2).max(1);
        state.good_answers = 0;
    }

    /// Counts a good answer.
    fn widen(&self) {
        let mut state = self.gate.state();
        state.good_answers = state.good_answers.saturating_add(1);
        // Growing slowly after a sharp cut keeps the number of calls near what the server accepts.
        if state.good_answers >= state.limit {
            state.good_answers = 0;
            state.limit = state.limit.saturating_add(1);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.state().in_flight -= 1;
        self.gate.changed.notify_waiters();
    }
}

/// The address at which Ollama listens by default.
const DEFAULT_HOST: &str = "127.0.0.1:11434";
/// Maximum wait for Ollama's answer, which arrives immediately or never, since Ollama runs on the same machine.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time limit for a check of a server. A person waits for the result.
const CHECK_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum size of a list of models that is read, in bytes. Routers list hundreds of models.
const LONGEST_LIST: usize = 8 << 20;

/// Models that Ollama has, as `GET /api/tags` lists them: the most recently changed first.
#[derive(Debug, Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Debug, Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    details: Details,
}

#[derive(Debug, Default, Deserialize)]
struct Details {
    #[serde(default)]
    family: String,
}

impl Tag {
    /// Whether the model only turns text into vectors.
    fn only_embeds(&self) -> bool {
        let name = self.name.to_lowercase();
        // Ollama lists embedding models among the others, and fails only when an embedding model is used for chat.
        self.details.family.contains("bert") || name.contains("embed") || name.contains("minilm")
    }
}

/// Returns the settings for an Ollama server on this machine, or `None` if no server answers or it has no chat model.
///
/// `host` is the value of `OLLAMA_HOST`, e.g. `127.0.0.1:11434`. If the value specifies another machine, that machine
/// is not contacted, since conversations leave this machine only with a person's consent. `named` is the model to use.
/// By default, the most recently changed model is used.
///
/// # Errors
/// [`LlmError::Permanent`] if `host` is not an address.
pub(crate) async fn find_ollama(host: Option<&str>, named: Option<&str>) -> Result<Option<ModelSettings>, LlmError> {
    let settings = ModelSettings::new(format!("{}/v1", base(host.unwrap_or(DEFAULT_HOST))), "");
    let endpoint = Endpoint::new(&settings)?;
    // `OLLAMA_HOST` may specify another machine, and the user has not permitted sending conversations there.
    if !endpoint.is_loopback() {
        return Ok(None);
    }
    let http = http_client(&endpoint)?;
    let url = format!("{}/api/tags", settings.base_url.trim_end_matches("/v1"));
    let answer = http.get(url).timeout(PATIENCE).send().await;
    // Any other answer means that there is no usable Ollama, which is not an error.
    let Ok(response) = answer.and_then(reqwest::Response::error_for_status) else { return Ok(None) };
    let Ok(tags) = response.json::<Tags>().await else { return Ok(None) };
    Ok(chosen(&tags, named).map(|model| ModelSettings { model, ..settings }))
}

/// Asks the server of `settings` for its list of models, which costs nothing. `Some(false)` means that the list does not
/// contain the model, and `None` that the server replies without a list, as it does if the address is wrong.
///
/// # Errors
/// A short description of why the server cannot be used, without secrets.
pub(crate) async fn lists_model(settings: &ModelSettings) -> Result<Option<bool>, String> {
    #[derive(serde::Deserialize)]
    struct Listed {
        id: String,
    }
    #[derive(serde::Deserialize)]
    struct List {
        data: Vec<Listed>,
    }
    if settings.protocol.program().is_some() {
        return program::check(&settings.protocol, CHECK_PATIENCE).await.map(|()| Some(true));
    }
    let endpoint = Endpoint::new(settings).map_err(|error| error.to_string())?;
    let http = http_client(&endpoint).map_err(|error| error.to_string())?;
    let request = http.get(endpoint.url("/models")).query(&endpoint.query()).headers(endpoint.headers());
    let request = request.timeout(CHECK_PATIENCE).build().map_err(|error| endpoint.clean(&error.to_string()))?;
    match fetch(&http, request, LONGEST_LIST).await {
        Ok(body) => {
            // A page in HTML is not a list, so the address may be wrong.
            let Ok(List { data: list }) = serde_json::from_slice(&body) else { return Ok(None) };
            // Gateways may list models under names that differ from those they accept, so an empty list proves nothing.
            // Ollama lists a model that was named without a tag under the tag `latest`.
            let is_named = |listed: &Listed| listed.id.strip_suffix(":latest").unwrap_or(&listed.id) == settings.model;
            Ok(Some(list.is_empty() || list.iter().any(|listed| listed.id == settings.model || is_named(listed))))
        }
        // A server that supports only the call that extraction needs is sufficient.
        Err(Fault::Status { status: 404 | 405, .. }) => Ok(None),
        Err(fault) => Err(endpoint.clean(&fault.to_string())),
    }
}

/// Returns an address with a scheme and a port, made from a value of `OLLAMA_HOST`.
fn base(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    // `0.0.0.0` is an address to listen on, not an address to connect to.
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("{scheme}://{rest}") } else { format!("{scheme}://{rest}:11434") }
}

fn chosen(tags: &Tags, named: Option<&str>) -> Option<String> {
    // Ollama adds the tag `:latest` to a name without a tag.
    let is = |tag: &&Tag, name: &str| tag.name == name || tag.name.strip_suffix(":latest") == Some(name);
    let tag = match named {
        Some(name) => tags.models.iter().find(|tag| is(tag, name)),
        None => tags.models.iter().find(|tag| !tag.only_embeds()),
    };
    tag.map(|tag| tag.name.clone())
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

#[cfg(test)]
mod gate_tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn overload_halves_and_good_answers_widen_by_one() {
        let gate = Gate::default();
        let mut passes: Vec<_> = (0..8).map(|_| gate.enter().now_or_never().unwrap()).collect();
        passes[0].narrow();
        assert_eq!(gate.state().limit, 4);
        passes.truncate(4);
        assert!(gate.enter().now_or_never().is_none());
        passes.truncate(3);
        passes.push(gate.enter().now_or_never().unwrap());
        for _ in 0..4 {
            passes[0].widen();
        }
        assert_eq!(gate.state().limit, 5);
        passes.truncate(1);
        passes[0].narrow();
        assert_eq!(gate.state().limit, 1);
    }

    #[tokio::test]
    async fn a_waiting_call_is_let_in_when_another_ends() {
        let gate = Gate::default();
        let first = gate.enter().await;
        first.narrow();
        let (second, ()) = tokio::join!(gate.enter(), async { drop(first) });
        assert_eq!(gate.state().in_flight, 1);
        drop(second);
        assert_eq!(gate.state().in_flight, 0);
    }
}

#[cfg(test)]
mod ollama_tests {
    use super::*;

    #[test]
    fn hosts_are_completed() {
        let rows = [
            ("127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("localhost", "http://localhost:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("https://box:8443/", "https://box:8443"),
            (" 127.0.0.1:9 ", "http://127.0.0.1:9"),
        ];
        for (host, expected) in rows {
            assert_eq!(base(host), expected, "{host}");
        }
    }

    #[test]
    fn a_model_that_can_chat_is_chosen() {
        let tags: Tags = serde_json::from_str(
            r#"{"models":[
                {"name":"nomic-embed-text:latest","details":{"family":"nomic-bert"}},
                {"name":"qwen3:8b","details":{"family":"qwen3"},"size":1},
                {"name":"llama3.2:latest"}]}"#,
        )
        .unwrap();
        assert_eq!(chosen(&tags, None).as_deref(), Some("qwen3:8b"));
        assert_eq!(chosen(&tags, Some("llama3.2")).as_deref(), Some("llama3.2:latest"));
        assert_eq!(chosen(&tags, Some("gpt-5")), None);
        let only_vectors: Tags = serde_json::from_str(r#"{"models":[{"name":"all-minilm:33m"}]}"#).unwrap();
        assert_eq!(chosen(&only_vectors, None), None);
    }

    #[tokio::test]
    async fn another_machine_is_not_asked() {
        assert!(find_ollama(Some("192.0.2.1"), None).await.unwrap().is_none());
        assert!(find_ollama(Some("http://"), None).await.is_err());
    }
}
