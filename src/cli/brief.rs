//! `brief`: the memory section for a prompt.

use afterthought::memory::Namespace;
use afterthought::recall::brief::{self, Brief, BriefRequest, Format};
use afterthought::store::Store;

use super::args::{Context, now};
use super::exit::ExitStatus;

/// Print what a conversation should know of those before it, ready for a prompt
///
/// Within the budget, fenced as data, and the same bytes as long as nothing changes. Prints nothing and exits 1 where
/// nothing is worth telling. Reads the global namespace, and with --namespace that one, too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought brief --namespace project/shop\n  afterthought brief 'deploy target' --why"
)]
pub struct BriefArgs {
    /// What the conversation is about; without it, what it should know whatever it is about
    query: Vec<String>,
    /// compact, detailed, structured or json
    #[arg(long, value_name = "NAME", default_value_t = Format::Compact)]
    format: Format,
    /// Most tokens
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    max_tokens: usize,
    /// Most characters, up to 10000
    #[arg(long, value_name = "N", default_value_t = brief::MAX_CHARACTERS)]
    max_characters: usize,
}

pub fn run(args: &BriefArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let config = context.settings()?;
    let mut namespaces: Vec<Namespace> = config.namespace.value.into_iter().collect();
    if !namespaces.contains(&Namespace::global()) {
        namespaces.push(Namespace::global());
    }
    let query = args.query.join(" ");
    let request = BriefRequest {
        namespaces,
        query: (!query.trim().is_empty()).then_some(query),
        max_tokens: args.max_tokens,
        max_characters: args.max_characters,
        format: if context.out.is_json() { Format::Json } else { args.format },
        ..BriefRequest::default()
    };
    let now = now();
    let brief = brief::compose(&store, &request, now)?;
    if !brief.text.is_empty() {
        context.out.line(brief.text.trim_end())?;
    }
    // The last connection to close tidies up beside the file, which one for reading cannot.
    drop(store);
    note(context, &brief, now)?;
    Ok(if brief.text.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}

/// Logs what was told. A file that cannot be written is read all the same.
fn note(context: &Context<'_>, brief: &Brief, now: jiff::Timestamp) -> anyhow::Result<()> {
    if !brief.shown.is_empty()
        && let Ok(store) = Store::open(&context.settings()?.db.value)
    {
        // Best effort: the brief itself is told.
        let _ = brief::note_shown(&store, brief, now);
    }
    Ok(())
}
