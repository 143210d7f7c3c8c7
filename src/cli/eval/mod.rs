//! `eval`: how good extraction and consolidation are, on cases that say what is right.

mod args;
mod asking;
mod cases;
mod compare;
mod gate;
mod gather;
mod imported;
mod matching;
mod measured;
mod recall;
mod replies;
mod report;
mod retention;
mod settled;
mod settling;
mod suite;
mod tell;
mod worst;

use afterthought::eval::gate::Baseline;
use afterthought::eval::rows::Results;
use afterthought::eval::{self, consolidation};

use super::args::Context;
use super::exit::ExitStatus;
pub use args::EvalArgs;
use args::EvalCommand;

pub fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match &args.command {
        Some(EvalCommand::Compare(args)) => return compare::run(args, context),
        Some(EvalCommand::Gate(args)) => return gate::run(args, context),
        Some(EvalCommand::Report(args)) => return report::run(args, context),
        None => {}
    }
    if args.schema {
        context.out.line(serde_json::to_string_pretty(&schema())?)?;
        return Ok(ExitStatus::Success);
    }
    if args.recall {
        return recall::run(args, context);
    }
    suite::run(args, context)
}

/// Returns the form of a case in each kind of file, and of what is written.
fn schema() -> serde_json::Value {
    let mut schema = eval::schema();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("consolidation".to_owned(), consolidation::schemas());
        fields.insert("short".to_owned(), eval::short::schema());
        fields.insert("asking".to_owned(), eval::asking::schemas());
        fields.insert("triples".to_owned(), eval::matchers::schema());
        fields.insert("results".to_owned(), schemars::schema_for!(Results).to_value());
        fields.insert("baseline".to_owned(), schemars::schema_for!(Baseline).to_value());
    }
    schema
}
