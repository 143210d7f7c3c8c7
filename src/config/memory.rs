//! The table `[memory]`: automatic extraction, retention, retrieval and the brief.

use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::setting::settings;
use crate::memory::MemoryType;

/// When hooks extract a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionMode {
    /// After the conversation has ended.
    AfterConversation,
    /// After each answer, and after the end.
    DuringConversation,
}

settings!(
    /// The table `[memory.extraction]`: extraction by hooks and by `log watch`. The command `run` ignores it.
    ExtractionSettings, PartialExtraction, "memory.extraction.", {
    /// Whether hooks and `log watch` extract sessions
    auto_extract: bool = true;
    /// When to extract: `after_conversation`, or `during_conversation` to also extract after each answer
    extraction_mode: ExtractionMode = ExtractionMode::AfterConversation;
    /// Minimum number of messages that a session must have to be extracted
    min_messages_for_extraction: usize = 3;
});

settings!(
    /// The table `[memory.retention]`: the memories that maintenance retires because of their number, age or
    /// importance.
    RetentionSettings, PartialRetention, "memory.retention.", {
    /// Maximum number of active memories in a namespace; 0 for no limit
    max_memories_per_namespace: usize = 10_000;
    /// Days after which unimportant memories are retired; 0 for never
    auto_delete_after_days: u32 = 0;
    /// Importance below which a memory counts as unimportant for `auto_delete_after_days`
    auto_delete_min_importance: f64 = 0.3;
    /// Days after which superseded memories are retired; 0 for never
    superseded_days: u32 = 180;
    /// Days after which forgotten and retired memories are purged
    purge_days: u32 = 30;
});

settings!(
    /// The table `[memory.retrieval]`: the memories that a model is shown.
    RetrievalSettings, PartialRetrieval, "memory.retrieval.", {
    /// Maximum number of tokens in a brief
    max_tokens: usize = 2_000;
    /// Maximum number of memories in a brief; with 0, the limits of the sections apply, or 10 if there is a query
    max_memories_in_prompt: usize = 0;
    /// Minimum importance of a memory in a brief
    min_importance_for_retrieval: f64 = 0.3;
    /// Types of memories in a brief
    included_types: Vec<MemoryType> = MemoryType::ALL.to_vec();
});

settings!(
    /// The table `[memory]`.
    MemorySettings, PartialMemory, "memory.", {
    /// Whether hooks read logs and add memories to prompts; searching and storing by command or tool always work
    enabled: bool = true;
} {
    /// Extraction by hooks and by `log watch`.
    extraction: ExtractionSettings / PartialExtraction,
    /// What maintenance retires.
    retention: RetentionSettings / PartialRetention,
    /// The memories that a model is shown.
    retrieval: RetrievalSettings / PartialRetrieval,
});

impl MemorySettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let shares = [
            ("memory.retention.auto_delete_min_importance", &self.retention.auto_delete_min_importance),
            ("memory.retrieval.min_importance_for_retrieval", &self.retrieval.min_importance_for_retrieval),
        ];
        for (key, share) in shares {
            share.must(key, (0.0..=1.0).contains(&share.value), "between 0 and 1")?;
        }
        let types = &self.retrieval.included_types;
        types.must("memory.retrieval.included_types", !types.value.is_empty(), "a list of at least one type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layer;

    fn set(text: &str, layer: &Layer) -> MemorySettings {
        let mut settings = MemorySettings::default();
        settings.apply(toml::from_str(text).unwrap(), layer);
        settings
    }

    #[test]
    fn every_setting_is_set_by_its_name_and_knows_its_layer() {
        let text = r#"
            enabled = false
            [extraction]
            auto_extract = false
            extraction_mode = "during_conversation"
            min_messages_for_extraction = 9
            [retention]
            max_memories_per_namespace = 9
            auto_delete_after_days = 9
            auto_delete_min_importance = 0.9
            superseded_days = 9
            purge_days = 9
            [retrieval]
            max_tokens = 9
            max_memories_in_prompt = 9
            min_importance_for_retrieval = 0.9
            included_types = ["semantic"]
        "#;
        let (set, defaults) = (set(text, &Layer::Flag), MemorySettings::default());
        assert_eq!(set.each().len(), 13);
        for ((name, value, layer), (_, default, of_default)) in set.each().into_iter().zip(defaults.each()) {
            assert_ne!(value, default, "{name}");
            assert_eq!((layer, of_default), (&Layer::Flag, &Layer::Default), "{name}");
        }
    }

    #[test]
    fn unknown_settings_are_errors() {
        for text in
            ["storage_adapter = \"sqlite\"", "[retention]\nmaxMemoriesPerNamespace = 5", "[retention]\npurge_days = -1"]
        {
            assert!(toml::from_str::<PartialMemory>(text).is_err(), "{text}");
        }
    }
}
