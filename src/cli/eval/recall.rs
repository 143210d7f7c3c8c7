//! How well the search finds the turns of `LoCoMo` conversations.

use std::path::Path;

use afterthought::embed::Embedder;
use afterthought::eval::recall::{Arm, Bare, Meanings, Row, Turns, ablations, defined, measure, rows, searched};
use afterthought::eval::{EvalError, locomo};
use anyhow::ensure;

use super::args::EvalArgs;
use super::gather::{Gather, Told};
use crate::cli::args::Context;
use crate::cli::embed::embedder;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{BOLD, Printer, counted};
use crate::cli::run::runtime;

/// What goes into the file of results.
const KEPT: [&str; 3] = ["bare FTS5", "search", "search and vectors"];

/// Measures the search on each of the paths, by meaning too where the settings name a model for that.
pub(super) fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.settings()?;
    let (embedder, out) = (embedder(&config)?, context.out);
    let gather = Gather::new(args, &Told { asks: false, replayed: false, label: "search", config: &config })?;
    for path in &args.paths {
        ensure!(
            locomo::is_locomo(path),
            "{} is no LoCoMo file; --recall takes conversations with questions",
            path.display()
        );
        tell(path, embedder.as_ref(), &gather, out)?;
    }
    gather.finish(out)?;
    Ok(ExitStatus::Success)
}

fn tell(path: &Path, embedder: Option<&Embedder>, gather: &Gather, out: &Printer) -> anyhow::Result<()> {
    let turns = Turns::of(&locomo::read(path)?)?;
    let meanings = match embedder {
        Some(embedder) => Some(runtime()?.block_on(Meanings::of(&turns, embedder))?),
        None => None,
    };
    let rows = measure(&turns, arms(&turns, meanings.as_ref())?)?;
    gather.define(defined());
    let suite = gather.suite_of(path);
    // The others are ablations, which a table shows well enough.
    for arm in rows.iter().filter(|row| KEPT.contains(&row.name.as_str())) {
        self::rows(&turns, arm, &suite).for_each(|row| gather.row_of(row));
    }
    let memories: usize = turns.said.iter().map(|(_, said)| said.len()).sum();
    if out.is_json() {
        return Ok(out.json(&serde_json::json!({
            "file": path, "conversations": turns.said.len(), "memories": memories,
            "questions": turns.asked.len(), "arms": rows,
        }))?);
    }
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}: {}, {} turns as memories, {}",
        path.display(),
        counted(turns.said.len() as u64, "conversation"),
        memories,
        counted(turns.asked.len() as u64, "question")
    ))?;
    let header = ["", "r@5", "r@10", "r@20", "MRR", "all@10", "tokens@10", "chars/4@10", "r@10 above the first, 95 %"];
    out.table(header, rows.iter().map(cells).collect())?;
    for row in &rows {
        let each: Vec<String> =
            row.by_category.iter().map(|(category, recall)| format!("{category}: {recall:.3}")).collect();
        out.detail(format_args!("{}: r@10 by category {}", row.name, each.join(", ")));
    }
    Ok(())
}

/// Returns what is compared; the first is what SQLite does by itself.
fn arms<'a>(turns: &'a Turns, meanings: Option<&'a Meanings>) -> Result<Vec<(String, Arm<'a>)>, EvalError> {
    let bare = Bare::of(turns)?;
    let mut arms: Vec<(String, Arm<'a>)> = vec![("bare FTS5".to_owned(), Box::new(move |asked| bare.ask(asked)))];
    for ablation in ablations() {
        let name = ablation.name.to_owned();
        let ask: Arm<'a> = Box::new(move |asked| searched(turns, asked, &ablation, &[]));
        arms.push((name, ask));
    }
    let Some(meanings) = meanings else { return Ok(arms) };
    arms.push(("vectors alone".to_owned(), Box::new(move |asked| meanings.ask(turns, asked))));
    for ablation in ablations() {
        let name = match ablation.name {
            "search" => "search and vectors".to_owned(),
            "words alone" => "words and vectors alone".to_owned(),
            without => format!("and vectors, {without}"),
        };
        let ask: Arm<'a> = Box::new(move |asked| searched(turns, asked, &ablation, &[meanings.channel(turns, asked)?]));
        arms.push((name, ask));
    }
    Ok(arms)
}

fn cells(row: &Row) -> [String; 9] {
    let share = |value: f64| format!("{value:.3}");
    let gain = row.gain.map(|gain| format!("{:+.3} ({:+.3} to {:+.3})", gain.value, gain.low, gain.high));
    [
        row.name.clone(),
        share(row.recall_5),
        share(row.recall_10),
        share(row.recall_20),
        share(row.mrr),
        share(row.all_10),
        format!("{:.0}", row.tokens_10),
        format!("{:.0}", row.quarters_10),
        gain.unwrap_or_default(),
    ]
}
