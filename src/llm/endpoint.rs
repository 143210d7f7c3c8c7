//! The server of a model: its settings, its address, and one HTTP attempt.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures::FutureExt as _;
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::LlmError;
use super::fault::{Fault, Rejection, asked_wait};
use super::protocol::Protocol;
use crate::text::address::printable_address;

/// Maximum time to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of an answer, in bytes. No valid answer to a request of this program is longer.
const LONGEST_BODY: usize = 32 << 20;

/// Path of vectors, as async-openai calls it.
const EMBEDDINGS: &str = "/embeddings";

/// Maximum size of an answer with vectors, in bytes. A number takes about 22 bytes as text.
const LONGEST_EMBEDDINGS: usize = 256 << 20;

/// Maximum length of a server's text in a message, in characters.
// Some servers answer with a web page, or quote the whole request.
const LONGEST_REASON: usize = 300;

/// Minimum length of a secret that is removed from texts. Some local servers want a short key such as `none`.
const SHORTEST_SECRET: usize = 6;

/// The address of a server, and the headers that it requires.
pub(super) struct Endpoint {
    base: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    key: SecretString,
    secrets: Vec<SecretString>,
    /// The base URL without credentials, for messages.
    pub shown: String,
}

impl Endpoint {
    /// Returns the endpoint of `settings`.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, LlmError> {
        if let Some(program) = settings.protocol.program() {
            return Ok(Self {
                base: String::new(),
                query: Vec::new(),
                headers: HeaderMap::new(),
                key: SecretString::default(),
                secrets: Vec::new(),
                shown: program.to_owned(),
            });
        }
        let shown = shown_url(&settings.base_url);
        let wrong = |reason: &str, remedy: String| LlmError::permanent(&shown, reason, remedy);
        let mut url = http_url(&settings.base_url).ok_or_else(|| {
            wrong("this is not an http address", "set a base URL such as http://127.0.0.1:11434/v1".to_owned())
        })?;
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        // A password in the address is as secret as the key, and error messages of the HTTP library quote the address.
        let password = url.password().map(SecretString::from);
        // The query is stored separately, since paths are appended to the base.
        url.set_query(None);
        url.set_fragment(None);

        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.api_key {
            let (name, value) = match settings.protocol {
                Protocol::Anthropic => (HeaderName::from_static("x-api-key"), key.expose_secret().to_owned()),
                _ => (AUTHORIZATION, format!("Bearer {}", key.expose_secret())),
            };
            let value = secret_header(&value).ok_or_else(|| {
                wrong("the key contains a line break or a control character", format!("check {}", settings.key_name))
            })?;
            headers.insert(name, value);
        }
        for (name, value) in settings.protocol.headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        for (name, value) in &settings.headers {
            let header = name.parse::<HeaderName>().ok().zip(secret_header(value.expose_secret()));
            let (name, value) =
                header.ok_or_else(|| wrong("an extra header is malformed", "check its name and value".to_owned()))?;
            headers.insert(name, value);
        }
        let extra = settings.headers.iter().map(|(_, value)| value.clone());
        let in_query = query.iter().map(|(_, value)| SecretString::from(value.as_str()));
        let secrets = settings.api_key.iter().cloned().chain(password).chain(extra).chain(in_query).collect();
        Ok(Self {
            base: url.as_str().trim_end_matches('/').to_owned(),
            query,
            headers,
            key: settings.api_key.clone().unwrap_or_default(),
            secrets,
            shown,
        })
    }

    /// Returns the beginning of `text` on one line, without the secrets of the endpoint.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets.iter().map(SecretString::expose_secret).filter(|s| s.len() >= SHORTEST_SECRET) {
            text = text.replace(secret, "[secret]");
        }
        let words: Vec<_> =
            text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
        let line = words.join(" ");
        match line.char_indices().nth(LONGEST_REASON) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// Whether the server runs on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let host = Url::parse(&self.base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        // The host of an IPv6 URL is enclosed in brackets, which the address parser rejects.
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.shown).finish()
    }
}

/// Returns `base_url` without user, password, query and fragment. Text that is not a URL is hidden if it may contain a
/// password.
pub(super) fn shown_url(base_url: &str) -> String {
    match http_url(base_url) {
        Some(url) => printable_address(url.as_str()).trim_end_matches('/').to_owned(),
        None if base_url.contains(['@', '?']) || base_url.chars().count() > LONGEST_REASON => "the base URL".to_owned(),
        None => format!("{:?}", base_url.trim()),
    }
}

fn http_url(text: &str) -> Option<Url> {
    Url::parse(text.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn secret_header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    // This keeps the value out of the debug output of the HTTP library.
    value.set_sensitive(true);
    Some(value)
}

/// Makes ring the cryptography provider of rustls for all connections of this process.
pub(crate) fn use_ring() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have installed its provider first, which is equally good.
        rustls::crypto::ring::default_provider().install_default().ok();
    }
}

/// Returns an HTTP client that uses rustls with ring.
///
/// Redirects are not followed, so that no text is sent to a server that the user did not name.
pub(super) fn http_client(endpoint: &Endpoint) -> Result<reqwest::Client, LlmError> {
    use_ring();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("afterthought/", env!("CARGO_PKG_VERSION")))
        // A redirect would send conversations to a server that the user did not name.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    // A system proxy would send requests for this machine to another machine.
    let builder = if endpoint.is_loopback() { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| {
        let remedy = "check the proxy and certificate settings of the system";
        LlmError::permanent(&endpoint.shown, endpoint.clean(&root_cause(&error)), remedy)
    })
}

/// Makes one attempt within `timeout`. Returns an answer with a 2xx status and a JSON body, or a [`Fault`].
///
/// The body is read here, because async-openai discards the headers of errors and logs bodies that it cannot parse.
pub(super) async fn attempt(
    http: reqwest::Client,
    factory: HttpRequestFactory,
    timeout: Duration,
) -> Result<reqwest::Response, OpenAIError> {
    let request = factory.build().await?;
    // The timeout covers the whole exchange, since a server may send its headers immediately and its body never.
    match within(timeout, exchange(&http, request)).await {
        Ok(body) => Ok(http::Response::new(body).into()),
        Err(fault) => Err(OpenAIError::Boxed(Box::new(fault))),
    }
}

async fn exchange(http: &reqwest::Client, request: reqwest::Request) -> Result<Vec<u8>, Fault> {
    let longest = if request.url().path().ends_with(EMBEDDINGS) { LONGEST_EMBEDDINGS } else { LONGEST_BODY };
    let body = fetch(http, request, longest).await?;
    parsed::<serde::de::IgnoredAny>(&body).map(|_| body)
}

/// Sends `body` to `path` below the base URL of `endpoint`, and returns the JSON of a 2xx answer, or a [`Fault`].
pub(super) async fn post(
    http: &reqwest::Client,
    endpoint: &Endpoint,
    path: &str,
    body: &Value,
    timeout: Duration,
) -> Result<Value, Fault> {
    let request = http.post(endpoint.url(path)).query(&endpoint.query()).headers(endpoint.headers()).json(body);
    let request = request.build().map_err(|error| Fault::Unsendable(error.to_string()))?;
    parsed(&within(timeout, fetch(http, request, LONGEST_BODY)).await?)
}

/// Waits for `exchange` for at most `timeout`.
// This is not an async function, because its future would store the exchange twice.
pub(super) fn within<T>(
    timeout: Duration,
    exchange: impl Future<Output = Result<T, Fault>>,
) -> impl Future<Output = Result<T, Fault>> {
    tokio::time::timeout(timeout, exchange).map(move |ended| ended.unwrap_or(Err(Fault::TimedOut(timeout))))
}

/// Parses the body of an answer.
fn parsed<'b, T: serde::Deserialize<'b>>(body: &'b [u8]) -> Result<T, Fault> {
    match serde_json::from_slice(body) {
        Ok(value) => Ok(value),
        Err(_) if body.trim_ascii_start().starts_with(b"<") => {
            Err(Fault::Broken("the answer is a web page (does the base URL end in /v1?)".to_owned()))
        }
        Err(_) => Err(Fault::Broken("the answer is not complete JSON".to_owned())),
    }
}

/// Returns the body of a 2xx answer of any kind, at most `longest` bytes, or a [`Fault`].
pub(super) async fn fetch(http: &reqwest::Client, request: reqwest::Request, longest: usize) -> Result<Vec<u8>, Fault> {
    let mut response = http.execute(request).await.map_err(|error| transport(&error))?;
    let (status, wait) = (response.status(), asked_wait(response.headers(), Timestamp::now()));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| transport(&error))? {
        body.extend_from_slice(&chunk);
        // The size is checked while the body arrives, since a length in the headers may be missing or wrong.
        if body.len() > longest {
            return Err(Fault::Broken("the answer is too long".to_owned()));
        }
    }
    if !status.is_success() {
        let parsed = serde_json::from_slice::<Value>(&body).ok();
        let rejection = parsed.and_then(|body| Rejection::read(&body)).unwrap_or_else(|| unread(status));
        return Err(Fault::Status { status: status.as_u16(), wait, rejection });
    }
    Ok(body)
}

/// Returns a substitute for an error text that is not JSON.
fn unread(status: StatusCode) -> Rejection {
    Rejection { message: status.canonical_reason().unwrap_or("no message").to_owned(), code: String::new() }
}

fn transport(error: &reqwest::Error) -> Fault {
    let cause = root_cause(error);
    if error.is_connect() {
        Fault::Unreachable(cause)
    } else if error.is_builder() {
        Fault::Unsendable(cause)
    } else {
        Fault::Broken(format!("the connection was lost ({cause})"))
    }
}

/// Returns the innermost message, because the outer messages repeat the URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    // An error without a source has only the outer message, which repeats the URL.
    if std::ptr::addr_eq(cause, error) { "no reason given".to_owned() } else { cause.to_string() }
}

/// The base URL if the settings specify none.
pub(crate) const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The model used at `DEFAULT_BASE_URL` if the settings specify none.
pub(crate) const DEFAULT_MODEL: &str = "gpt-5-mini";

/// Sampling temperature sent by default, until a server rejects it.
pub(crate) const DEFAULT_TEMPERATURE: f32 = 0.3;

/// How a server is asked to answer in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutput {
    /// The first form that the server accepts: a strict schema, a JSON object, or instructions in words.
    Auto,
    /// Only a strict schema.
    JsonSchema,
    /// A JSON object of any structure. The schema is part of the prompt.
    JsonObject,
    /// Only instructions in words. The schema is part of the prompt.
    Plain,
}

/// The model to use, and how to call it. The debug form shows no secret.
#[derive(Clone)]
pub struct ModelSettings {
    /// Address of the API, usually ending in `/v1`. A query in it is sent with every request.
    pub base_url: String,
    /// The bearer token. Local servers need none.
    pub api_key: Option<SecretString>,
    /// The name by which the server identifies the model.
    pub model: String,
    /// Sampling temperature. If it is `None`, the server uses its default.
    pub temperature: Option<f32>,
    /// Maximum time for one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Maximum number of attempts after the first.
    pub max_retries: u32,
    /// Seed for the jitter of waits, where `None` means a random seed.
    pub jitter_seed: Option<u64>,
    /// How to ask for JSON.
    pub structured: StructuredOutput,
    /// Headers sent with every request. Their values are kept secret.
    pub headers: Vec<(String, SecretString)>,
    /// The protocol of the server or program.
    pub protocol: Protocol,
    /// Environment variable that contains the key, for use in error messages.
    pub key_name: Cow<'static, str>,
    /// The reason why this model was chosen, if the user did not name it.
    pub reason: Option<String>,
}

impl ModelSettings {
    /// Returns settings for `model` at `base_url`, without a key and with defaults for everything else.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            temperature: Some(DEFAULT_TEMPERATURE),
            timeout: Duration::from_mins(5),
            max_retries: 5,
            jitter_seed: None,
            structured: StructuredOutput::Auto,
            headers: Vec::new(),
            protocol: Protocol::OpenAi,
            key_name: Cow::Borrowed("OPENAI_API_KEY"),
            reason: None,
        }
    }
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header_names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ModelSettings")
            .field("base_url", &shown_url(&self.base_url))
            .field("has_key", &self.api_key.is_some())
            .field("model", &self.model)
            .field("temperature", &self.temperature)
            .field("timeout", &self.timeout)
            .field("max_retries", &self.max_retries)
            .field("jitter_seed", &self.jitter_seed)
            .field("structured", &self.structured)
            .field("headers", &header_names)
            .field("protocol", &self.protocol)
            .field("key_name", &self.key_name)
            .field("reason", &self.reason)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str) -> Result<Endpoint, LlmError> {
        let settings = ModelSettings { api_key: Some("sesame-street".into()), ..ModelSettings::new(base_url, "m") };
        Endpoint::new(&settings)
    }

    #[test]
    fn address_and_query_are_kept_apart_and_shown_without_credentials() {
        let endpoint = endpoint("http://me:hunter22@127.0.0.1:9/openai/v1/?api-version=2026-01#x").unwrap();
        assert_eq!(endpoint.url("/chat/completions"), "http://me:hunter22@127.0.0.1:9/openai/v1/chat/completions");
        assert_eq!(endpoint.query(), [("api-version", "2026-01")]);
        assert_eq!(format!("{endpoint:?}"), r#"Endpoint("http://127.0.0.1:9/openai/v1")"#);
        assert_eq!(endpoint.clean("hunter22 and\r\n sesame-street"), "[secret] and [secret]");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, shown) in [
            ("", "\"\""),
            ("localhost:80/v1", "\"localhost:80/v1\""),
            ("me:pw@host", "the base URL"),
            ("ftp://host/v1", "\"ftp://host/v1\""),
        ] {
            let error = endpoint(text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("{shown}: this is not an http address; set a base URL such as http://127.0.0.1:11434/v1")
            );
        }
    }

    #[test]
    fn a_key_with_a_line_break_is_refused_without_being_shown() {
        let settings = ModelSettings { api_key: Some("se\nsame".into()), ..ModelSettings::new("http://h/v1", "m") };
        let error = Endpoint::new(&settings).unwrap_err().to_string();
        assert_eq!(error, "http://h/v1: the key contains a line break or a control character; check OPENAI_API_KEY");
    }

    #[test]
    fn texts_are_cut_at_a_character() {
        let cut = endpoint("http://h/v1").unwrap().clean(&"é".repeat(400));
        assert_eq!(cut, format!("{}…", "é".repeat(300)));
    }

    #[test]
    fn loopback_is_known_by_name_and_number() {
        for (url, expected) in [
            ("http://localhost/v1", true),
            ("http://127.1.2.3/v1", true),
            ("http://[::1]:80/v1", true),
            ("http://h/v1", false),
        ] {
            assert_eq!(endpoint(url).unwrap().is_loopback(), expected, "{url}");
        }
    }
}

#[cfg(test)]
mod settings_tests {
    use super::*;

    #[test]
    fn debug_form_shows_no_secret() {
        let mut settings = ModelSettings::new("http://me:hunter22@127.0.0.1:1/v1", "m");
        settings.api_key = Some("hunter33".into());
        settings.headers = vec![("api-key".to_owned(), "hunter44".into())];
        let text = format!("{settings:?}");
        assert!(text.contains("http://127.0.0.1:1/v1") && text.contains("api-key"), "{text}");
        assert!(!text.contains("hunter"), "{text}");
    }
}
