//! What is remembered, told and kept: the table `[memory]`. `docs/reference/lifecycle.md` says what each setting governs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ConfigError, Layer, Setting, in_range};
use crate::memory::MemoryType;

/// When conversations are read without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionMode {
    /// Once they have ended.
    AfterConversation,
    /// While they are going on, too: after each answer.
    DuringConversation,
}

/// Declares one table of settings: as it is in force, as one layer sets it, and its defaults.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident, $partial:ident, $table:literal, {
        $($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: Setting<$kind>),+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: Setting::default($default)),+ }
            }
        }

        impl $name {
            fn apply(&mut self, partial: $partial, layer: &Layer) {
                $(self.$field.set(partial.$field, layer);)+
            }

            /// Returns each setting by its full name, with its value as JSON and its layer.
            fn each(&self) -> Vec<(&'static str, Value, &Layer)> {
                vec![$((
                    concat!($table, ".", stringify!($field)),
                    serde_json::to_value(&self.$field.value).unwrap_or_default(),
                    &self.$field.layer,
                )),+]
            }
        }

        #[doc = concat!("What one layer sets of the table `[", $table, "]`.")]
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $partial { $(#[doc = concat!("See [`", stringify!($name), "::", stringify!($field), "`].")] pub $field: Option<$kind>),+ }
    };
}

table!(
    /// Reading conversations without being asked: by hooks and by `watch`. A person who runs `run` is not held to it.
    ExtractionSettings, PartialExtraction, "memory.extraction", {
    /// Whether it is done at all.
    auto_extract: bool = true,
    /// When it is done.
    extraction_mode: ExtractionMode = ExtractionMode::AfterConversation,
    /// Fewest messages of a conversation that is read.
    min_messages_for_extraction: usize = 3,
});

table!(
    /// What maintenance gives up for want of room or worth.
    RetentionSettings, PartialRetention, "memory.retention", {
    /// Most active memories of one namespace; 0 for any number.
    max_memories_per_namespace: usize = 10_000,
    /// Days after which what matters too little is given up, unless it is used or confirmed; 0 for never.
    auto_delete_after_days: u32 = 0,
    /// Importance below which it is.
    auto_delete_min_importance: f64 = 0.3,
});

table!(
    /// What is put in front of a model.
    RetrievalSettings, PartialRetrieval, "memory.retrieval", {
    /// Most memories of one brief; 0 for as many as its sections hold, and ten of them where something was asked.
    max_memories_in_prompt: usize = 0,
    /// Least importance.
    min_importance_for_retrieval: f64 = 0.3,
    /// Their types.
    included_types: Vec<MemoryType> = MemoryType::ALL.to_vec(),
});

table!(
    /// The sizes of a brief.
    BriefSettings, PartialBrief, "memory.brief", {
    /// Most tokens.
    max_tokens: usize = 2_000,
    /// Most characters, up to 10000.
    max_characters: usize = 10_000,
    /// Most preferences, conventions and pinned memories.
    standing: usize = 10,
    /// Most long-term memories.
    long_term: usize = 20,
    /// Most short-term memories.
    short_term: usize = 10,
});

table!(
    /// What time does to memories.
    LifecycleSettings, PartialLifecycle, "memory.lifecycle", {
    /// Days after which an unused fact is half as sure; 0 for never.
    semantic_half_life_days: f64 = 180.0,
    /// The same for what happened.
    episodic_half_life_days: f64 = 30.0,
    /// The same for how to act.
    procedural_half_life_days: f64 = 365.0,
    /// Confidence below which a memory is no longer recalled; 0 for never.
    min_confidence: f64 = 0.05,
    /// Days after which what was superseded is given up; 0 for never.
    superseded_days: u32 = 180,
    /// Days after which of two memories with the same words the one worth less gives way; 0 for never.
    duplicate_days: u32 = 7,
    /// Days after which short-term memories that are over are given up; 0 for never.
    expired_days: u32 = 30,
    /// Days after which what was forgotten or given up is gone for good.
    purge_days: u32 = 30,
});

/// The table `[memory]` in force.
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySettings {
    /// Whether anything is told or read without being asked; what a person does by hand works all the same.
    pub enabled: Setting<bool>,
    /// See [`ExtractionSettings`].
    pub extraction: ExtractionSettings,
    /// See [`RetentionSettings`].
    pub retention: RetentionSettings,
    /// See [`RetrievalSettings`].
    pub retrieval: RetrievalSettings,
    /// See [`BriefSettings`].
    pub brief: BriefSettings,
    /// See [`LifecycleSettings`].
    pub lifecycle: LifecycleSettings,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            enabled: Setting::default(true),
            extraction: ExtractionSettings::default(),
            retention: RetentionSettings::default(),
            retrieval: RetrievalSettings::default(),
            brief: BriefSettings::default(),
            lifecycle: LifecycleSettings::default(),
        }
    }
}

/// What one layer sets of the table `[memory]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartialMemory {
    /// See [`MemorySettings::enabled`].
    pub enabled: Option<bool>,
    /// See [`MemorySettings::extraction`].
    pub extraction: Option<PartialExtraction>,
    /// See [`MemorySettings::retention`].
    pub retention: Option<PartialRetention>,
    /// See [`MemorySettings::retrieval`].
    pub retrieval: Option<PartialRetrieval>,
    /// See [`MemorySettings::brief`].
    pub brief: Option<PartialBrief>,
    /// See [`MemorySettings::lifecycle`].
    pub lifecycle: Option<PartialLifecycle>,
}

impl PartialMemory {
    /// Returns what is set that decides about memories of every project.
    pub(super) fn for_all_projects(&self) -> Option<&'static str> {
        let set = [("memory.retention", self.retention.is_some()), ("memory.lifecycle", self.lifecycle.is_some())];
        set.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }
}

/// What may bring a conversation to be read without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// It ended, is about to be compacted, or has long been idle.
    Ended,
    /// An answer in it ended.
    Answered,
}

/// Whether a conversation is read without being asked, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// Memory is switched off.
    #[error("memory is switched off; set memory.enabled")]
    Disabled,
    /// Reading without being asked is switched off.
    #[error("nothing is extracted unasked; set memory.extraction.auto_extract")]
    NotAutomatic,
    /// It goes on, and is read once it has ended.
    #[error("it is read once it has ended; see memory.extraction.extraction_mode")]
    GoesOn,
    /// There is too little in it.
    #[error("it is shorter than memory.extraction.min_messages_for_extraction")]
    TooShort,
}

impl MemorySettings {
    /// Says whether a conversation of so many messages is read on this occasion without anybody asking for it.
    ///
    /// # Errors
    /// Why it is not.
    pub fn reads(&self, occasion: Occasion, messages: usize) -> Result<(), Unread> {
        let extraction = &self.extraction;
        match (occasion, extraction.extraction_mode.value) {
            _ if !self.enabled.value => Err(Unread::Disabled),
            _ if !extraction.auto_extract.value => Err(Unread::NotAutomatic),
            (Occasion::Answered, ExtractionMode::AfterConversation) => Err(Unread::GoesOn),
            _ if messages < extraction.min_messages_for_extraction.value => Err(Unread::TooShort),
            (Occasion::Ended, _) | (Occasion::Answered, ExtractionMode::DuringConversation) => Ok(()),
        }
    }

    /// Returns each setting by its full name, with its value as JSON and the layer that it comes from.
    #[must_use]
    pub fn each(&self) -> Vec<(&'static str, Value, &Layer)> {
        let mut all = vec![("memory.enabled", self.enabled.value.into(), &self.enabled.layer)];
        all.extend(self.extraction.each());
        all.extend(self.retention.each());
        all.extend(self.retrieval.each());
        all.extend(self.brief.each());
        all.extend(self.lifecycle.each());
        all
    }

    /// Lays one layer over those before it. A project's file comes with a repository that somebody else wrote, so it can
    /// switch memory off and not on.
    pub(super) fn apply(&mut self, mut partial: PartialMemory, layer: &Layer) {
        if matches!(layer, Layer::Project(_)) {
            partial.enabled = partial.enabled.filter(|on| !on);
            if let Some(extraction) = &mut partial.extraction {
                extraction.auto_extract = extraction.auto_extract.filter(|on| !on);
            }
        }
        self.enabled.set(partial.enabled, layer);
        self.extraction.apply(partial.extraction.unwrap_or_default(), layer);
        self.retention.apply(partial.retention.unwrap_or_default(), layer);
        self.retrieval.apply(partial.retrieval.unwrap_or_default(), layer);
        self.brief.apply(partial.brief.unwrap_or_default(), layer);
        self.lifecycle.apply(partial.lifecycle.unwrap_or_default(), layer);
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let shares = [
            ("memory.retention.auto_delete_min_importance", &self.retention.auto_delete_min_importance),
            ("memory.retrieval.min_importance_for_retrieval", &self.retrieval.min_importance_for_retrieval),
            ("memory.lifecycle.min_confidence", &self.lifecycle.min_confidence),
        ];
        for (key, share) in shares {
            in_range(key, share, (0.0..=1.0).contains(&share.value), "between 0 and 1")?;
        }
        let half_lives = [
            ("memory.lifecycle.semantic_half_life_days", &self.lifecycle.semantic_half_life_days),
            ("memory.lifecycle.episodic_half_life_days", &self.lifecycle.episodic_half_life_days),
            ("memory.lifecycle.procedural_half_life_days", &self.lifecycle.procedural_half_life_days),
        ];
        for (key, days) in half_lives {
            in_range(key, days, days.value.is_finite() && days.value >= 0.0, "a number of days, or 0 for never")?;
        }
        let characters = &self.brief.max_characters;
        in_range("memory.brief.max_characters", characters, characters.value <= 10_000, "at most 10000")?;
        let types = &self.retrieval.included_types;
        let spelled = Setting { value: format!("{} types", types.value.len()), layer: types.layer.clone() };
        in_range("memory.retrieval.included_types", &spelled, !types.value.is_empty(), "a list of at least one type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            [retrieval]
            max_memories_in_prompt = 9
            min_importance_for_retrieval = 0.9
            included_types = ["semantic"]
            [brief]
            max_tokens = 9
            max_characters = 9
            standing = 9
            long_term = 9
            short_term = 9
            [lifecycle]
            semantic_half_life_days = 9
            episodic_half_life_days = 9
            procedural_half_life_days = 9
            min_confidence = 0.9
            superseded_days = 9
            duplicate_days = 9
            expired_days = 9
            purge_days = 9
        "#;
        let (set, defaults) = (set(text, &Layer::Flag), MemorySettings::default());
        assert_eq!(set.each().len(), 23);
        for ((name, value, layer), (_, default, of_default)) in set.each().into_iter().zip(defaults.each()) {
            assert_ne!(value, default, "{name}");
            assert_eq!((layer, of_default), (&Layer::Flag, &Layer::Default), "{name}");
        }
    }

    #[test]
    fn unknown_settings_are_errors() {
        for text in
            ["storage_adapter = \"sqlite\"", "[retention]\nmaxMemoriesPerNamespace = 5", "[lifecycle]\npurge_days = -1"]
        {
            assert!(toml::from_str::<PartialMemory>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_project_switches_memory_off_and_not_on() {
        let project = Layer::Project("afterthought.toml".into());
        let mut settings = set("enabled = false\n[extraction]\nauto_extract = false", &Layer::Flag);
        settings.apply(toml::from_str("enabled = true\n[extraction]\nauto_extract = true").unwrap(), &project);
        assert_eq!((settings.enabled.value, settings.extraction.auto_extract.value), (false, false));
        assert!(!set("enabled = false", &project).enabled.value);
    }

    #[test]
    fn conversations_are_read_unasked_when_the_settings_say_so() {
        let reads = |text: &str, occasion, messages| set(text, &Layer::Flag).reads(occasion, messages);
        let during = "[extraction]\nextraction_mode = \"during_conversation\"";
        for (text, occasion, messages, expected) in [
            ("", Occasion::Ended, 3, Ok(())),
            ("", Occasion::Ended, 2, Err(Unread::TooShort)),
            ("[extraction]\nmin_messages_for_extraction = 1", Occasion::Ended, 2, Ok(())),
            ("", Occasion::Answered, 3, Err(Unread::GoesOn)),
            (during, Occasion::Answered, 3, Ok(())),
            (during, Occasion::Ended, 3, Ok(())),
            ("[extraction]\nauto_extract = false", Occasion::Ended, 3, Err(Unread::NotAutomatic)),
            ("enabled = false", Occasion::Ended, 3, Err(Unread::Disabled)),
        ] {
            assert_eq!(reads(text, occasion, messages), expected, "{text} {occasion:?}");
        }
    }
}
