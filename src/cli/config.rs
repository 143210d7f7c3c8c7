//! The settings file: a template to start from.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use afterthought::config::{Folders, PROJECT_FILE};
use anyhow::{Context as _, bail};
use clap::Subcommand;

use super::args::Context;
use super::exit::ExitStatus;

/// Commands about settings.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    Init(InitArgs),
}

/// Write a settings file that explains every setting
///
/// Writes your own file, or with --project an afterthought.toml in this folder. An existing file is never changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought config init")]
pub struct InitArgs {
    /// Write afterthought.toml for the project in this folder
    #[arg(long)]
    project: bool,
}

const USER_SETTINGS: &str = "\
# Settings of afterthought. Stronger: a project's afterthought.toml, the environment, the command line.

# Where memories are kept.
# db = \"/path/to/memories.db\"

# The model. Without one, the offline rules extract. The key stays in the environment.
# model = \"gpt-4.1-mini\"
# base_url = \"http://localhost:11434/v1\"   # Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, …
# api_key_env = \"OPENAI_API_KEY\"
# temperature = 0.3
# timeout_seconds = 120
# jobs = 4                  # calls in flight
# window_tokens = 8000      # conversation in one call
# max_cost = 1.0            # dollars that one run may spend
# max_tokens = 2000000      # tokens that one run may spend
# max_cost_per_day = 5.0    # dollars that all runs of one day may spend
# prices = { \"my-model\" = { prompt = 0.25, completion = 2.0 } }   # dollars for a million tokens

# What is told to whoever looks after it: docs/trust.md. The key of an encrypted database never stands here.
# audit = true              # a log of who changes, exports and erases memories: ids and counts, no words
# log_format = \"json\"       # diagnostics on standard error, one object a line; AFTERTHOUGHT_LOG=info for more of them

# What is kept.
# extractor = \"auto\"        # auto, llm or rules
# namespace = \"global\"      # everything into one namespace, instead of one by project
# categories = [\"fact\", \"preference\", \"decision\", \"convention\", \"project\", \"task\", \"note\", \"solution\", \"mistake\", \"pattern\", \"workflow\", \"profile\"]
# instructions = \"Keep what I say about my customers. Never keep salaries.\"

# Search by meaning: a server with /embeddings, such as Ollama. Off by default.
# [embedding]
# base_url = \"http://localhost:11434/v1\"   # Ollama and others; without one, OpenAI's
# model = \"nomic-embed-text\"
# api_key_env = \"OPENAI_API_KEY\"
# dimensions = 256          # fewer numbers than the model has, where the server can

# What is kept out beside secrets, which always go. keep, redact, or drop: nothing that rests on it is remembered.
# [guard]
# cards = \"redact\"          # payment cards
# ibans = \"redact\"          # bank accounts
# ids = \"redact\"            # national identity, tax and insurance numbers
# emails = \"keep\"
# phones = \"keep\"
# addresses = \"keep\"        # street and number
# deny = [\"~/clients/**\"]      # logs and projects that are never opened, as for --exclude
# deny_files = [\".env\", \"*.pem\"]  # files whose content is shown to no model, in place of the built-in list

# What is told, read unasked, and given up; docs/lifecycle.md says what each governs.
# [memory]
# enabled = true             # false: no brief, nothing read unasked
# storage_adapter = \"sqlite\"  # or vector, with an embedding model
# [memory.extraction]
# auto_extract = true        # by hooks and watch; what you run by hand is always read
# extraction_mode = \"after_conversation\"   # or during_conversation: after each answer, too
# min_messages_for_extraction = 3
# extraction_model = \"gpt-4.1-mini\"   # in place of model
# [memory.retrieval]
# max_memories_in_prompt = 0   # 0: as many as the sections of a brief hold, and 10 where something was asked
# min_importance_for_retrieval = 0.3
# included_types = [\"semantic\", \"episodic\", \"procedural\"]
# [memory.brief]
# max_tokens = 2000
# max_characters = 10000
# standing = 10              # preferences, conventions, and what is pinned
# long_term = 20
# short_term = 10
# [memory.retention]
# max_memories_per_namespace = 10000   # 0: any number
# auto_delete_after_days = 0   # 0: never
# auto_delete_min_importance = 0.3   # what matters less is given up after those days
# [memory.lifecycle]
# semantic_half_life_days = 180   # days without use after which a memory is half as sure; 0: never
# episodic_half_life_days = 30
# procedural_half_life_days = 365
# min_confidence = 0.05      # what is less sure is no longer recalled; 0: never
# superseded_days = 180      # days after which what was superseded is given up; 0: never
# duplicate_days = 7         # days after which of two with the same words one gives way; 0: never
# expired_days = 30          # days after which short-term memories that are over are given up; 0: never
# purge_days = 30            # days after which what was forgotten or given up is gone for good
";

const PROJECT_SETTINGS: &str = "\
# Settings of afterthought for this project.

# The project that conversations held in this folder, or below it, belong to. Folders that name the same one share it.
# project = \"NAME\"
# Where commands in this folder read and write.
# namespace = \"project/NAME\"

# What is kept.
# instructions = \"Keep decisions on the public API. Never keep names of customers.\"
# categories = [\"fact\", \"decision\", \"convention\", \"solution\"]
";

pub fn run(command: &ConfigCommand, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match command {
        ConfigCommand::Init(args) => init(args, context),
    }
}

fn init(args: &InitArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (path, text) = if args.project {
        (PathBuf::from(PROJECT_FILE), PROJECT_SETTINGS)
    } else {
        (Folders::of_platform()?.user_file, USER_SETTINGS)
    };
    write_new(&path, text)?;
    if context.out.is_json() {
        context.out.json(&serde_json::json!({"wrote": path}))?;
    } else {
        context.out.line(format_args!("wrote {}", path.display()))?;
    }
    Ok(ExitStatus::Success)
}

fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    if path.exists() {
        bail!("{} is there already; edit it, or move it away first", path.display());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterthought::config::Partial;

    #[test]
    fn the_settings_that_are_written_are_understood_once_uncommented() {
        for text in [USER_SETTINGS, PROJECT_SETTINGS] {
            let set: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("# "))
                .filter(|line| line.starts_with('[') || line.split_whitespace().nth(1) == Some("="))
                .collect();
            let partial: Partial = toml::from_str(&set.join("\n")).unwrap();
            assert_ne!(partial, Partial::default());
        }
    }
}
