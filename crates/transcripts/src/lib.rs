//! Reads conversation logs: bytes in, [`Transcript`]s out.
//!
//! `reading` opens what is on disk: files, compressed files, archives, folders and databases. `message` holds what
//! formats share when they make messages. The other folders are families of formats; each format is one file and one
//! row of [`INGESTORS`]. A format is recognised by content, never by the file's name alone. Ingestors parse only: they
//! never call a model and never touch the store.

mod agents;
mod api;
mod assistants;
mod datasets;
pub mod json;
pub mod known;
mod message;
mod people;
mod reading;
#[cfg(test)]
mod testing;
mod text;
mod transcript;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use message::assemble::Assembler;
pub use message::identity::instant;
use message::{
    blocks, chat, exchange, gemini_parts, identity, injected, label, lenient, parts, prompts, replies, speaker,
};
use reading::database;
pub use reading::detect::{Head, Logs, detect, detect_folder};
pub use reading::discover::{Discovered, Found, discover, true_path};
pub use reading::folder::Folder;
pub use reading::input::{Input, open};
pub use reading::objects::{Layout, Object, Objects};
pub use reading::records::{Record, Records};

pub use transcript::*;

/// Longest line or array element that is read, in bytes; a longer one is skipped and reported.
pub const MAX_RECORD_BYTES: usize = 64 << 20;
/// Text that one [`Transcript`] holds before the rest of the conversation goes into its next part, in bytes.
pub const MAX_PART_BYTES: usize = 8 << 20;
/// Longest prose that is kept of one message, in bytes; the middle of a longer one is replaced by a marker.
pub const MAX_PROSE_BYTES: usize = 1 << 20;
/// Longest tool output that is kept of one message, in bytes.
pub const MAX_TOOL_BYTES: usize = 4 << 10;

/// Reads one transcript format.
///
/// An implementor must survive any bytes: a record that it cannot use is passed to [`Sink::skip`] and the rest of the
/// file is read. It yields messages in conversation order, marks what nobody said to anybody (system prompts,
/// reminders, reasoning, summaries) by [`Kind`] instead of dropping it in silence, and leaves
/// redaction to `guard`.
pub trait Ingestor: Sync {
    /// The spelling used by `--format` and stored with each transcript, e.g. `claude-code`.
    fn name(&self) -> &'static str;
    /// What the format is, in a few words, e.g. `Claude Code session JSONL`.
    fn about(&self) -> &'static str;
    /// How it is recognised, in one line for people.
    fn rule(&self) -> &'static str;
    /// Whether `head`, the start of a file, looks like this format.
    fn sniff(&self, head: &Head<'_>) -> bool;
    /// Reads the whole of `input`, giving each conversation to `sink` as soon as it is complete.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the bytes cannot be read to their end; what was given to `sink` before stays good.
    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError>;
    /// Whether `folder`, a directory or an archive, is as a whole one log of this format, such as a Slack export whose
    /// names stand in one file and whose messages in others. Its files are then not read one by one.
    fn sniff_folder(&self, _folder: &Folder) -> bool {
        false
    }
    /// Reads a folder for which [`Ingestor::sniff_folder`] holds.
    ///
    /// # Errors
    /// As [`Ingestor::read`].
    fn read_folder(&self, folder: &Folder, _sink: &mut Sink<'_>) -> Result<(), IngestError> {
        Err(IngestError::UnknownFormat { path: folder.path().to_owned() })
    }
    /// The family that it belongs to: the folder of this module that holds it.
    fn family(&self) -> &'static str {
        std::any::type_name::<Self>().split("::").nth(1).unwrap_or_default()
    }
    /// Whether this is the conversation of other people, gathered to train or to measure models. Such a file is read
    /// only where a person names it, never because it stands in a folder.
    fn is_dataset(&self) -> bool {
        false
    }
}

/// Every format that can be read, in the order in which a file is tried against them.
pub const INGESTORS: &[&dyn Ingestor] = &[
    // Marks that no other format has come first; the general and the guessed come last.
    // Agents.
    &agents::claude_code::ClaudeCode,
    &agents::codex::Codex,
    &agents::aider::Aider,
    &agents::gemini_cli::GeminiCli,
    &agents::qwen_code::QwenCode,
    &agents::antigravity::Antigravity,
    &agents::cline::Cline,
    &agents::continue_dev::Continue,
    &agents::blockcell::Blockcell,
    &agents::goose::Goose,
    &agents::hermes::Hermes,
    &agents::opencode::OpenCode,
    &agents::copilot_chat::CopilotChat,
    &agents::copilot_cli::CopilotCli,
    &agents::cursor::Cursor,
    &agents::zed::Zed,
    &agents::devin::Devin,
    &agents::cursor_agent::CursorAgent,
    //
    // Assistants.
    &assistants::chatgpt::ChatGpt,
    &assistants::deepseek::DeepSeek,
    &assistants::claude_ai::ClaudeAi,
    &assistants::claude_ai::ClaudeDesign,
    &assistants::open_webui::OpenWebUi,
    &assistants::librechat::LibreChat,
    &assistants::chatbot_ui::ChatbotUi,
    &assistants::gemini_takeout::GeminiTakeout,
    &assistants::ai_studio::AiStudio,
    &assistants::grok::Grok,
    &assistants::lm_studio::LmStudio,
    //
    // Requests, replies and traces of programs.
    &api::openai_batch::OpenAiBatch,
    &api::openai_responses::OpenAiResponses,
    &api::anthropic::Anthropic,
    &api::langchain::LangChain,
    &api::langfuse::Langfuse,
    &api::otel_genai::OtelGenAi,
    //
    // People.
    &people::telegram::Telegram,
    &people::discord::Discord,
    &people::messenger::Messenger,
    &people::mbox::Mbox,
    &people::slack::Slack,
    &people::webvtt::WebVtt,
    &people::srt::Srt,
    &people::zoom_chat::ZoomChat,
    &people::google_meet::GoogleMeet,
    &people::otter::Otter,
    &people::teams_text::TeamsText,
    &people::whatsapp::WhatsApp,
    //
    // Datasets.
    &datasets::locomo::Locomo,
    &datasets::longmemeval::LongMemEval,
    &datasets::sharegpt::ShareGpt,
    &datasets::hf_chat::HfChat,
    &datasets::oasst::Oasst,
    &datasets::wildchat::WildChat,
    //
    // What is general or guessed.
    &api::openai_chat::OpenAiChat,
    &text::plain::Plain,
];

/// Receives what an ingestor reads.
pub struct Sink<'a> {
    accept: &'a mut dyn FnMut(Transcript),
    /// Records that could not be used, in file order.
    pub skipped: Vec<Skipped>,
    /// Records that parsed only after a repair.
    pub repaired: usize,
}

impl<'a> Sink<'a> {
    /// Returns a sink that hands each transcript to `accept`.
    pub fn new(accept: &'a mut dyn FnMut(Transcript)) -> Self {
        Self { accept, skipped: Vec::new(), repaired: 0 }
    }

    /// Hands over a transcript; one without messages is dropped.
    pub fn transcript(&mut self, transcript: Transcript) {
        if !transcript.messages.is_empty() {
            (self.accept)(transcript);
        }
    }

    /// Counts a record that could not be used: the 1-based line or element, and why.
    ///
    /// `reason` must not repeat the record's text, which may hold secrets.
    pub fn skip(&mut self, record: usize, reason: impl Into<String>) {
        self.skipped.push(Skipped { record, reason: reason.into() });
    }
}

/// A record that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// 1-based line, or element of a JSON array.
    pub record: usize,
    /// Why, without the record's text.
    pub reason: String,
}

/// Why a transcript could not be read; one variant for each thing a caller does differently.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The path is not there, not readable, or broke off.
    #[error("cannot read {}; check the path and its permissions", spelled(.path))]
    Read {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No row of [`INGESTORS`] recognises the content.
    #[error("{} is in no format that is known; see `afterthought log formats`, or pass --format NAME", spelled(.path))]
    UnknownFormat {
        /// The path as given.
        path: PathBuf,
    },
    /// The name given to `--format` is no row of [`INGESTORS`].
    #[error("no format is called {name:?}; see `afterthought log formats`")]
    NoSuchFormat {
        /// The name as given.
        name: String,
    },
    /// A database that cannot be read, or whose tables are not as expected.
    #[error("cannot read the database {}: {reason}; close the program that writes it, or copy the file and read the copy", .path.display())]
    Database {
        /// The path as given.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file without content.
    #[error("{} is empty; nothing to read", spelled(.path))]
    Empty {
        /// The path as given.
        path: PathBuf,
    },
    /// A folder or pattern under which there is no file.
    #[error("no files under {}; give a log file, a folder of logs, or a pattern such as 'logs/**/*.jsonl'", .path.display())]
    NothingThere {
        /// The path or pattern as given.
        path: PathBuf,
    },
    /// The name given to `--from` is of no known program.
    #[error("no known program is called {name:?}; known are {known}, and all")]
    NoSuchSource {
        /// The name as given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A program whose conversations are in no place where it would keep them.
    #[error("no conversations of {name} on this machine ({expected}); `afterthought log list` tells what there is")]
    NothingOf {
        /// The name as given.
        name: String,
        /// Where they would be.
        expected: String,
    },
    /// A program that keeps its logs in the folders of projects.
    #[error("{name} keeps its histories in the folders of projects; say where those are with --below FOLDER")]
    NeedsBelow {
        /// The name as given.
        name: String,
    },
    /// A pattern that cannot be understood.
    #[error(
        "cannot understand the pattern {pattern:?}: {reason}; write * for any name, ** for any folders, and [[] for a bracket"
    )]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
}

fn spelled(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Returns the ingestor called `name`.
///
/// # Errors
/// [`IngestError::NoSuchFormat`].
pub fn by_name(name: &str) -> Result<&'static dyn Ingestor, IngestError> {
    INGESTORS
        .iter()
        .copied()
        .find(|ingestor| ingestor.name() == name)
        .ok_or_else(|| IngestError::NoSuchFormat { name: name.to_owned() })
}

/// Parses an RFC 3339 time into an instant and its offset from UTC in seconds; `Z` is offset 0.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<(Timestamp, i32)> {
    let pieces = jiff::fmt::temporal::DateTimeParser::new().parse_pieces(text).ok()?;
    let offset = pieces.to_numeric_offset().map_or(0, jiff::tz::Offset::seconds);
    text.parse().ok().map(|at| (at, offset))
}
