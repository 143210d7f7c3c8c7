//! `hook`: the command that agents call. After any failure, it still exits in time with code 0.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::api::{ENVIRONMENT_MARK, EscapeMode, Selection, denied_paths, escaped, query_vectors, start_detached};
use crate::config::{Config, Folders, Partial};
use crate::serve::hook::{Agent, Event, HookCall, HookLog, HookOutput, Input, handle, read_input};
use anyhow::{Context as _, anyhow};

use super::args::{Context, Global, now};
use super::exit::ExitStatus;
use super::printer::{spelled, words_only};

/// Handle a hook event of an agent; `agent install` sets it up
///
/// Reads one JSON object from standard input, writes one JSON object or nothing to standard output, and always exits 0
/// within the time limit. Errors go to the log beside the database, which `status --check` names.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct HookArgs {
    /// session-start, user-prompt-submit, pre-tool-use, post-tool-use, post-tool-use-failure, stop, subagent-stop,
    /// pre-compact or session-end
    event: String,
    /// Agent that calls the hook: claude-code or codex
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    format: String,
    /// Learn from sessions of sub-agents, too
    #[arg(long)]
    subagents: bool,
    /// Maximum time in milliseconds [default: 1000, or 2000 where memories are shown]
    #[arg(long, value_name = "N")]
    limit_ms: Option<u64>,
}

/// Maximum wait for an agent that is still reading the output when the time limit is reached.
const MAX_SPEAKING: Duration = Duration::from_millis(200);
/// Command that synchronises in the background.
pub(crate) const BACKGROUND_SYNC: &[&str] = &["db", "sync", "now", "--background"];
/// Maximum wait for the vector of a prompt; after that, the search uses words alone.
const MAX_WAIT_FOR_VECTOR: Duration = Duration::from_millis(800);

pub(crate) fn run(args: &HookArgs, context: &Context<'_>) -> ExitStatus {
    let begun = Instant::now();
    // Agents that a worker starts call hooks as well, and these must not start further workers.
    if std::env::var_os(ENVIRONMENT_MARK).is_some() {
        return ExitStatus::Success;
    }
    let (Some(event), Ok(agent)) = (Event::named(&args.event), args.format.parse::<Agent>()) else {
        context.out.warn(format_args!("{} has no hook {}; nothing was done", args.format, args.event));
        return ExitStatus::Success;
    };
    let limit = Duration::from_millis(args.limit_ms.unwrap_or(event.limit_ms()));
    // An error is not returned here: the log must be found even with faulty settings, since nobody reads standard
    // error.
    let settings = context.global.settings(Partial::default());
    let log = log(context.global, settings.as_ref().ok());
    let (args, global, speaking) = (args.clone(), context.global.clone(), Mutex::default());
    let work = Arc::new(Work { args, global, agent, event, limit, deadline: begun + limit, log, speaking });
    let outcome = settings.and_then(|settings| in_time(&work, settings));
    if let Err(error) = outcome {
        work.note(&spelled(&error));
    }
    ExitStatus::Success
}

/// Does the work while a watchdog thread monitors the time, since only exiting the process can stop work that hangs.
/// The work runs on this thread because memory for another thread is allocated in many small pieces.
fn in_time(work: &Arc<Work>, settings: Config) -> anyhow::Result<()> {
    // The default message would only end up in the agent's own log; the error is recorded in the program's own log.
    std::panic::set_hook(Box::new(|_| {}));
    let (over, clock) = channel::<()>();
    let watched = Arc::clone(work);
    std::thread::Builder::new().spawn(move || watched.exit_when_late(&clock)).context("cannot start")?;
    // A panic would exit with code 101, which the agent would report to the person as a failed hook.
    let done = catch_unwind(AssertUnwindSafe(|| work.go(settings)));
    // Dropping the sender wakes the watchdog, which then returns instead of exiting the process.
    drop(over);
    done.unwrap_or_else(|_| Err(anyhow!("the hook stopped unexpectedly; please report this")))
}

fn log(global: &Global, settings: Option<&Config>) -> Option<HookLog> {
    let database = settings.map(|settings| settings.db.value.clone()).or_else(|| global.db.clone());
    // A log in the default place still helps if the settings with the path of the database cannot be read.
    let database = database.or_else(|| Some(Folders::of_platform().ok()?.default_db));
    database.map(|database| HookLog::beside(&database))
}

struct Work {
    args: HookArgs,
    global: Global,
    agent: Agent,
    event: Event,
    limit: Duration,
    deadline: Instant,
    log: Option<HookLog>,
    /// Held while the output is written, so that the watchdog does not exit in the middle of a JSON object.
    speaking: Mutex<()>,
}

impl Work {
    /// Writes a line to the log, if its path is known.
    fn note(&self, message: &str) {
        if let Some(log) = &self.log {
            log.note(&format!("{} {}", self.agent.as_str(), self.event.as_str()), message, now());
        }
    }

    /// Exits the process when the time limit is reached, unless `clock` is closed before.
    fn exit_when_late(&self, clock: &Receiver<()>) {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // `Disconnected` means that the work was finished in time.
        if clock.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        self.note("the hook took too long and was stopped");
        // An incomplete answer would be worse than none, but an agent that does not read must not block the exit for
        // long.
        let begun = Instant::now();
        // `lock` would wait forever: an agent that stops reading would block the writer, and with it the watchdog.
        let mut speaking = self.speaking.try_lock();
        while speaking.is_err() && begun.elapsed() < MAX_SPEAKING {
            std::thread::sleep(Duration::from_millis(5));
            speaking = self.speaking.try_lock();
        }
        // Only exiting the process can stop a thread that hangs.
        std::process::exit(0);
    }

    fn go(&self, settings: Config) -> anyhow::Result<()> {
        let input = read_input(std::io::stdin().lock())?;
        // The process's folder may differ from the session's, and the settings of the session's folder apply.
        let settings = match input.cwd.as_deref().filter(|cwd| cwd.is_dir()) {
            Some(cwd) if std::env::current_dir().ok().as_deref() != Some(cwd) => {
                self.global.settings_at(cwd, Partial::default())?
            }
            _ => settings,
        };
        // This is checked before anything is embedded or stored, so that nothing from an excluded session leaves the
        // process.
        if is_denied(&settings, &input)? {
            return Ok(());
        }
        // A slow embedding server must leave time for the search and the answer.
        let within = MAX_WAIT_FOR_VECTOR.min(self.limit.mul_f64(0.4));
        let vectors = query_vectors(&settings, within);
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
            // Agents expect one JSON object at most; a second one would make the output invalid.
            if !std::mem::replace(&mut is_answered, true) {
                let _speaking = self.speaking.lock();
                // It is not an error if the agent has closed its end of the pipe.
                let mut out = std::io::stdout().lock();
                writeln!(out, "{}", escaped(&output.json(event).to_string(), EscapeMode::Json))
                    .and_then(|()| out.flush())
                    .ok();
            }
        };
        let follow_up = handle(&call, now(), &mut say)?;
        if let Some(error) = follow_up.fallback {
            self.note(&words_only(error));
        }
        // The worker is started last: the agent already has its answer, so a slow start delays nobody.
        if follow_up.wants_worker {
            start(&self.global, &call.config.db.value, &["runs", "work", "--detached"])
                .context("cannot start the worker; `afterthought runs work` processes the queue")?;
        }
        if follow_up.wants_sync {
            start(&self.global, &call.config.db.value, BACKGROUND_SYNC)
                .context("cannot synchronise; `afterthought db sync now` does it later")?;
        }
        Ok(())
    }
}

/// Whether the session takes place in a folder that the settings exclude.
fn is_denied(settings: &Config, input: &Input) -> anyhow::Result<bool> {
    let denied = Selection { deny: denied_paths(settings)?, ..Selection::default() };
    // The transcript is checked as well, because it may be in a different folder from the one that the session works
    // in.
    let places = [&input.cwd, &input.transcript].into_iter().flatten();
    Ok(places.into_iter().any(|place| denied.leaves_file(place, None).is_some()))
}

/// Starts a command of this program for `database`, outside the folder of the session.
pub(crate) fn start(global: &Global, database: &Path, command: &[&str]) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    // The command runs in another folder, where relative paths would refer to other files.
    let database = std::path::absolute(database)?;
    let config = global.config.as_deref().map(std::path::absolute).transpose()?;
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let mut arguments = vec!["--db".to_owned(), text(&database)];
    arguments.extend(config.iter().flat_map(|config| ["--config".to_owned(), text(config)]));
    arguments.extend(global.namespace.iter().flat_map(|name| ["--namespace".to_owned(), name.to_string()]));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(command.iter().copied()).collect();
    // A process in the session's folder would prevent the folder from being removed on Windows, or unmounted on Unix.
    let folder = database.parent().unwrap_or(Path::new("/"));
    start_detached(&program, &arguments, folder)
}
