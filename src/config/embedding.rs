//! Settings of search by meaning.

use serde::{Deserialize, Serialize};

/// What turns texts into vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingProvider {
    /// Nothing: search is by words.
    #[default]
    None,
    /// A server with `POST /embeddings` as OpenAI's, be it Ollama, vLLM, llama.cpp or another.
    OpenAi,
}

/// How vectors are made, or what one layer says of it; nothing is by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// What makes them; `None`: what the other settings speak of.
    pub provider: Option<EmbeddingProvider>,
    /// Name of the model on the server.
    pub model: Option<String>,
    /// Base URL of the server, up to and including `/v1`; `None`: `OpenAI`'s.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key; `None`: that of the chat model's.
    pub api_key_env: Option<String>,
    /// Numbers of a vector to ask the server for; `None`: as many as the model has.
    pub dimensions: Option<usize>,
    /// What is put before a memory; `None`: what the model is known to want.
    pub document_prefix: Option<String>,
    /// What is put before a query; `None`: what the model is known to want.
    pub query_prefix: Option<String>,
}

impl EmbeddingSettings {
    /// Returns the provider: the one that is set, else a server where a model or an address is named.
    #[must_use]
    pub fn provider(&self) -> EmbeddingProvider {
        let names_server = self.model.is_some() || self.base_url.is_some();
        let named = if names_server { EmbeddingProvider::OpenAi } else { EmbeddingProvider::None };
        self.provider.unwrap_or(named)
    }
}

impl EmbeddingSettings {
    /// Returns `settings` with what these, of a stronger layer, set in place of their own.
    pub(super) fn over(self, settings: Self) -> Self {
        Self {
            provider: self.provider.or(settings.provider),
            model: self.model.or(settings.model),
            base_url: self.base_url.or(settings.base_url),
            api_key_env: self.api_key_env.or(settings.api_key_env),
            dimensions: self.dimensions.or(settings.dimensions),
            document_prefix: self.document_prefix.or(settings.document_prefix),
            query_prefix: self.query_prefix.or(settings.query_prefix),
        }
    }

    /// Returns the settings that an environment variable stands for.
    pub(super) fn from_environment(lookup: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Self)> {
        type Setter = fn(String) -> EmbeddingSettings;
        let variables: [(&'static str, Setter); 2] = [
            ("AFTERTHOUGHT_EMBEDDING_MODEL", |value| Self { model: Some(value), ..Self::default() }),
            ("AFTERTHOUGHT_EMBEDDING_BASE_URL", |value| Self { base_url: Some(value), ..Self::default() }),
        ];
        let set = variables.into_iter().filter_map(|(name, setter)| {
            let value = lookup(name).filter(|value| !value.trim().is_empty())?;
            Some((name, setter(value)))
        });
        set.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_used_unless_it_is_switched_off() {
        let rows = [
            ("", EmbeddingProvider::None),
            ("model = 'n'", EmbeddingProvider::OpenAi),
            ("base_url = 'http://127.0.0.1:1/v1'", EmbeddingProvider::OpenAi),
            ("provider = 'openai'", EmbeddingProvider::OpenAi),
            ("provider = 'none'\nmodel = 'm'", EmbeddingProvider::None),
        ];
        for (text, expected) in rows {
            let partial: EmbeddingSettings = toml::from_str(text).unwrap();
            assert_eq!(partial.over(EmbeddingSettings::default()).provider(), expected, "{text}");
        }
        assert!(toml::from_str::<EmbeddingSettings>("provider = 'onnx'").is_err());
        assert!(toml::from_str::<EmbeddingSettings>("api_key = 'k'").is_err());
    }

    #[test]
    fn a_stronger_layer_sets_its_own_values_only() {
        let weak = EmbeddingSettings { model: Some("m".into()), dimensions: Some(8), ..EmbeddingSettings::default() };
        let strong = EmbeddingSettings { model: Some("n".into()), ..EmbeddingSettings::default() };
        let settings = strong.over(weak.over(EmbeddingSettings::default()));
        let expected =
            EmbeddingSettings { model: Some("n".into()), dimensions: Some(8), ..EmbeddingSettings::default() };
        assert_eq!(settings, expected);
    }
}
