//! Finding an Ollama that runs on this machine.

use std::time::Duration;

use serde::Deserialize;

use super::LlmError;
use super::endpoint::{Endpoint, http_client};
use super::settings::ModelSettings;

/// Where Ollama listens unless told otherwise.
const DEFAULT_HOST: &str = "127.0.0.1:11434";
/// Longest wait for its answer; on one machine it comes at once or not at all.
const PATIENCE: Duration = Duration::from_millis(500);

/// Models that Ollama has, as `GET /api/tags` lists them: the last changed first.
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
    /// Whether it turns text into vectors only.
    fn only_embeds(&self) -> bool {
        let name = self.name.to_lowercase();
        self.details.family.contains("bert") || name.contains("embed") || name.contains("minilm")
    }
}

/// Returns how to ask an Ollama on this machine, or `None` if none answers or it has no model that can chat.
///
/// `host` is the value of `OLLAMA_HOST`, e.g. `127.0.0.1:11434`; one that names another machine is not asked, since
/// conversations leave this machine only where a person says so. `named` is the model to ask, else the one that was
/// changed last is taken.
///
/// # Errors
/// [`LlmError::Permanent`] if `host` is no address.
pub async fn find_ollama(host: Option<&str>, named: Option<&str>) -> Result<Option<ModelSettings>, LlmError> {
    let settings = ModelSettings::new(format!("{}/v1", base(host.unwrap_or(DEFAULT_HOST))), "");
    let endpoint = Endpoint::new(&settings)?;
    if !endpoint.is_loopback() {
        return Ok(None);
    }
    let http = http_client(&endpoint)?;
    let url = format!("{}/api/tags", settings.base_url.trim_end_matches("/v1"));
    let answer = http.get(url).timeout(PATIENCE).send().await;
    let Ok(response) = answer.and_then(reqwest::Response::error_for_status) else { return Ok(None) };
    let Ok(tags) = response.json::<Tags>().await else { return Ok(None) };
    Ok(chosen(&tags, named).map(|model| ModelSettings { model, ..settings }))
}

/// Returns an address with a scheme and a port, of what `OLLAMA_HOST` may say.
fn base(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    // What a server listens on everywhere is reached here.
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("{scheme}://{rest}") } else { format!("{scheme}://{rest}:11434") }
}

fn chosen(tags: &Tags, named: Option<&str>) -> Option<String> {
    let is = |tag: &&Tag, name: &str| tag.name == name || tag.name.strip_suffix(":latest") == Some(name);
    let tag = match named {
        Some(name) => tags.models.iter().find(|tag| is(tag, name)),
        None => tags.models.iter().find(|tag| !tag.only_embeds()),
    };
    tag.map(|tag| tag.name.clone())
}

#[cfg(test)]
mod tests {
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
