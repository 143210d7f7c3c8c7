//! `eval`: measures extraction, consolidation and search on cases.

mod args;
mod closed_loop;
mod consolidation;
mod job;
mod manifest;
mod mine;
mod results;
mod start;
mod search;
mod suites;
mod system;

use afterthought_eval::consolidation::{Pair, Stream};
use afterthought_eval::extraction::{Case, ShortCase};
use afterthought_eval::gate::Baseline;
use afterthought_eval::results::Results;
use afterthought_eval::retrieval::{BriefCase, QaCase, RecallCase};
use schemars::schema_for;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;
pub(crate) use args::EvalArgs;
use args::EvalCommand;

pub(crate) fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match &args.command {
        Some(EvalCommand::Compare(args)) => return results::run_compare(args, context),
        Some(EvalCommand::Gate(args)) => return results::run_gate(args, context),
        Some(EvalCommand::Loop(args)) => return closed_loop::run(args, context),
        Some(EvalCommand::Mine(args)) => return mine::run(args, context),
        Some(EvalCommand::Results(args)) => return results::run_results(args, context),
        Some(EvalCommand::Report(args)) => return results::run_report(args, context),
        None => {}
    }
    if args.schema {
        if context.out.is_json() {
            context.out.json(&schema())?;
        } else {
            context.out.line(serde_json::to_string_pretty(&schema())?)?;
        }
        return Ok(ExitStatus::Success);
    }
    start::run(args, context)
}

/// Returns the JSON Schema of a case in each kind of file, and of the files that are written.
fn schema() -> serde_json::Value {
    let mut schema = schema_for!(Case).to_value();
    let others = json!({
        "short": schema_for!(ShortCase),
        "consolidation": {"pairs": schema_for!(Pair), "streams": schema_for!(Stream)},
        "asking": {"recall": schema_for!(RecallCase), "brief": schema_for!(BriefCase), "qa": schema_for!(QaCase)},
        "results": schema_for!(Results),
        "baseline": schema_for!(Baseline),
    });
    if let (Some(fields), serde_json::Value::Object(others)) = (schema.as_object_mut(), others) {
        fields.extend(others);
    }
    schema
}
