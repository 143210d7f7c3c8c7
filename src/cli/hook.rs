//! `hook`: what agents call. Whatever is broken, it ends well and in time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use afterthought::config::{Config, Folders, Partial};
use afterthought::hooks::{
    Agent, Answer, Call, ENVIRONMENT_MARK, Event, HookLog, Input, handle, read_input, start_worker,
};
use afterthought::pipeline::Selection;
use anyhow::Context as _;

use super::args::{Context, Global, now};
use super::exit::ExitStatus;
use super::printer::spelled;
use super::run::{guard_of, patterns};

/// Answer a hook of an agent; `init claude-code` and `init codex` set it up
///
/// Reads one JSON object from standard input, writes one or nothing to standard output, and always exits 0 in time. What
/// went wrong stands in the log beside the database, which `doctor` names.
#[derive(Debug, Clone, clap::Args)]
pub struct HookArgs {
    /// session-start, user-prompt-submit, pre-tool-use, post-tool-use, post-tool-use-failure, stop, subagent-stop,
    /// pre-compact or session-end
    event: String,
    /// Agent that calls: claude-code or codex
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    format: String,
    /// Learn from sessions of sub-agents, too
    #[arg(long)]
    subagents: bool,
    /// Most milliseconds that it may take [default: 1000, or 2000 where memories are told]
    #[arg(long, value_name = "N")]
    limit_ms: Option<u64>,
}

/// What the thread that does the work says.
enum Said {
    /// One line of JSON.
    Answer(String),
    /// The work is over.
    Over(anyhow::Result<()>),
}

/// Whether an agent called, whatever it said besides.
pub fn is_called() -> bool {
    std::env::args().skip(1).any(|argument| argument == "hook")
}

pub fn run(args: &HookArgs, context: &Context<'_>) -> ExitStatus {
    let begun = Instant::now();
    // What a worker starts must not start workers.
    if std::env::var_os(ENVIRONMENT_MARK).is_some() {
        return ExitStatus::Success;
    }
    let (Ok(event), Ok(agent)) = (args.event.parse::<Event>(), args.format.parse::<Agent>()) else {
        context.out.warn(format_args!("there is no hook {} of {}; nothing is done", args.event, args.format));
        return ExitStatus::Success;
    };
    let limit = Duration::from_millis(args.limit_ms.unwrap_or(event.limit_ms()));
    let settings = context.global.settings(Partial::default());
    let log = log(context.global, settings.as_ref().ok());
    let work = Work { args: args.clone(), global: context.global.clone(), agent, event };
    let outcome = match settings {
        Ok(settings) => wait(work, settings, begun + limit),
        Err(error) => Err(error),
    };
    if let (Err(error), Some(log)) = (outcome, log) {
        log.note(&format!("{} {}", agent.as_str(), event.as_str()), &spelled(&error), now());
    }
    ExitStatus::Success
}

/// Lets a thread of its own do the work, since only the end of the process ends what hangs in it.
fn wait(work: Work, settings: Config, deadline: Instant) -> anyhow::Result<()> {
    // A message about it would only stand in the agent's own log.
    std::panic::set_hook(Box::new(|_| {}));
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().spawn(move || {
        let outcome = work.go(settings, &sender);
        sender.send(Said::Over(outcome)).ok();
    });
    thread.context("cannot start")?;
    let mut is_answered = false;
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Said::Answer(answer)) if !is_answered => {
                is_answered = true;
                // An agent that does not listen any more is no failure.
                let mut out = std::io::stdout().lock();
                writeln!(out, "{answer}").and_then(|()| out.flush()).ok();
            }
            Ok(Said::Answer(_)) => {}
            Ok(Said::Over(outcome)) => return outcome,
            Err(RecvTimeoutError::Timeout) => anyhow::bail!("it took too long and was given up"),
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("it ended in the middle; please report this"),
        }
    }
}

fn log(global: &Global, settings: Option<&Config>) -> Option<HookLog> {
    let database = settings.map(|settings| settings.db.value.clone()).or_else(|| global.db.clone());
    let database = database.or_else(|| Some(Folders::of_platform().ok()?.default_db));
    database.map(|database| HookLog::beside(&database))
}

struct Work {
    args: HookArgs,
    global: Global,
    agent: Agent,
    event: Event,
}

impl Work {
    fn go(&self, settings: Config, sender: &Sender<Said>) -> anyhow::Result<()> {
        let input = read_input(std::io::stdin().lock())?;
        // The agent may have been started elsewhere than where the session is held.
        let settings = match input.cwd.as_deref().filter(|cwd| cwd.is_dir()) {
            Some(cwd) => self.global.settings_at(cwd, Partial::default())?,
            None => settings,
        };
        if is_denied(&settings, &input)? {
            return Ok(());
        }
        let guard = guard_of(&settings);
        let call = Call {
            agent: self.agent,
            event: self.event,
            input,
            database: settings.db.value.clone(),
            namespace: settings.namespace.value.clone(),
            categories: settings.categories.value,
            memory: settings.memory,
            guard,
            subagents: self.args.subagents,
        };
        let event = self.event;
        let mut say = |answer: Answer| {
            sender.send(Said::Answer(answer.json(event).to_string())).ok();
        };
        let after = handle(&call, now(), &mut say)?;
        if after.wants_worker {
            start(&self.global, &call.database).context("cannot start the worker; `afterthought jobs work` does it")?;
        }
        Ok(())
    }
}

/// Whether the session is held where nothing is to be read.
fn is_denied(settings: &Config, input: &Input) -> anyhow::Result<bool> {
    let denied = Selection { exclude: patterns("the setting deny", &settings.deny.value)?, ..Selection::default() };
    let places = [&input.cwd, &input.transcript].into_iter().flatten();
    Ok(places.into_iter().any(|place| denied.leaves_file(place, None).is_some()))
}

/// Starts a worker for `database`, away from the folder of the session.
fn start(global: &Global, database: &Path) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let database = std::path::absolute(database)?;
    let config = global.config.as_deref().map(std::path::absolute).transpose()?;
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let mut arguments = vec!["--db".to_owned(), text(&database)];
    arguments.extend(config.iter().flat_map(|config| ["--config".to_owned(), text(config)]));
    arguments.extend(global.namespace.iter().flat_map(|name| ["--namespace".to_owned(), name.to_string()]));
    arguments.extend(["jobs", "work", "--detached"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let folder = database.parent().unwrap_or(Path::new("/"));
    start_worker(&program, &arguments, folder)
}
