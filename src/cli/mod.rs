//! The command line: one file a subcommand, each of which parses, calls the library, prints and chooses the exit code.

mod apply;
mod args;
mod audit;
mod backup;
mod batches;
mod brief;
mod check;
mod completions;
mod consolidate;
mod doctor;
mod edit;
mod embed;
mod encrypt;
mod eval;
mod exit;
mod export;
mod forget;
mod formats;
mod health;
mod hook;
mod import;
mod inbox;
mod init;
mod inspect;
mod jobs;
mod limits;
mod list;
mod maintain;
mod mcp;
mod printer;
mod projects;
mod question;
mod remember;
mod report;
mod run;
mod runs;
mod search;
mod serve;
mod sources;
mod spend;
mod stats;
mod undo;
mod watch;
mod when;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use args::{Context, Global};
use exit::ExitStatus;
use printer::Printer;

/// Turn conversation logs into memories that can be searched, traced and undone
#[derive(Debug, Parser)]
#[command(name = "afterthought", version, arg_required_else_help = true, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Plan(run::PlanArgs),
    Apply(apply::ApplyArgs),
    Sources(sources::SourcesArgs),
    Formats(formats::FormatsArgs),
    Remember(remember::RememberArgs),
    Search(search::SearchArgs),
    Brief(brief::BriefArgs),
    Embed(embed::EmbedArgs),
    List(list::ListArgs),
    Show(inspect::ShowArgs),
    Why(inspect::WhyArgs),
    History(inspect::HistoryArgs),
    Update(edit::UpdateArgs),
    Pin(edit::PinArgs),
    Forget(forget::ForgetArgs),
    Restore(edit::RestoreArgs),
    Relate(edit::RelateArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Inbox(inbox::InboxArgs),
    Consolidate(consolidate::ConsolidateArgs),
    Runs(runs::RunsArgs),
    Spend(spend::SpendArgs),
    Batches(batches::BatchesArgs),
    Jobs(jobs::JobsArgs),
    Watch(watch::WatchArgs),
    Hook(hook::HookArgs),
    Undo(undo::UndoArgs),
    Projects(projects::ProjectsArgs),
    Stats(stats::StatsArgs),
    #[command(alias = "clean")]
    Maintain(maintain::MaintainArgs),
    Backup(backup::BackupArgs),
    RestoreBackup(backup::RestoreBackupArgs),
    Audit(audit::AuditArgs),
    Encrypt(encrypt::EncryptArgs),
    Decrypt(encrypt::DecryptArgs),
    Check(check::CheckArgs),
    Repair(check::RepairArgs),
    Mcp(mcp::McpArgs),
    Serve(serve::ServeArgs),
    Eval(eval::EvalArgs),
    Init(init::InitArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
}

/// Parses the arguments, runs the command, and reports an error as one line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Clap prints help and version to standard output, mistakes to standard error.
            match one_line(&error) {
                Some(line) => Printer::new(printer::Output::Human, printer::Verbosity::Normal).error_text(&line),
                None => drop(error.print()),
            }
            // To an agent, the exit code of a mistake would mean that the person's prompt is refused.
            let is_failure = error.use_stderr() && !hook::is_called();
            return if is_failure { ExitStatus::Error } else { ExitStatus::Success }.into();
        }
    };
    limits::take_as_errors();
    let out = cli.global.printer();
    cli.global.start_tracing();
    let status = dispatch(&cli, &out).unwrap_or_else(|error| {
        // A reader such as `head` that has seen enough is no failure.
        if is_broken_pipe(&error) {
            return ExitStatus::Success;
        }
        out.error(&error);
        ExitStatus::Error
    });
    status.into()
}

fn dispatch(cli: &Cli, out: &Printer) -> anyhow::Result<ExitStatus> {
    let context = Context { global: &cli.global, out };
    let status = answer(&cli.command, &context)?;
    if says_new_things(&cli.command) {
        embed::catch_up(&context);
    }
    Ok(status)
}

/// Whether a command writes memories that may say something new.
fn says_new_things(command: &Command) -> bool {
    let is_dry = match command {
        Command::Run(args) => !args.writes(),
        Command::Import(args) => !args.writes(),
        Command::Consolidate(args) => !args.writes(),
        Command::Apply(args) => !args.writes(),
        Command::Undo(args) => !args.writes(),
        command => {
            !matches!(command, Command::Remember(_) | Command::Update(_) | Command::Restore(_) | Command::Inbox(_))
        }
    };
    !is_dry
}

fn answer(command: &Command, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match command {
        Command::Run(args) => run::run(args, context),
        Command::Plan(args) => run::plan(args, context),
        Command::Apply(args) => apply::run(args, context),
        Command::Sources(args) => sources::run(args, context),
        Command::Formats(args) => formats::run(args, context),
        Command::Remember(args) => remember::run(args, context),
        Command::Search(args) => search::run(args, context),
        Command::Brief(args) => brief::run(args, context),
        Command::Embed(args) => embed::run(args, context),
        Command::List(args) => list::run(args, context),
        Command::Show(args) => inspect::show(args, context),
        Command::Why(args) => inspect::why(args, context),
        Command::History(args) => inspect::history(args, context),
        Command::Update(args) => edit::update(args, context),
        Command::Pin(args) => edit::pin(args, context),
        Command::Forget(args) => forget::run(args, context),
        Command::Restore(args) => edit::restore(args, context),
        Command::Relate(args) => edit::relate(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Inbox(args) => inbox::run(args, context),
        Command::Consolidate(args) => consolidate::run(args, context),
        Command::Runs(args) => runs::list(args, context),
        Command::Spend(args) => spend::run(args, context),
        Command::Batches(args) => batches::run(args, context),
        Command::Jobs(args) => jobs::run(args, context),
        Command::Watch(args) => watch::run(args, context),
        Command::Hook(args) => Ok(hook::run(args, context)),
        Command::Undo(args) => undo::run(args, context),
        Command::Projects(args) => projects::run(args, context),
        Command::Stats(args) => stats::run(args, context),
        Command::Maintain(args) => maintain::run(args, context),
        Command::Backup(args) => backup::run(args, context),
        Command::RestoreBackup(args) => backup::restore(args, context),
        Command::Audit(args) => audit::run(args, context),
        Command::Encrypt(args) => encrypt::encrypt(args, context),
        Command::Decrypt(args) => encrypt::decrypt(args, context),
        Command::Check(args) => check::run(args, context),
        Command::Repair(args) => check::repair(args, context),
        Command::Mcp(args) => mcp::run(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Eval(args) => eval::run(args, context),
        Command::Init(args) => init::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Completions(args) => completions::run(args, context.out),
    }
}

/// Returns a value that cannot be used and why, which is all there is to tell; other mistakes need the usage, too.
fn one_line(error: &clap::Error) -> Option<String> {
    let is_value = matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
    let text = is_value.then(|| error.to_string())?;
    let said = text.lines().take_while(|line| !line.starts_with("For more information")).map(str::trim);
    let line = said.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    Some(line.strip_prefix("error: ").unwrap_or(&line).to_owned())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Returns the whole command for shell completions.
fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
