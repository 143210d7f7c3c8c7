//! The options of `eval`.

use std::path::PathBuf;

use afterthought::config::{ExtractorChoice, Partial};
use afterthought::llm::Price;
use afterthought_eval::control::Control;
use anyhow::Context as _;
use clap::ValueEnum;

use super::results::{CompareArgs, GateArgs, ReportArgs};
use crate::cli::run::price;

/// Measure extraction and consolidation on labelled cases
///
/// PATH is a case, a folder with cases in or below it (see evals/README.md), or a file of LoCoMo, LongMemEval or HaluMem. Each conversation runs
/// through the whole pipeline into a store of its own; what is active afterwards is scored without any judge. Files named
/// *-pairs.jsonl and *-streams.jsonl hold memories that arrive where others are known: what is decided about them, and
/// what is left in the end, is scored. With --recall, the search is measured, on LoCoMo files alone. Exits 3 if a case could not be read or run; it is named and counts for nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval evals/smoke\n  afterthought eval evals/extraction/dev --model gpt-5-mini --out a.json\n  afterthought eval evals/extraction/dev --model gpt-5-mini --prompt my-prompts --out b.json\n  afterthought eval compare a.json b.json\n  afterthought eval report a.json b.json --out report.md\n  afterthought eval evals/extraction --model gpt-5-mini --record replies\n  afterthought eval evals/extraction --model gpt-5-mini --replay replies --markdown report.md\n  afterthought eval evals/smoke --extractor every-sentence\n  afterthought eval evals/consolidation/dev --extractor rules --distractors 5000\n  afterthought eval locomo10.json --extractor rules\n  afterthought eval locomo10.json --recall"
)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct EvalArgs {
    #[command(subcommand)]
    pub(super) command: Option<EvalCommand>,
    /// Cases, folders with cases, or LoCoMo files
    #[arg(value_name = "PATH", required_unless_present = "schema")]
    pub(super) paths: Vec<PathBuf>,
    /// Measure the search instead: the turns of LoCoMo files as memories, asked for by their questions
    #[arg(long, conflicts_with_all = ["extractor", "record", "replay", "keep", "markdown", "unlisted", "schema"])]
    pub(super) recall: bool,
    /// What is measured; all but the first three must fail [default: auto]
    #[arg(long, value_enum)]
    pub(super) extractor: Option<ExtractorArg>,
    /// What answers the queries of *-recall.jsonl, *-brief.jsonl and *-qa.jsonl; all but the first must fail
    #[arg(long, value_enum, default_value_t = RetrieverArg::Search)]
    pub(super) retriever: RetrieverArg,
    /// Name of the model [env: AFTERTHOUGHT_MODEL]
    #[arg(long)]
    model: Option<String>,
    /// Base URL of an OpenAI-compatible server [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Folder with other versions of the prompts, laid out as prompts/ is
    #[arg(long, value_name = "DIR")]
    pub(super) prompt: Option<PathBuf>,
    /// Run each case so many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) repeat: u32,
    /// Write the results into this file, to be compared and reported; a run that was ended goes on where it was
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Run everything again, also what an earlier run into the same file has finished
    #[arg(long, requires = "out")]
    pub(super) fresh: bool,
    /// Invented memories in each namespace of a consolidation case, to find what matters among
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) distractors: usize,
    /// Tell how far likeness of words, and of meaning where the settings name a model, agrees with the patterns of cases
    #[arg(long)]
    pub(super) agreement: bool,
    /// Let the model judge too, beside the patterns: on *-triples.jsonl, and with --agreement on cases
    #[arg(long)]
    pub(super) judge: bool,
    /// Published corrections of LoCoMo's labels: a file, or a folder with errors*.json below it
    #[arg(long, value_name = "PATH")]
    pub(super) corrections: Option<PathBuf>,
    /// Read every log a second time into the same store, and measure how much that adds
    #[arg(long)]
    pub(super) again: bool,
    /// Cases at a time; in consolidation, calls at a time
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(super) jobs: usize,
    /// Tokens of conversation in one call [default: 6000]
    #[arg(long, value_name = "N")]
    window_tokens: Option<usize>,
    /// Most dollars to spend on all cases together [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Most tokens to spend on all cases together [default: no limit]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Dollars for a million tokens sent and received, e.g. 0.25,2.00 [default: a built-in table]
    #[arg(long, value_name = "PROMPT,COMPLETION", value_parser = price)]
    pub(super) price: Option<Price>,
    /// File that says in prose what to keep and never to keep
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Write every exchange with the model into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(super) record: Option<PathBuf>,
    /// Answer from exchanges recorded in this folder, without any server
    #[arg(long, value_name = "DIR")]
    pub(super) replay: Option<PathBuf>,
    /// Keep the store of each case in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Write the report as Markdown into this file
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// Write the memories that no gold memory matches and nobody has judged into this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) unlisted: Option<PathBuf>,
    /// Print the JSON Schema of a case, and run nothing
    #[arg(long)]
    pub(super) schema: bool,
}

/// What is done with results.
#[derive(Debug, clap::Subcommand)]
pub(super) enum EvalCommand {
    Compare(CompareArgs),
    Gate(GateArgs),
    Report(ReportArgs),
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExtractorArg {
    /// The model where one is configured, else the rules
    Auto,
    /// The model
    Llm,
    /// The offline rules
    Rules,
    /// Control: keeps nothing; in consolidation, takes everything as new
    None,
    /// Control: keeps every sentence
    EverySentence,
    /// Control: keeps every sentence in which people speak of themselves
    FirstPerson,
    /// Control: keeps what nobody said, with quotes that stand nowhere
    Invented,
    /// Control, of consolidation alone: goes by the likeness of words
    Similarity,
}

/// What answers queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RetrieverArg {
    /// The search and the brief
    Search,
    /// Control: memories drawn at random
    Random,
    /// Control: all that may be recalled, the latest first
    Everything,
    /// Control: nothing
    Nothing,
}

impl RetrieverArg {
    /// Returns its name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Random => "random",
            Self::Everything => "everything",
            Self::Nothing => "nothing",
        }
    }
}

impl EvalArgs {
    /// Returns the settings that the arguments ask for; `recorded` is the model that has answered before.
    pub(super) fn partial(&self, recorded: Option<&str>) -> anyhow::Result<Partial> {
        let instructions = self.instructions.as_ref().map(|path| {
            std::fs::read_to_string(path).with_context(|| {
                format!("cannot read instructions {}; check the path and its permissions", path.display())
            })
        });
        Ok(Partial {
            extractor: recorded.map_or_else(|| self.choice(), |_| Some(ExtractorChoice::Llm)),
            model: self.model.clone().or_else(|| recorded.map(str::to_owned)).map(Some),
            base_url: self.base_url.clone().map(Some),
            window_tokens: self.window_tokens,
            max_cost: self.max_cost.map(Some),
            max_tokens: self.max_tokens.map(Some),
            instructions: instructions.transpose()?.map(Some),
            ..Partial::default()
        })
    }

    /// Whether the arguments say who extracts and decides.
    pub(super) const fn says_who_answers(&self) -> bool {
        let named = self.extractor.is_some() || self.model.is_some() || self.base_url.is_some();
        named || self.record.is_some() || self.replay.is_some()
    }

    pub(super) const fn control(&self) -> Option<Control> {
        match self.extractor {
            Some(ExtractorArg::None) => Some(Control::Nothing),
            Some(ExtractorArg::EverySentence) => Some(Control::EverySentence),
            Some(ExtractorArg::FirstPerson) => Some(Control::FirstPerson),
            Some(ExtractorArg::Invented) => Some(Control::Invented),
            Some(ExtractorArg::Llm | ExtractorArg::Rules | ExtractorArg::Auto | ExtractorArg::Similarity) | None => {
                None
            }
        }
    }

    /// Returns the name of the control that is measured, if one is.
    pub(super) const fn control_name(&self) -> Option<&'static str> {
        match self.extractor {
            Some(ExtractorArg::None) => Some("none"),
            Some(ExtractorArg::EverySentence) => Some("every-sentence"),
            Some(ExtractorArg::FirstPerson) => Some("first-person"),
            Some(ExtractorArg::Invented) => Some("invented"),
            Some(ExtractorArg::Similarity) => Some("similarity"),
            Some(ExtractorArg::Llm | ExtractorArg::Rules | ExtractorArg::Auto) | None => None,
        }
    }

    const fn choice(&self) -> Option<ExtractorChoice> {
        match self.extractor {
            Some(ExtractorArg::Llm) => Some(ExtractorChoice::Llm),
            Some(ExtractorArg::Auto) => Some(ExtractorChoice::Auto),
            // A control asks no model.
            Some(
                ExtractorArg::Rules
                | ExtractorArg::None
                | ExtractorArg::EverySentence
                | ExtractorArg::FirstPerson
                | ExtractorArg::Invented
                | ExtractorArg::Similarity,
            ) => Some(ExtractorChoice::Rules),
            None => None,
        }
    }
}
