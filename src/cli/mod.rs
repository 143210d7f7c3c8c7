//! The command line: each command parses its arguments, calls the library, prints, and chooses the exit code.

mod agent;
mod apply;
mod args;
mod brief;
mod changes;
mod config;
mod consolidate;
mod db;
mod edit;
mod embed;
mod eval;
mod exit;
mod forget;
mod hook;
mod hosts;
mod import;
mod inbox;
mod inspect;
mod list;
mod model;
mod printer;
mod projects;
#[cfg(feature = "scale")]
mod queue;
mod remember;
mod report;
mod run;
mod runs;
mod search;
mod serve;
mod service;
mod setup;
mod sources;
mod status;
mod sync;
mod team;
#[cfg(feature = "otel")]
mod telemetry;
mod undo;
mod work;
mod worker;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::error::ErrorKind;
use clap::{FromArgMatches as _, Parser, Subcommand};

use crate::api::refuse_secret_namespace;
use args::{Context, Global};
use exit::ExitStatus;
use printer::Printer;

/// Turn conversation logs into searchable memories, with evidence and undo
#[derive(Debug, Parser)]
#[command(name = "afterthought", version, arg_required_else_help = true)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
#[command(after_help = "Run `afterthought COMMAND --help` for the options of a command.")]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Remember(remember::RememberArgs),
    Search(search::SearchArgs),
    Brief(brief::BriefArgs),
    Blame(work::BlameArgs),
    Fix(work::FixArgs),
    How(work::HowArgs),
    Inbox(inbox::InboxArgs),
    Undo(undo::UndoArgs),
    Status(status::StatusArgs),
    /// Show, edit, forget and link memories
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Find and watch conversation logs
    #[command(subcommand)]
    Log(LogCommand),
    /// Show, plan, apply and retry runs
    #[command(subcommand)]
    Runs(RunsCommand),
    /// List, name and merge projects
    #[command(subcommand)]
    Project(projects::ProjectCommand),
    Setup(setup::SetupArgs),
    /// Install hooks in coding agents
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Serve memories to agents, or show them in a browser
    #[command(subcommand)]
    Serve(ServeCommand),
    Import(import::ImportArgs),
    Export(import::ExportArgs),
    /// Back up, check, maintain, encrypt and synchronise the database
    #[command(subcommand)]
    Db(DbCommand),
    /// Show settings, or write a settings file or completions
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Eval(eval::EvalArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    List(list::ListArgs),
    /// Show a memory with its evidence and relations, or a task
    #[command(after_help = "Example:\n  afterthought memory show 3fa2c1d9")]
    Show(inspect::OneMemory),
    /// Show the evidence for a memory and the decisions about it
    #[command(after_help = "Example:\n  afterthought memory why 3fa2c1d9")]
    Why(inspect::OneMemory),
    /// Show every change to a memory, oldest first
    #[command(after_help = "Example:\n  afterthought memory history 3fa2c1d9")]
    History(inspect::OneMemory),
    /// Show the profiles of the user and the project
    ///
    /// A profile is assembled from memories: attributes such as languages and tools, preferences, conventions and
    /// decisions. Each value is shown with its memory and a quote. Shows the user and the project of this folder;
    /// --namespace selects another project or user. Exits 1 when the profiles are empty.
    #[command(after_help = "Example:\n  afterthought memory profile --namespace project/shop")]
    Profile,
    Update(edit::UpdateArgs),
    Pin(edit::PinArgs),
    Forget(forget::ForgetArgs),
    Restore(edit::RestoreArgs),
    Relate(edit::RelateArgs),
    Promote(team::PromoteArgs),
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "the value is parsed only once, when the program starts")]
enum LogCommand {
    List(sources::SourcesArgs),
    /// List supported log formats
    ///
    /// With -v, also shows how each format is recognised. Formats are recognised by content, unless you pass `run
    /// --format NAME`.
    #[command(after_help = "Example:\n  afterthought log formats -v")]
    Formats,
    Watch(worker::WatchArgs),
    Service(service::ServiceArgs),
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "the value is parsed only once, when the program starts")]
enum RunsCommand {
    List(runs::RunsArgs),
    Show(runs::ShowRunArgs),
    Plan(run::PlanArgs),
    Apply(apply::ApplyArgs),
    Batches(runs::BatchesArgs),
    Queue(runs::QueueArgs),
    Retry(runs::RetryArgs),
    Cancel(runs::CancelArgs),
    Work(worker::WorkArgs),
}

#[derive(Debug, Subcommand)]
enum ServeCommand {
    /// Serve an agent over standard input and output
    ///
    /// Serves the project of the working directory and the global namespace, or only --namespace; a client cannot access
    /// any other namespace. Exits when the input ends.
    #[command(after_help = "Example:\n  claude mcp add afterthought -- afterthought serve mcp")]
    Mcp(serve::Served),
    Http(serve::HttpArgs),
    Ui(serve::UiArgs),
    #[cfg(feature = "scale")]
    Worker(Box<queue::WorkerArgs>),
}

#[derive(Debug, Subcommand)]
enum DbCommand {
    Backup(db::BackupArgs),
    Restore(db::RestoreBackupArgs),
    /// Check the database: pages, links, indexes, and history
    ///
    /// Does not change the database. Exits 3 if there is a fault; `db repair` repairs what it can.
    #[command(after_help = "Example:\n  afterthought db check")]
    Check,
    /// Repair the database
    ///
    /// Copies the database to the same folder, then rebuilds the indexes and moves orphaned rows to a file. If pages
    /// are damaged, copies every readable row to a new file and reports the number of lost rows for each table. Before
    /// you run this command, close other programs that use the database. The text of memories never changes. Exits 3 if
    /// a fault remains or a row was lost.
    #[command(after_help = "Example:\n  afterthought db repair")]
    Repair,
    Maintain(db::MaintainArgs),
    Consolidate(consolidate::ConsolidateArgs),
    Embed(embed::EmbedArgs),
    Audit(db::AuditArgs),
    Encrypt(db::EncryptArgs),
    /// Decrypt the database
    ///
    /// Reads the key from the same places as `db encrypt`. Afterwards, anyone who can read the file can read your
    /// memories.
    #[command(after_help = "Example:\n  afterthought db decrypt")]
    Decrypt,
    /// Keep memories in sync between machines
    #[command(subcommand)]
    Sync(sync::SyncCommand),
}

/// The commands as `--help` groups them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Daily use", &["run", "search", "remember", "brief", "inbox", "undo", "status"]),
    ("What was done", &["blame", "fix", "how"]),
    ("What is stored", &["memory", "log", "runs", "project"]),
    ("Agents", &["setup", "agent", "serve"]),
    ("Data and settings", &["import", "export", "db", "config", "eval"]),
];

/// Style of headings in help texts, which Clap writes without using the printer.
const HEADING: anstyle::Style = anstyle::Style::new().bold();

/// Returns the whole command line, with the commands in groups, and help that fits on one screen.
///
/// Clap has two forms of help; in the long form, each option takes three lines. Here, `-h` and `--help` print the same
/// text: the full description of the command, its examples, and one line per option, with global options last.
fn command() -> clap::Command {
    // Clap cannot group subcommands under headings, so the list is written by hand into the template.
    let command = <Cli as clap::CommandFactory>::command();
    let mut help = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        write!(help, "\n{HEADING}{title}:{HEADING:#}\n").expect("writing to a String cannot fail");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            writeln!(help, "  {name:<12} {about}").expect("writing to a String cannot fail");
        }
    }
    write!(help, "\n{HEADING}Global options:{HEADING:#}\n{{options}}{{after-help}}")
        .expect("writing to a String cannot fail");
    command.mut_subcommands(compact).help_template(help)
}

fn compact(command: clap::Command) -> clap::Command {
    // These are set as the texts before and after the help, because the template then controls their position and both
    // forms print the same.
    let about = command.get_long_about().or(command.get_about()).cloned().unwrap_or_default();
    let examples = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let command = command.before_help(about).after_help("").mut_subcommands(compact);
    command.help_template(format!("{{before-help}}{{usage-heading}} {{usage}}\n\n{examples}{{all-args}}"))
}

/// Parses the arguments, runs the command, and reports an error as one line.
#[must_use]
pub fn main() -> ExitCode {
    if let Err(error) = args::check_clock(SystemTime::now()) {
        Printer::new(printer::Output::Human, printer::Verbosity::Normal).error(&error);
        return if args::is_hook() { ExitStatus::Success } else { ExitStatus::Error }.into();
    }
    // The texts of the help are assembled only to be printed, because that takes longer than parsing.
    let parsed = parse(<Cli as clap::CommandFactory>::command()).or_else(|error| match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _ => parse(command()),
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Clap prints help and version to standard output. An error repeats the arguments, which may contain control
            // characters.
            if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                Printer::new(printer::Output::Human, printer::Verbosity::Normal).error_text(&message(&error));
            } else {
                drop(error.print());
            }
            // An agent would interpret the exit code of a usage error as a rejection of the person's prompt.
            let is_failure = error.use_stderr() && !args::is_hook();
            return if is_failure { ExitStatus::Error } else { ExitStatus::Success }.into();
        }
    };
    exit::take_limits_as_errors();
    let out = cli.global.printer();
    cli.global.start_tracing();
    let status = dispatch(&cli, &out).unwrap_or_else(|error| {
        // It is not an error if a reader such as `head` stops reading.
        if printer::is_broken_pipe(&error) {
            return ExitStatus::Success;
        }
        out.error(&error);
        ExitStatus::Error
    });
    #[cfg(feature = "otel")]
    telemetry::finish();
    status.into()
}

fn parse(command: clap::Command) -> Result<Cli, clap::Error> {
    command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches))
}

fn dispatch(cli: &Cli, out: &Printer) -> anyhow::Result<ExitStatus> {
    let context = Context { global: &cli.global, out };
    // Some commands write the namespace without reading the settings. A hook must not fail, and reads the settings.
    if let Some(namespace) = cli.global.namespace.as_ref().filter(|_| !args::is_hook()) {
        refuse_secret_namespace(namespace)?;
    }
    if matches!(cli.command, Command::Run(_) | Command::Remember(_) | Command::Search(_) | Command::Brief(_)) {
        import::offer_notes(&context)?;
    }
    let status = answer(&cli.command, &context)?;
    // Vectors are not computed after an error: possibly nothing was written, and a warning would distract from the
    // error.
    if says_new_things(&cli.command) {
        embed::catch_up(&context);
    }
    Ok(status)
}

/// Whether a command may have added or changed the text of memories.
fn says_new_things(command: &Command) -> bool {
    use MemoryCommand as Memory;
    match command {
        Command::Run(args) => args.writes(),
        Command::Import(args) => args.writes(),
        Command::Undo(args) => args.writes(),
        Command::Runs(RunsCommand::Apply(args)) => args.writes(),
        Command::Db(DbCommand::Consolidate(args)) => args.writes(),
        Command::Remember(_)
        | Command::Inbox(_)
        | Command::Memory(Memory::Update(_) | Memory::Restore(_))
        | Command::Db(DbCommand::Sync(sync::SyncCommand::Now(_))) => true,
        _ => false,
    }
}

fn answer(called: &Command, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match called {
        Command::Run(args) => run::run(args, context),
        Command::Remember(args) => remember::run(args, context),
        Command::Search(args) => search::run(args, context),
        Command::Brief(args) => brief::run(args, context),
        Command::Blame(args) => work::blame(args, context),
        Command::Fix(args) => work::fix(args, context),
        Command::How(args) => work::how(args, context),
        Command::Inbox(args) => inbox::run(args, context),
        Command::Undo(args) => undo::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Memory(command) => match command {
            MemoryCommand::List(args) => list::run(args, context),
            MemoryCommand::Show(args) => inspect::show(args, context),
            MemoryCommand::Why(args) => inspect::why(args, context),
            MemoryCommand::History(args) => inspect::history(args, context),
            MemoryCommand::Profile => inspect::profile(context),
            MemoryCommand::Update(args) => edit::update(args, context),
            MemoryCommand::Pin(args) => edit::pin(args, context),
            MemoryCommand::Forget(args) => forget::run(args, context),
            MemoryCommand::Restore(args) => edit::restore(args, context),
            MemoryCommand::Relate(args) => edit::relate(args, context),
            MemoryCommand::Promote(args) => team::promote(args, context),
        },
        Command::Log(command) => match command {
            LogCommand::List(args) => sources::run(args, context),
            LogCommand::Formats => sources::formats(context),
            LogCommand::Watch(args) => worker::watch(args, context),
            LogCommand::Service(args) => service::run(args, context),
        },
        Command::Runs(command) => match command {
            RunsCommand::List(args) => runs::list(args, context),
            RunsCommand::Show(args) => runs::show(args, context),
            RunsCommand::Plan(args) => run::plan(args, context),
            RunsCommand::Apply(args) => apply::run(args, context),
            RunsCommand::Batches(args) => runs::batches(args, context),
            RunsCommand::Queue(args) => runs::queue(args, context),
            RunsCommand::Retry(args) => runs::retry(args, context),
            RunsCommand::Cancel(args) => runs::cancel(args, context),
            RunsCommand::Work(args) => worker::run(args, context),
        },
        Command::Project(command) => projects::run(command, context),
        Command::Agent(command) => agent::run(command, context),
        Command::Serve(ServeCommand::Mcp(args)) => serve::mcp(args, context),
        Command::Serve(ServeCommand::Http(args)) => serve::http(args, context),
        Command::Serve(ServeCommand::Ui(args)) => serve::ui(args, context),
        #[cfg(feature = "scale")]
        Command::Serve(ServeCommand::Worker(args)) => queue::work(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Export(args) => import::export(args, context),
        Command::Db(command) => match command {
            DbCommand::Backup(args) => db::backup(args, context),
            DbCommand::Restore(args) => db::restore(args, context),
            DbCommand::Check => db::check(context),
            DbCommand::Repair => db::repair(context),
            DbCommand::Maintain(args) => db::maintain(args, context),
            DbCommand::Consolidate(args) => consolidate::run(args, context),
            DbCommand::Embed(args) => embed::run(args, context),
            DbCommand::Audit(args) => db::audit(args, context),
            DbCommand::Encrypt(args) => db::encrypt(args, context),
            DbCommand::Decrypt => db::decrypt(context),
            DbCommand::Sync(command) => sync::run(command, context),
        },
        Command::Config(of_config) => config::run(of_config, command, context),
        Command::Eval(args) => eval::run(args, context),
        Command::Setup(args) => setup::run(args, context),
        Command::Hook(args) => Ok(hook::run(args, context)),
    }
}

/// Returns the message for an invalid value on one line; other usage errors need the usage, too.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
        return text.to_owned();
    }
    // Clap reports an invalid value on several lines, with usage and a hint; one line is easier for scripts and agents.
    let said = text.lines().take_while(|line| !line.starts_with("For more information")).map(str::trim);
    said.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    /// Appends the help of `command` and of all its subcommands, formatted for 80 columns.
    fn reference(command: &mut clap::Command, path: &str, text: &mut String) {
        let help = command.clone().term_width(80).render_help().to_string();
        // The global options are the same everywhere, and appear in the first help.
        let own = if path.contains(' ') { help.split("\nGlobal options:\n").next().unwrap_or_default() } else { &help };
        write!(text, "## {path}\n\n```text\n{}\n```\n\n", own.trim_end()).unwrap();
        for sub in command.get_subcommands_mut().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            reference(sub, &path, text);
        }
    }

    #[test]
    fn the_reference_of_commands_is_what_help_prints() {
        let mut whole = command().term_width(80);
        whole.build();
        let mut text =
            "# Commands\n\nThis page is generated: `AFTERTHOUGHT_UPDATE=1 cargo test reference` updates it.\n\n"
                .to_owned();
        reference(&mut whole, "afterthought", &mut text);
        let text = text.trim_end().to_owned() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/commands.md");
        if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text, "AFTERTHOUGHT_UPDATE=1 writes the page anew");
        let is_long = |line: &&str| line.chars().count() > 80 && !line.starts_with("  afterthought eval");
        let too_long: Vec<_> = text.lines().skip(4).filter(is_long).collect();
        assert_eq!(too_long, [""; 0]);
    }

    /// Verbs with which a line of help may begin.
    const VERBS: &[&str] = &[
        "Accept", "Apply", "Back", "Check", "Compare", "Compute", "Connect", "Decrypt", "Edit", "Encrypt", "Export",
        "Find", "Forget", "Import", "Install", "Judge", "Keep", "Link", "List", "Measure", "Merge", "Name", "Pin",
        "Print", "Process", "Promote", "Reject", "Remove", "Repair", "Replace", "Restore", "Retry", "Review", "Run",
        "Search", "Send", "Serve", "Share", "Show", "Stop", "Store", "Trust", "Turn", "Undo", "Watch", "Write",
    ];

    #[test]
    fn each_help_begins_with_a_verb_and_each_command_has_an_example() {
        fn walk(command: &clap::Command, path: &str, wrong: &mut Vec<String>) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            if !VERBS.iter().any(|verb| about.split([' ', ',']).next() == Some(verb)) {
                wrong.push(format!("{path}: {about}"));
            }
            let example = format!("afterthought {}", path.trim());
            if !command.has_subcommands()
                && !command.get_after_help().is_some_and(|help| help.to_string().contains(&example))
            {
                wrong.push(format!("{path}: no example"));
            }
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                walk(sub, &format!("{path} {}", sub.get_name()), wrong);
            }
        }
        let mut wrong = Vec::new();
        walk(&<Cli as clap::CommandFactory>::command(), "", &mut wrong);
        assert_eq!(wrong, [""; 0]);
    }

    #[test]
    fn an_option_with_one_value_is_refused_when_it_is_given_twice() {
        /// Returns the command with options that take any text, because a wrong value would be refused first.
        fn with_any_values(command: clap::Command) -> clap::Command {
            let any = clap::builder::ValueParser::string;
            let takes_one = |option: &clap::Arg| matches!(option.get_action(), clap::ArgAction::Set);
            let command = command.mut_args(|one| if takes_one(&one) { one.value_parser(any()) } else { one });
            command.mut_subcommands(with_any_values)
        }
        fn walk(whole: &clap::Command, at: &clap::Command, path: &[String], tried: &mut usize) {
            for option in at.get_arguments().filter(|one| matches!(one.get_action(), clap::ArgAction::Set)) {
                let Some(name) = option.get_long().map(|name| format!("--{name}")) else { continue };
                let given = [&name, "x", &name, "x"].map(str::to_owned);
                let parsed = whole.clone().try_get_matches_from(path.iter().cloned().chain(given));
                assert_eq!(parsed.unwrap_err().kind(), ErrorKind::ArgumentConflict, "{path:?} {name}");
                *tried += 1;
            }
            for sub in at.get_subcommands() {
                walk(whole, sub, &[path, &[sub.get_name().to_owned()]].concat(), tried);
            }
        }
        let (whole, mut tried) = (with_any_values(command()), 0);
        walk(&whole, &whole, &["afterthought".to_owned()], &mut tried);
        assert!(tried > 100, "{tried}");
    }

    #[test]
    fn every_visible_command_stands_in_one_group() {
        let command = command();
        let mut visible: Vec<_> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
        assert!(grouped.len() <= 22, "{}", grouped.len());
    }
}
