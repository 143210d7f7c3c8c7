//! `brief`: composes the memory section of a prompt.

use std::collections::BTreeMap;

use crate::api::brief::{self, Brief, BriefRequest, Counting, ExclusionReason, Format, Standing};
use crate::api::{Filter, Memories};
use crate::memory::{Namespace, Status};
use anyhow::Context as _;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{BOLD, DIM, Printer, counted, one_line, text_of, words_only};

/// Maximum number of memories that are listed for each reason for leaving memories out.
const NAMED: usize = 10;

/// Print the memories that a new conversation should start with
///
/// The brief fits the token budget, is marked as data, and stays byte-identical until a memory changes. It uses
/// memories of the global namespace and of the project of this folder, or of --namespace. Prints nothing and exits 1
/// when no memory is relevant enough.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought brief\n  afterthought brief 'deploy target' --why")]
pub(crate) struct BriefArgs {
    /// Topic of the conversation
    query: Vec<String>,
    /// Format: compact, detailed, structured or json
    #[arg(long, value_name = "NAME", default_value_t = Format::Compact)]
    format: Format,
    /// Print at most this many tokens [default: 2000]
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Print at most this many characters [default: 10000]
    #[arg(long, value_name = "N")]
    max_characters: Option<usize>,
    /// Explain why each memory is included or left out
    #[arg(long)]
    why: bool,
    /// Show the memories that were last given to a model
    #[arg(long, conflicts_with_all = ["query", "why"])]
    last: bool,
}

pub(crate) fn run(args: &BriefArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    if args.last {
        return print_last(&memories, context.out);
    }
    let request = args.request(&memories, context)?;
    // Loading the token encoding takes longer than everything else, and is not needed if an estimate shows that
    // everything fits.
    let is_measured = args.why || args.max_tokens.is_some();
    let counting = if is_measured { Counting::Exact } else { Counting::Estimated };
    let (mut brief, mut fallback) = memories.brief_with_fallback(&BriefRequest { counting, ..request.clone() })?;
    if !is_measured && brief.left_out.iter().any(|one| one.because == ExclusionReason::OverBudget) {
        (brief, fallback) = memories.brief_with_fallback(&request)?;
    }
    if let Some(error) = fallback {
        context.out.warn(words_only(error));
    }
    // An explanation is for a person, so it is not recorded as shown to a model.
    if args.why {
        explain(&brief, &request, &memories, context.out)?;
    } else if brief.text.is_empty() {
        print_nothing(&brief, &request, context.out);
    } else if context.out.is_json() {
        // With --json, each line is one value.
        let value: serde_json::Value = serde_json::from_str(&brief.text).context("cannot serialise the brief")?;
        context.out.json(&value)?;
    } else {
        context.out.line(brief.text.trim_end())?;
    }
    // The brief is already printed; a database that cannot be written must not make the command fail.
    if !args.why
        && !brief.shown.is_empty()
        && let Ok(memories) = memories.into_writable()
    {
        memories.note_shown(&brief);
        // A folder that cannot be recorded is recognised again the next time.
        std::env::current_dir().ok().and_then(|folder| memories.connect(folder.to_str()?).ok());
    }
    Ok(if brief.text.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}

impl BriefArgs {
    fn request(&self, memories: &Memories, context: &Context<'_>) -> anyhow::Result<BriefRequest> {
        let config = context.settings()?;
        let place = if let Some(namespace) = config.namespace() {
            Some(namespace)
        } else {
            let folder = std::env::current_dir().context("cannot read the working directory")?;
            folder.to_str().map(|folder| memories.known_namespace_of(folder)).transpose()?.flatten()
        };
        // Preferences of the person are global and apply in every project.
        let namespaces = memories.reach_of(place.unwrap_or_else(Namespace::global))?.as_slice().to_vec();
        let request = BriefRequest::of(&config.memory, namespaces, Some(self.query.join(" ")));
        Ok(BriefRequest {
            max_tokens: self.max_tokens.unwrap_or(request.max_tokens),
            max_characters: self.max_characters.unwrap_or(request.max_characters),
            format: if context.out.is_json() { Format::Json } else { self.format },
            ..request
        })
    }
}

/// Reports on standard error why the brief is empty: standard output may go into a prompt.
fn print_nothing(brief: &Brief, request: &BriefRequest, out: &Printer) {
    if request.namespaces.is_empty() {
        return out.note("memory is switched off; see memory.enabled");
    }
    let reasons: Vec<String> = brief.reasons().iter().map(|(why, count)| format!("{count} {}", spaced(why))).collect();
    if reasons.is_empty() {
        let namespaces: Vec<String> = request.namespaces.iter().map(ToString::to_string).collect();
        return out.note(format_args!("nothing to show: no memories are stored in {}", namespaces.join(" and ")));
    }
    let reasons = reasons.join(", ");
    out.note(format_args!("nothing to show: {reasons}; `afterthought brief --why` explains this"));
}

fn explain(brief: &Brief, request: &BriefRequest, memories: &Memories, out: &Printer) -> anyhow::Result<()> {
    let not_recalled = not_recalled(request, memories)?;
    if out.is_json() {
        return Ok(out.json(&json!({
            "tokens": brief.tokens, "characters": brief.characters, "shown": brief.shown, "left_out": brief.left_out,
            "reasons": brief.reasons(), "not_recalled": not_recalled,
        }))?);
    }
    let (tokens, characters) = (brief.tokens, brief.characters);
    let (most, longest) = (request.max_tokens, request.max_characters.min(brief::MAX_CHARACTERS));
    let shown = counted(brief.shown.len(), "line");
    out.line(format_args!("{BOLD}{shown}, {tokens} of {most} tokens, {characters} of {longest} characters{BOLD:#}"))?;
    for shown in &brief.shown {
        let (section, id) = (spaced(shown.section.as_str()), shown.memory.id.short());
        out.line(format_args!("{:.2} {} {}", shown.standing.total, id, one_line(&shown.memory.claim.content, 200)))?;
        let pinned = if shown.memory.pinned { " · pinned" } else { "" };
        out.line(format_args!(
            "     {DIM}{section}{pinned} · {} · {} tokens{DIM:#}",
            parts(&shown.standing),
            shown.tokens
        ))?;
    }
    for (reason, count) in brief.reasons() {
        out.line(format_args!("{BOLD}left out, {}: {count}{BOLD:#}", spaced(reason)))?;
        for one in brief.left_out.iter().filter(|one| one.because.as_str() == reason).take(NAMED) {
            let said = text_of(memories, &one.id, 120)?;
            let as_well = match &one.because {
                ExclusionReason::SaysTheSame { other } => format!(" · as {} does", other.short()),
                ExclusionReason::Unimportant
                | ExclusionReason::Faded
                | ExclusionReason::BesideThePoint
                | ExclusionReason::OverQuota
                | ExclusionReason::OverBudget => String::new(),
            };
            out.line(format_args!("{:.2} {} {said}", one.standing.total, one.id.short()))?;
            out.line(format_args!("     {DIM}{}{as_well}{DIM:#}", parts(&one.standing)))?;
        }
    }
    for (status, count) in not_recalled {
        out.line(format_args!("{DIM}{count} {status}: not recalled{DIM:#}"))?;
    }
    Ok(())
}

/// Counts the memories in the namespaces of the brief that are never recalled, by status.
fn not_recalled(request: &BriefRequest, memories: &Memories) -> anyhow::Result<BTreeMap<&'static str, usize>> {
    let mut counts = BTreeMap::new();
    for status in Status::ALL.iter().filter(|status| **status != Status::Active && !request.namespaces.is_empty()) {
        let count =
            memories.count_memories(Filter { statuses: vec![*status], ..Filter::exactly(&request.namespaces) })?;
        counts.extend((count > 0).then_some((status.as_str(), count)));
    }
    Ok(counts)
}

/// Returns the components of a rating as text, each with its weight.
fn parts(standing: &Standing) -> String {
    let own = format!(
        "importance {:.2} × {} · confidence {:.2} × {} · recency {:.2} × {} · tier {:.2} × {}",
        standing.importance,
        brief::WEIGHT_IMPORTANCE,
        standing.confidence,
        brief::WEIGHT_CONFIDENCE,
        standing.recency,
        brief::WEIGHT_RECENCY,
        standing.tier,
        brief::WEIGHT_TIER,
    );
    let weight = brief::WEIGHT_TO_THE_POINT;
    standing
        .to_the_point
        .map_or_else(|| own.clone(), |fit| format!("relevance {fit:.2} × {weight}, standing score: {own}"))
}

/// Prints the memories that were last given to a model.
fn print_last(memories: &Memories, out: &Printer) -> anyhow::Result<ExitStatus> {
    let Some((at, ids)) = memories.last_shown()? else {
        out.note("no memories have been given to a model yet");
        return Ok(ExitStatus::NoMatch);
    };
    if out.is_json() {
        out.json(&json!({"at": at, "memories": ids}))?;
        return Ok(ExitStatus::Success);
    }
    let count = counted(ids.len(), "line");
    out.line(format_args!("{BOLD}{count} at {}{BOLD:#}", at.strftime("%Y-%m-%d %H:%M UTC")))?;
    for id in &ids {
        out.line(format_args!("{} {}", id.short(), text_of(memories, id, 200)?))?;
    }
    Ok(ExitStatus::Success)
}

fn spaced(word: &str) -> String {
    word.replace('_', " ")
}
