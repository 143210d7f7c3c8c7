//! Limits on a project's file, which can make settings stricter but not less strict.

use super::trust::ProjectFile;
use super::{Config, ConfigError, ExtractorChoice, Partial};
use std::path::Path;

/// Settings and tables that a project's file may set. A repository that somebody else wrote must not determine where
/// logs are sent or stored, what this costs, or what is deleted from other projects.
const FOR_PROJECTS: [&str; 9] = [
    "project",
    "extractor",
    "jobs",
    "categories",
    "instructions",
    "guard",
    "memory.enabled",
    "memory.extraction",
    "memory.retrieval",
];

/// Rejects a project's file with a setting that is only allowed in the user's own file, which is at `user`.
pub(super) fn check(file: &ProjectFile, table: &toml::Table, user: &Path) -> Result<(), ConfigError> {
    for (name, value) in table {
        let inner = value.as_table().filter(|_| name == "memory").into_iter().flat_map(toml::Table::keys);
        let mut keys: Vec<String> = inner.map(|inner| format!("memory.{inner}")).collect();
        if name != "memory" {
            keys.push(name.clone());
        }
        if let Some(key) = keys.into_iter().find(|key| !FOR_PROJECTS.contains(&key.as_str())) {
            return Err(ConfigError::NotForProjects { path: file.path.clone(), key, user: user.to_owned() });
        }
    }
    Ok(())
}

/// Returns the values of a project's file that are stricter than the current values. The lists of `[guard]` are joined
/// later.
pub(super) fn stricter(mut partial: Partial, now: &Config) -> Partial {
    partial.extractor = partial.extractor.filter(|choice| *choice == ExtractorChoice::Rules);
    partial.jobs = partial.jobs.filter(|jobs| *jobs <= now.jobs.value);
    partial.categories = fewer(partial.categories, &now.categories.value);
    let (memory, now) = (&mut partial.memory, &now.memory);
    memory.enabled = memory.enabled.filter(|on| !on);
    let extraction = &mut memory.extraction;
    extraction.auto_extract = extraction.auto_extract.filter(|on| !on);
    extraction.extraction_mode =
        extraction.extraction_mode.filter(|mode| *mode == super::ExtractionMode::AfterConversation);
    let fewest = now.extraction.min_messages_for_extraction.value;
    extraction.min_messages_for_extraction = extraction.min_messages_for_extraction.filter(|least| *least >= fewest);
    let (retrieval, now) = (&mut memory.retrieval, &now.retrieval);
    retrieval.max_tokens = retrieval.max_tokens.filter(|most| *most <= now.max_tokens.value);
    // Zero means the built-in limits, which allow at least ten memories in a brief without a query.
    let most_memories = if now.max_memories_in_prompt.value == 0 { 10 } else { now.max_memories_in_prompt.value };
    retrieval.max_memories_in_prompt =
        retrieval.max_memories_in_prompt.filter(|most| (1..=most_memories).contains(most));
    let least = now.min_importance_for_retrieval.value;
    retrieval.min_importance_for_retrieval = retrieval.min_importance_for_retrieval.filter(|share| *share >= least);
    retrieval.included_types = fewer(retrieval.included_types.take(), &now.included_types.value);
    partial
}

/// Returns the items of a list that are also in the current list, or `None` if there are none.
fn fewer<T: PartialEq>(set: Option<Vec<T>>, now: &[T]) -> Option<Vec<T>> {
    let both: Vec<T> = set?.into_iter().filter(|one| now.contains(one)).collect();
    (!both.is_empty()).then_some(both)
}
