//! The model providers that can be named in the settings: their addresses and protocols, and the choice of a provider
//! when the settings do not specify a model.

use std::borrow::Cow;
use std::sync::LazyLock;

use secrecy::SecretString;
use serde::Deserialize;

use super::LlmError;
use super::endpoint::{ModelSettings, shown_url};
use super::protocol::Protocol;
use crate::process::on_path;

/// A provider that `PROVIDER/MODEL` names.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Provider {
    /// The name of the provider in `PROVIDER/MODEL`.
    name: String,
    /// The variable that contains the provider's key; empty for a program with its own login.
    key: String,
    /// The address of the provider; empty for a program.
    base_url: String,
    /// The variable that the provider's own tools read to replace its address.
    base_url_variable: String,
    /// The model if only the provider is specified.
    model: String,
    /// Prefixes of the names of the provider's models.
    models: Vec<String>,
    protocol: Protocol,
    /// Whether the provider is used only if it is named, even if its key is set.
    must_be_named: bool,
}

/// The providers, in the order in which their keys are looked for.
static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        providers: Vec<Provider>,
    }
    let table: Table = toml::from_str(include_str!("providers.toml")).expect("the table is a constant");
    table.providers
});

/// The name of the provider whose models are command lines.
const COMMAND: &str = "command";

/// Returns the variable that contains the key for `model`.
pub(crate) fn key_variable(model: &str) -> &'static str {
    let prefix = model.split('/').next().unwrap_or_default();
    &PROVIDERS.iter().find(|provider| provider.name == prefix).unwrap_or(&PROVIDERS[0]).key
}

/// Returns the providers whose programs are installed and may have a login. Such a provider is used only if the user
/// specifies it.
pub(crate) fn logins() -> Vec<&'static str> {
    let is_installed = |provider: &&Provider| provider.protocol.program().is_some_and(|name| on_path(name).is_some());
    PROVIDERS.iter().filter(is_installed).map(|provider| provider.name.as_str()).collect()
}

impl ModelSettings {
    /// Returns the settings in the environment, or `None` if it contains neither a key nor a base URL nor a program.
    ///
    /// `lookup` returns the values of `OPENAI_BASE_URL`, `AFTERTHOUGHT_MODEL`, `OPENAI_MODEL` and the key of each
    /// provider. Empty values count as unset. If there is a base URL, its server is used, with `OPENAI_API_KEY` if this
    /// is set. Otherwise a model such as `anthropic/claude-haiku-4-5` specifies the provider. If the model does not
    /// specify a provider, the first provider with a key is used, preferably a provider whose models have similar
    /// names.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if a server is specified without a model, or a provider whose key is missing.
    pub(crate) fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, LlmError> {
        let value = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let named = value("AFTERTHOUGHT_MODEL").or_else(|| value("OPENAI_MODEL"));
        if let Some(url) = value("OPENAI_BASE_URL") {
            return at_server(url, named, value("OPENAI_API_KEY")).map(Some);
        }
        if let Some((prefix, rest)) = named.as_deref().map(|named| named.split_once('/').unwrap_or((named, ""))) {
            if prefix == COMMAND {
                return by_command(rest).map(Some);
            }
            if let Some(provider) = PROVIDERS.iter().find(|provider| provider.name == prefix) {
                return provider.settings(Some(rest).filter(|rest| !rest.is_empty()), &value).map(Some);
            }
        }
        let has_key = |provider: &&Provider| !provider.must_be_named && value(&provider.key).is_some();
        let has_such_models = |provider: &&Provider| {
            named.as_deref().is_some_and(|named| provider.models.iter().any(|start| named.starts_with(start.as_str())))
        };
        let with_keys = || PROVIDERS.iter().filter(has_key);
        let Some(chosen) = with_keys().find(has_such_models).or_else(|| with_keys().next()) else { return Ok(None) };
        let mut settings = chosen.settings(named.as_deref(), &value)?;
        let others: Vec<_> =
            with_keys().filter(|other| other.key != chosen.key).map(|other| other.name.as_str()).collect();
        settings.reason = (chosen.name != "openai" || !others.is_empty()).then(|| {
            let unused = if others.is_empty() {
                String::new()
            } else {
                format!(" (keys for {} are also set; choose with --model PROVIDER/MODEL)", others.join(", "))
            };
            format!("{} is set, so the model is {} of {}{unused}", chosen.key, settings.model, chosen.name)
        });
        Ok(Some(settings))
    }
}

impl Provider {
    /// Returns the settings of `model`, or of the default model.
    fn settings(
        &'static self,
        model: Option<&str>,
        value: &impl Fn(&str) -> Option<String>,
    ) -> Result<ModelSettings, LlmError> {
        if self.base_url.is_empty() {
            let model = model.unwrap_or(&self.model);
            // The provider is part of the name, since the same word may refer to a different model elsewhere.
            let name = if model.is_empty() { self.name.clone() } else { format!("{}/{model}", self.name) };
            return Ok(ModelSettings { protocol: self.protocol.clone(), ..ModelSettings::new("", name) });
        }
        let Some(key) = value(&self.key) else {
            let remedy = "set it, or name another model with --model";
            return Err(LlmError::permanent(&self.name, format!("{} is not set", self.key), remedy));
        };
        let replaced = value(&self.base_url_variable).map(|url| {
            // Anthropic's own tools add the version to this address.
            let url = url.trim_end_matches('/');
            if url.ends_with("/v1") { url.to_owned() } else { format!("{url}/v1") }
        });
        let base_url = replaced.unwrap_or_else(|| self.base_url.clone());
        Ok(ModelSettings {
            protocol: self.protocol.clone(),
            api_key: Some(SecretString::from(key)),
            key_name: Cow::Borrowed(&self.key),
            ..ModelSettings::new(base_url, model.unwrap_or(&self.model))
        })
    }
}

fn at_server(url: String, named: Option<String>, key: Option<String>) -> Result<ModelSettings, LlmError> {
    let default = || url.contains("//api.openai.com").then(|| super::DEFAULT_MODEL.to_owned());
    let Some(model) = named.or_else(default) else {
        return Err(LlmError::permanent(shown_url(&url), "no model is set", "set AFTERTHOUGHT_MODEL"));
    };
    Ok(ModelSettings { api_key: key.map(SecretString::from), ..ModelSettings::new(url, model) })
}

fn by_command(command: &str) -> Result<ModelSettings, LlmError> {
    if command.trim().is_empty() {
        let remedy = "write it after the slash, such as \"command/llm -m gpt-5-mini\"";
        return Err(LlmError::permanent(COMMAND, "no command is given", remedy));
    }
    let protocol = Protocol::Command(command.to_owned());
    Ok(ModelSettings { protocol, ..ModelSettings::new("", format!("{COMMAND}/{command}")) })
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
        const CLAUDE: (&str, &str) = ("ANTHROPIC_API_KEY", "k2");
        const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "k1");
        let some = |url: &str, model: &str, key: Option<&str>| {
            Some((url.to_owned(), model.to_owned(), key.map(str::to_owned)))
        };
        let openai = super::super::DEFAULT_BASE_URL;
        let anthropic = "https://api.anthropic.com/v1";
        let model = |name| ("AFTERTHOUGHT_MODEL", name);
        let rows = [
            (vec![], None),
            (vec![("OPENAI_API_KEY", " "), ("OPENAI_MODEL", "m")], None),
            (vec![OPENAI], some(openai, super::super::DEFAULT_MODEL, Some("k1"))),
            (vec![LOCAL, ("OPENAI_MODEL", "m1")], some(LOCAL.1, "m1", None)),
            (vec![LOCAL, ("OPENAI_MODEL", "m1"), model("m2")], some(LOCAL.1, "m2", None)),
            (vec![LOCAL, OPENAI, model("anthropic/x")], some(LOCAL.1, "anthropic/x", Some("k1"))),
            (vec![CLAUDE], some(anthropic, "claude-haiku-4-5", Some("k2"))),
            (vec![CLAUDE, OPENAI], some(openai, super::super::DEFAULT_MODEL, Some("k1"))),
            (vec![CLAUDE, OPENAI, model("claude-opus-5")], some(anthropic, "claude-opus-5", Some("k2"))),
            (vec![CLAUDE, OPENAI, model("anthropic")], some(anthropic, "claude-haiku-4-5", Some("k2"))),
            (vec![OPENAI, model("qwen3:8b")], some(openai, "qwen3:8b", Some("k1"))),
            (
                vec![CLAUDE, ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")],
                some("http://127.0.0.1:1/v1", "claude-haiku-4-5", Some("k2")),
            ),
            (
                vec![("OPENROUTER_API_KEY", "k3"), model("openrouter/z-ai/glm-5")],
                some("https://openrouter.ai/api/v1", "z-ai/glm-5", Some("k3")),
            ),
            (vec![("GITHUB_TOKEN", "k4")], None),
            (vec![model("claude-code")], some("", "claude-code/haiku", None)),
            (vec![model("codex")], some("", "codex", None)),
            (vec![model("codex/gpt-5")], some("", "codex/gpt-5", None)),
            (vec![model("command/llm -m a/b")], some("", "command/llm -m a/b", None)),
        ];
        for (pairs, expected) in rows {
            assert_eq!(summary(&pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_choice_between_keys_is_explained() {
        let reason = |pairs: &[(&str, &str)]| read(pairs).unwrap().unwrap().reason;
        assert_eq!(reason(&[("OPENAI_API_KEY", "k")]), None);
        assert_eq!(
            reason(&[("GEMINI_API_KEY", "k")]).as_deref(),
            Some("GEMINI_API_KEY is set, so the model is gemini-2.5-flash of gemini")
        );
        let both = reason(&[("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k"), ("MISTRAL_API_KEY", "k")]).unwrap();
        assert!(both.contains("keys for mistral, groq are also set"), "{both}");
    }

    #[test]
    fn what_cannot_be_used_is_an_error_that_names_the_remedy_and_hides_passwords() {
        for (pairs, expected) in [
            (
                ("OPENAI_BASE_URL", "http://me:hunter22@127.0.0.1:1/v1"),
                "http://127.0.0.1:1/v1: no model is set; set AFTERTHOUGHT_MODEL",
            ),
            (
                ("AFTERTHOUGHT_MODEL", "anthropic/claude-opus-5"),
                "anthropic: ANTHROPIC_API_KEY is not set; set it, or name another model with --model",
            ),
            (
                ("AFTERTHOUGHT_MODEL", "command/"),
                "command: no command is given; write it after the slash, such as \"command/llm -m gpt-5-mini\"",
            ),
        ] {
            assert_eq!(read(&[pairs]).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn names_are_unique_and_every_server_has_a_key_and_a_model() {
        let names: std::collections::BTreeSet<_> = PROVIDERS.iter().map(|provider| provider.name.as_str()).collect();
        assert!(names.len() == PROVIDERS.len() && !names.contains(COMMAND));
        for provider in PROVIDERS.iter().filter(|provider| !provider.base_url.is_empty()) {
            assert!(provider.base_url.starts_with("https://") && !provider.key.is_empty(), "{}", provider.name);
            assert!(!provider.model.is_empty(), "{}", provider.name);
        }
    }
}
