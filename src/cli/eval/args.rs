//! The options of `eval`.

use std::path::PathBuf;

use crate::config::{ExtractorChoice, Partial};
use crate::llm::Price;
use afterthought_eval::extraction::Control;
use clap::ValueEnum;

use super::closed_loop::LoopArgs;
use super::mine::MineArgs;
use super::results::{CompareArgs, GateArgs, ReportArgs, ResultsArgs};
use crate::cli::args::instructions_in;
use crate::cli::model::price;

/// Measure extraction and consolidation on labelled cases
///
/// PATH is a case, a folder that contains cases (see evals/README.md), a file from LoCoMo, LongMemEval or HaluMem, or the
/// folder of REALTALK, BEAM, PrecisionMemBench, MemoryCode or SWE-ContextBench.
/// Each conversation is run through the whole pipeline with a separate store, and the memories that are active at the
/// end are scored without a judge model. For *-pairs.jsonl and *-streams.jsonl, new memories are compared with known
/// ones, and the decisions and the final memories are scored. --recall measures search on LoCoMo, REALTALK and BEAM. Exits 3 if a
/// case cannot be read or run; such cases are reported, but not scored.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval evals/smoke\n  afterthought eval evals/extraction/dev --model gpt-5-mini --out a.json\n  afterthought eval evals/extraction/dev --model gpt-5-mini --prompt my-prompts --out b.json\n  afterthought eval compare a.json b.json\n  afterthought eval report a.json b.json --out report.md\n  afterthought eval evals/extraction --model gpt-5-mini --record replies\n  afterthought eval evals/extraction --model gpt-5-mini --replay replies\n  afterthought eval evals/smoke --extractor every-sentence\n  afterthought eval evals/consolidation/dev --extractor rules --distractors 5000\n  afterthought eval locomo10.json --extractor rules\n  afterthought eval locomo10.json --recall"
)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[expect(clippy::struct_excessive_bools, reason = "each field is a separate flag")]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(super) command: Option<EvalCommand>,
    /// Cases, folders with cases, or LoCoMo files
    #[arg(value_name = "PATH", required_unless_present = "schema")]
    pub(super) paths: Vec<PathBuf>,
    /// Measure search on the turns and questions of LoCoMo, REALTALK or BEAM
    #[arg(long, conflicts_with_all = ["extractor", "record", "replay", "keep", "schema"])]
    pub(super) recall: bool,
    /// Extractor to measure; the controls are expected to fail [default: auto]
    #[arg(long, value_enum)]
    pub(super) extractor: Option<ExtractorArg>,
    /// Retriever for *-recall.jsonl, *-brief.jsonl and *-qa.jsonl; the controls are expected to fail
    #[arg(long, value_enum, default_value_t = RetrieverArg::Search)]
    pub(super) retriever: RetrieverArg,
    /// Use this model, such as gpt-5-mini, anthropic/claude-haiku-4-5 or claude-code [env: AFTERTHOUGHT_MODEL]
    #[arg(long)]
    model: Option<String>,
    /// Use this OpenAI-compatible server [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Use the prompts in this folder, which is laid out like prompts/
    #[arg(long, value_name = "DIR")]
    pub(super) prompt: Option<PathBuf>,
    /// Run each case N times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) repeat: u32,
    /// Write the results to this file, or continue an interrupted run
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Run all cases again, even those with results in the output file
    #[arg(long, requires = "out")]
    pub(super) fresh: bool,
    /// Hide each consolidation case among N invented memories
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) distractors: usize,
    /// Apply published corrections of LoCoMo's labels: a file or a folder
    #[arg(long, value_name = "PATH")]
    pub(super) corrections: Option<PathBuf>,
    /// Read every log twice, and measure what the second reading adds
    #[arg(long)]
    pub(super) again: bool,
    /// Run N cases, or N consolidation calls, at a time
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(super) jobs: usize,
    /// Send up to N tokens of conversation in one request [default: 6000]
    #[arg(long, value_name = "N")]
    window_tokens: Option<usize>,
    /// Spend at most this many dollars on all cases [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Use at most N tokens for all cases together [default: no limit]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Model prices, in dollars per million tokens [default: built-in table]
    #[arg(long, value_name = "PROMPT,COMPLETION", value_parser = price)]
    pub(super) price: Option<Price>,
    /// Follow the instructions in this file on what to keep
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Record all requests and replies in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(super) record: Option<PathBuf>,
    /// Use the replies recorded in this folder, without a server
    #[arg(long, value_name = "DIR")]
    pub(super) replay: Option<PathBuf>,
    /// Keep the store of each case in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Print the JSON Schema of cases and results, but run nothing
    #[arg(long)]
    pub(super) schema: bool,
}

/// The closed loop, work on result files, and judgements by a person.
#[derive(Debug, clap::Subcommand)]
pub(super) enum EvalCommand {
    Compare(CompareArgs),
    Gate(GateArgs),
    Loop(Box<LoopArgs>),
    Mine(Box<MineArgs>),
    Report(ReportArgs),
    Results(ResultsArgs),
}

/// Extractor to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExtractorArg {
    /// The model if one is configured, or else the rules
    Auto,
    /// The model
    Llm,
    /// The offline rules
    Rules,
    /// Control: keeps nothing; in consolidation, adds everything
    None,
    /// Control: keeps every sentence
    EverySentence,
    /// Control: keeps every sentence in which people speak about themselves
    FirstPerson,
    /// Control: keeps invented statements, with quotes that do not exist
    Invented,
    /// Control of consolidation: decides by the similarity of words
    Similarity,
}

/// Retriever to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RetrieverArg {
    /// The search and the brief
    Search,
    /// Control: memories drawn at random
    Random,
    /// Control: everything that may be recalled, the latest first
    Everything,
    /// Control: nothing
    Nothing,
}

impl EvalArgs {
    /// Returns the settings that result from the arguments; `recorded` is the model of a recording.
    pub(super) fn partial(&self, recorded: Option<&str>) -> anyhow::Result<Partial> {
        Ok(Partial {
            // A recording was made with a model, so it is replayed as that model, unless another model is given on the
            // command line.
            extractor: recorded.map_or_else(|| self.choice(), |_| Some(ExtractorChoice::Llm)),
            model: self.model.clone().or_else(|| recorded.map(str::to_owned)).map(Some),
            base_url: self.base_url.clone().map(Some),
            window_tokens: self.window_tokens,
            max_cost: self.max_cost.map(Some),
            max_tokens: self.max_tokens.map(Some),
            instructions: instructions_in(self.instructions.as_deref())?,
            ..Partial::default()
        })
    }

    /// Whether the arguments determine the extractor or the model.
    pub(super) const fn says_who_answers(&self) -> bool {
        let named = self.extractor.is_some() || self.model.is_some() || self.base_url.is_some();
        named || self.record.is_some() || self.replay.is_some()
    }

    /// Returns the control extractor that is measured, if any.
    pub(super) fn control(&self) -> Option<Control> {
        match self.extractor? {
            ExtractorArg::None => Some(Control::Nothing),
            ExtractorArg::EverySentence => Some(Control::EverySentence),
            ExtractorArg::FirstPerson => Some(Control::FirstPerson),
            ExtractorArg::Invented => Some(Control::Invented),
            ExtractorArg::Llm | ExtractorArg::Rules | ExtractorArg::Auto | ExtractorArg::Similarity => None,
        }
    }

    /// Returns the name of the control that is measured, if any.
    pub(super) fn control_name(&self) -> Option<String> {
        let is_control = self.choice() == Some(ExtractorChoice::Rules) && self.extractor != Some(ExtractorArg::Rules);
        self.extractor.filter(|_| is_control).and_then(|extractor| name_of(&extractor))
    }

    fn choice(&self) -> Option<ExtractorChoice> {
        Some(match self.extractor? {
            ExtractorArg::Llm => ExtractorChoice::Llm,
            ExtractorArg::Auto => ExtractorChoice::Auto,
            // A control uses no model.
            ExtractorArg::Rules
            | ExtractorArg::None
            | ExtractorArg::EverySentence
            | ExtractorArg::FirstPerson
            | ExtractorArg::Invented
            | ExtractorArg::Similarity => ExtractorChoice::Rules,
        })
    }
}

/// Returns the spelling of a value on the command line.
pub(super) fn name_of(value: &impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_owned())
}
