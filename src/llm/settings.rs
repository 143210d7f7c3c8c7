//! Which model to ask, and how.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;

use super::LlmError;
use super::endpoint::shown_url;

/// Where requests go when no base URL is set.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The model asked at [`DEFAULT_BASE_URL`] when none is named.
pub const DEFAULT_MODEL: &str = "gpt-5-mini";

/// Sampling temperature sent by default, until a server rejects it.
pub const DEFAULT_TEMPERATURE: f32 = 0.3;

/// How a server is asked to answer in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutput {
    /// By a strict schema, then by a JSON object, then by words alone: the first that the server takes.
    Auto,
    /// By a strict schema only.
    JsonSchema,
    /// As a JSON object of any shape; the schema is part of the prompt.
    JsonObject,
    /// By words alone; the schema is part of the prompt.
    Plain,
}

/// Which model to ask, and how. Its debug form shows no secret.
#[derive(Clone)]
pub struct ModelSettings {
    /// Address of the API, usually ending in `/v1`. A query in it is sent with every request.
    pub base_url: String,
    /// Sent as bearer token; local servers need none.
    pub api_key: Option<SecretString>,
    /// The model's name, as the server knows it.
    pub model: String,
    /// Sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f32>,
    /// Longest time for one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Attempts after the first.
    pub max_retries: u32,
    /// Seed for the jitter of waits; `None` takes a random one.
    pub jitter_seed: Option<u64>,
    /// How to ask for JSON.
    pub structured: StructuredOutput,
    /// Headers sent with every request; the values are kept secret.
    pub headers: Vec<(String, SecretString)>,
}

impl ModelSettings {
    /// Returns settings for `model` at `base_url` without a key, everything else at its default.
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
        }
    }

    /// Returns the settings that the environment names, or `None` if it names neither key nor base URL.
    ///
    /// Read through `lookup` are `OPENAI_API_KEY`, `OPENAI_BASE_URL`, and `AFTERTHOUGHT_MODEL` before `OPENAI_MODEL`.
    /// Empty values count as unset. A base URL without a key is fine.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if another server than OpenAI's is named but no model.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, LlmError> {
        let value = |name| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let (key, base_url) = (value("OPENAI_API_KEY"), value("OPENAI_BASE_URL"));
        if key.is_none() && base_url.is_none() {
            return Ok(None);
        }
        let named = value("AFTERTHOUGHT_MODEL").or_else(|| value("OPENAI_MODEL"));
        let model = match (named, &base_url) {
            (Some(model), _) => model,
            (None, None) => DEFAULT_MODEL.to_owned(),
            (None, Some(url)) if url.contains("//api.openai.com") => DEFAULT_MODEL.to_owned(),
            (None, Some(url)) => {
                return Err(LlmError::Permanent {
                    endpoint: shown_url(url),
                    reason: "no model is named".to_owned(),
                    remedy: "set AFTERTHOUGHT_MODEL",
                });
            }
        };
        let base_url = base_url.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
        Ok(Some(Self { api_key: key.map(SecretString::from), ..Self::new(base_url, model) }))
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
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<ModelSettings>, LlmError> {
        ModelSettings::from_env(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    /// Returns base URL, model and key.
    fn summary(pairs: &[(&str, &str)]) -> Option<(String, String, Option<String>)> {
        read(pairs).unwrap().map(|settings| {
            (settings.base_url, settings.model, settings.api_key.map(|key| key.expose_secret().to_owned()))
        })
    }

    #[test]
    fn environment_names_key_address_and_model() {
        const LOCAL: (&str, &str) = ("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1");
        let some = |url: &str, model: &str, key: Option<&str>| {
            Some((url.to_owned(), model.to_owned(), key.map(str::to_owned)))
        };
        let rows: Vec<(&[(&str, &str)], _)> = vec![
            (&[], None),
            (&[("OPENAI_API_KEY", " "), ("OPENAI_MODEL", "m")], None),
            (&[("OPENAI_API_KEY", "k1")], some(DEFAULT_BASE_URL, DEFAULT_MODEL, Some("k1"))),
            (&[LOCAL, ("OPENAI_MODEL", "m1")], some(LOCAL.1, "m1", None)),
            (&[LOCAL, ("OPENAI_MODEL", "m1"), ("AFTERTHOUGHT_MODEL", "m2")], some(LOCAL.1, "m2", None)),
        ];
        for (pairs, expected) in rows {
            assert_eq!(summary(pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn another_server_without_a_model_is_an_error_that_hides_its_password() {
        let error = read(&[("OPENAI_BASE_URL", "http://me:hunter22@127.0.0.1:1/v1")]).unwrap_err();
        assert_eq!(error.to_string(), "http://127.0.0.1:1/v1: no model is named; set AFTERTHOUGHT_MODEL");
    }

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
