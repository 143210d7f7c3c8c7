//! What was run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was run, so that anyone can run it again and nobody compares what cannot be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the program.
    pub program: String,
    /// Git revision of the folder that it was run in, with `+` where files were changed; `None` outside of a checkout.
    pub revision: Option<String>,
    /// The suites, in the order in which they were given.
    pub suites: Vec<Suite>,
    /// SHA-256 of the prompts that were used.
    pub prompts: String,
    /// Folder of the prompts, where they are not those of the program.
    pub prompt_folder: Option<PathBuf>,
    /// What was measured: `llm`, `rules`, or a control.
    pub extractor: String,
    /// Its name for people: the model, the version of the rules, or the control.
    pub label: String,
    /// The model, where one was asked.
    pub model: Option<String>,
    /// Whether the same run gives the same rows: no model was asked but a recorded one.
    pub deterministic: bool,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// How often each case was run.
    pub repeat: u32,
    /// Options that change what comes out, by name.
    pub options: BTreeMap<String, serde_json::Value>,
    /// When it began.
    #[schemars(with = "String")]
    pub started: jiff::Timestamp,
    /// Milliseconds that it took.
    pub ms: u64,
    /// Rows that an earlier run had made and that were taken from it.
    pub cache_hits: u64,
}

/// A suite of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, by which rows refer to it: what follows `evals/` in its path, else its own name.
    pub name: String,
    /// Where it was.
    pub path: PathBuf,
    /// SHA-256 of its cases and logs; recordings and reports do not count.
    pub content: String,
    /// How many cases it has.
    pub cases: u64,
}
