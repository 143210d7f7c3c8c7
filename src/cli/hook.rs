//! `hook`: what agents call. Whatever is broken, it ends well and in time.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use afterthought::api::{ENVIRONMENT_MARK, Selection, denied_paths, query_vectors, start_worker};
use afterthought::config::{Config, Folders, Partial};
use afterthought::serve::hook::{Agent, Event, HookCall, HookLog, HookOutput, Input, handle, read_input};
use anyhow::{Context as _, anyhow};

use super::args::{Context, Global, now};
use super::exit::ExitStatus;
use super::printer::spelled;

/// Handle a hook event of an agent; `agent install` sets it up
///
/// Reads one JSON object from standard input, writes one or nothing to standard output, and always exits 0 in time. Errors go
/// to the log beside the database, which `status --check` names.
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

/// Longest wait for an agent that takes in an answer when the time is over.
const MAX_SPEAKING: Duration = Duration::from_millis(200);
/// Longest wait for the vector of a prompt; then it is looked for by words.
const MAX_WAIT_FOR_VECTOR: Duration = Duration::from_millis(800);

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
    let work = Work { args: args.clone(), global: context.global.clone(), agent, event, limit, log: log.clone() };
    let outcome = settings.and_then(|settings| within(begun + limit, &work, settings));
    if let Err(error) = outcome {
        work.note(&spelled(&error));
    }
    ExitStatus::Success
}

/// Does the work while another thread looks at the clock, since only the end of the process ends what hangs in it. It is
/// done here and not there because memory that another thread asks for comes in many small pieces.
fn within(deadline: Instant, work: &Work, settings: Config) -> anyhow::Result<()> {
    // A message about it would only stand in the agent's own log.
    std::panic::set_hook(Box::new(|_| {}));
    let speaking = Arc::new(Mutex::new(()));
    let (over, clock) = channel::<()>();
    let late = Late { deadline, speaking: Arc::clone(&speaking), log: work.log.clone(), who: work.who() };
    std::thread::Builder::new().spawn(move || late.watch(&clock)).context("cannot start")?;
    let done = catch_unwind(AssertUnwindSafe(|| work.go(settings, &speaking)));
    drop(over);
    done.unwrap_or_else(|_| Err(anyhow!("it ended in the middle; please report this")))
}

/// What ends the process when its time is over.
struct Late {
    deadline: Instant,
    speaking: Arc<Mutex<()>>,
    log: Option<HookLog>,
    who: String,
}

impl Late {
    fn watch(&self, clock: &Receiver<()>) {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if clock.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        if let Some(log) = &self.log {
            log.note(&self.who, "it took too long and was given up", now());
        }
        // Half an answer would be worse than none; but who does not listen is not waited for.
        let begun = Instant::now();
        let mut speaking = self.speaking.try_lock();
        while speaking.is_err() && begun.elapsed() < MAX_SPEAKING {
            std::thread::sleep(Duration::from_millis(5));
            speaking = self.speaking.try_lock();
        }
        // Nothing else ends what hangs.
        std::process::exit(0);
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
    limit: Duration,
    log: Option<HookLog>,
}

impl Work {
    fn who(&self) -> String {
        format!("{} {}", self.agent.as_str(), self.event.as_str())
    }

    /// Writes a line to the log, if there is one.
    fn note(&self, message: &str) {
        if let Some(log) = &self.log {
            log.note(&self.who(), message, now());
        }
    }

    fn go(&self, settings: Config, speaking: &Mutex<()>) -> anyhow::Result<()> {
        let input = read_input(std::io::stdin().lock())?;
        // The agent may have been started elsewhere than where the session is held.
        let settings = match input.cwd.as_deref().filter(|cwd| cwd.is_dir()) {
            Some(cwd) => self.global.settings_at(cwd, Partial::default())?,
            None => settings,
        };
        if is_denied(&settings, &input)? {
            return Ok(());
        }
        // The rest of the time is for what is done with it.
        let within = MAX_WAIT_FOR_VECTOR.min(self.limit.mul_f64(0.4));
        let vectors = query_vectors(&settings, &|name| std::env::var(name).ok(), within);
        let call = HookCall {
            agent: self.agent,
            event: self.event,
            input,
            config: settings,
            vectors,
            subagents: self.args.subagents,
        };
        let event = self.event;
        let mut is_answered = false;
        let mut say = |output: HookOutput| {
            if !std::mem::replace(&mut is_answered, true) {
                let _speaking = speaking.lock();
                // An agent that does not listen any more is no failure.
                let mut out = std::io::stdout().lock();
                writeln!(out, "{}", output.json(event)).and_then(|()| out.flush()).ok();
            }
        };
        let follow_up = handle(&call, now(), &mut say)?;
        if let Some(error) = follow_up.fallback {
            self.note(&format!("looked for by words alone: {}", spelled(&error.into())));
        }
        if follow_up.wants_worker {
            start(&self.global, &call.config.db.value)
                .context("cannot start the worker; `afterthought runs work` does it")?;
        }
        Ok(())
    }
}

/// Whether the session is held where nothing is to be read.
fn is_denied(settings: &Config, input: &Input) -> anyhow::Result<bool> {
    let denied = Selection { exclude: denied_paths(settings)?, ..Selection::default() };
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
    arguments.extend(["runs", "work", "--detached"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let folder = database.parent().unwrap_or(Path::new("/"));
    start_worker(&program, &arguments, folder)
}
