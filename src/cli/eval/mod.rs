//! `eval`: measures extraction, consolidation and search on cases.

mod args;
mod consolidation;
mod job;
mod results;
mod search;
mod suites;
mod system;

use afterthought_eval::case::{Case, ShortCase};
use afterthought_eval::gate::Baseline;
use afterthought_eval::matching::Triple;
use afterthought_eval::results::Results;
use afterthought_eval::{consolidation as pairs, retrieval};
use schemars::schema_for;

use super::args::Context;
use super::exit::ExitStatus;
pub use args::EvalArgs;
use args::EvalCommand;

pub fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match &args.command {
        Some(EvalCommand::Compare(args)) => return results::run_compare(args, context),
        Some(EvalCommand::Gate(args)) => return results::run_gate(args, context),
        Some(EvalCommand::Report(args)) => return results::run_report(args, context),
        None => {}
    }
    if args.schema {
        context.out.line(serde_json::to_string_pretty(&schema())?)?;
        return Ok(ExitStatus::Success);
    }
    job::run(args, context)
}

/// Returns the format of a case in each kind of file, and of the files that are written.
fn schema() -> serde_json::Value {
    let mut schema = schema_for!(Case).to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("consolidation".to_owned(), pairs::schemas());
        fields.insert("short".to_owned(), schema_for!(ShortCase).to_value());
        fields.insert("asking".to_owned(), retrieval::schemas());
        fields.insert("triples".to_owned(), schema_for!(Triple).to_value());
        fields.insert("results".to_owned(), schema_for!(Results).to_value());
        fields.insert("baseline".to_owned(), schema_for!(Baseline).to_value());
    }
    schema
}
