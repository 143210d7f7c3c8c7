//! `status`: counts, pending and failed work, costs, and checks of settings, database and hooks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::api::{
    DEFAULT_BASE_URL, DaySpending, Encryption, Health, HookFiring, JobStatus, Memories, NEAR_DAYS, Statistics,
    WATCH_LEASE, WORKER_LEASE, lists_embedding_model, lists_model, logins, model_settings, on_path,
};
use crate::config::{Config, Layer, printable_address};
use crate::serve::hook::{Agent, HookLog, Installed, commands_in};
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use serde_json::json;

use super::agent::{parsed, settings_of};
use super::args::{Context, now};
use super::exit::ExitStatus;
use super::model::runtime;
use super::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted, minute, size, spelled};

/// Show stored memories, pending work, failures and costs
///
/// Changes nothing. Does not contact a server, except that --check requests the list of models from the servers of the
/// model and of the vectors, free of charge. Exits 1 when there is no database yet.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought status\n  afterthought status --days 7\n  afterthought status --check"
)]
pub(crate) struct StatusArgs {
    /// Check settings, database, model and hooks; exit 3 on a fault
    #[arg(long, conflicts_with = "days")]
    check: bool,
    /// Show the cost of each of the last N days, including today
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    days: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Note,
    Bad,
}

struct Check {
    name: &'static str,
    state: State,
    finding: String,
}

impl Check {
    fn new(name: &'static str, state: State, finding: impl Into<String>) -> Self {
        Self { name, state, finding: finding.into() }
    }

    fn good(name: &'static str, finding: impl Into<String>) -> Self {
        Self::new(name, State::Good, finding)
    }

    fn note(name: &'static str, finding: impl Into<String>) -> Self {
        Self::new(name, State::Note, finding)
    }

    fn bad(name: &'static str, finding: impl Into<String>) -> Self {
        Self::new(name, State::Bad, finding)
    }
}

pub(crate) fn run(args: &StatusArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match args.days {
        Some(days) => spending_by_day(days, context),
        None if args.check => check(context),
        None => overview(context),
    }
}

fn overview(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let (statistics, out) = (memories.statistics()?, context.out);
    let spending = Spending::of(&memories)?;
    if out.is_json() {
        out.json(&All { statistics: &statistics, spending })?;
        return Ok(ExitStatus::Success);
    }
    let Statistics { stats, census, health } = &statistics;
    let active = stats.by_status.get("active").copied().unwrap_or(0);
    let split =
        if active == stats.memories { String::new() } else { format!("; {active} are active and counted below") };
    out.line(format_args!("{BOLD}{}{BOLD:#}{split}", counted(stats.memories, "memory")))?;
    let groups = [
        ("status", spell(&stats.by_status)),
        ("type", spell(&stats.by_type)),
        ("category", spell(&stats.by_category)),
        ("namespace", spell(&stats.by_namespace)),
        ("windows", spell(&stats.windows)),
        ("use tier", spell(&census.by_tier)),
        ("recent use", spell(&census.by_heat)),
    ];
    out.fields(10, groups)?;
    if census.over > 0 {
        let over = counted(census.over, "active memory");
        out.line(format_args!("the expiry time of {over} has passed; maintenance marks them as expired"))?;
    }
    if census.near_expiry + census.fading > 0 {
        let (near, fading) = (census.near_expiry, census.fading);
        out.line(format_args!("{near} expire within {NEAR_DAYS} days, {fading} have lost half of their confidence"))?;
    }
    out.line(format_args!(
        "{}, {}, {}, {}, {}, {}",
        counted(stats.evidence, "quote"),
        counted(stats.relations, "relation"),
        counted(stats.transcripts, "conversation"),
        counted(stats.replies, "stored reply"),
        counted(stats.runs, "run"),
        size(stats.bytes),
    ))?;
    let work = [
        ("backlog", Some(backlog(health))),
        ("failures", Some(failures(health))),
        ("last run", Some(last_run(health, now()))),
        ("spent", Some(spending.spelled())),
    ];
    out.fields(10, work)?;
    if let Some(waiting) = stats.by_status.get("pending") {
        out.line(format_args!("{waiting} pending in the inbox; see `afterthought inbox list`"))?;
    }
    for target in memories.sync_status()? {
        if let Some(error) = target.error {
            out.line(format_args!("{REMOVED}✗{REMOVED:#} not synchronised: {error}"))?;
        }
    }
    if stats.batch_requests > 0 {
        let waiting = counted(stats.batch_requests, "request");
        out.line(format_args!("{waiting} outstanding in batches; see `afterthought runs batches`"))?;
    }
    Ok(ExitStatus::Success)
}

/// Statistics and spending, printed as one JSON object.
#[derive(Serialize)]
struct All<'a> {
    #[serde(flatten)]
    statistics: &'a Statistics,
    spending: Spending,
}

/// Returns the counts, largest first, if there are any.
fn spell<K: Ord + std::fmt::Display>(counts: &BTreeMap<K, usize>) -> Option<String> {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let counts: Vec<String> = counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
    (!counts.is_empty()).then(|| counts.join(" · "))
}

fn check(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let checks = match context.settings() {
        Ok(config) => all(&config),
        // All other checks depend on the settings.
        Err(error) => vec![Check::bad("settings", spelled(&error))],
    };
    checks.iter().try_for_each(|check| print_check(check, context.out))?;
    let is_faulty = checks.iter().any(|check| check.state == State::Bad);
    Ok(if is_faulty { ExitStatus::Failures } else { ExitStatus::Success })
}

fn print_check(check: &Check, out: &Printer) -> std::io::Result<()> {
    let (mark, style, word) = match check.state {
        State::Good => ("✓", ADDED, "good"),
        State::Note => ("·", CHANGED, "note"),
        State::Bad => ("✗", REMOVED, "bad"),
    };
    let Check { name, finding, .. } = check;
    let value = json!({"check": name, "state": word, "finding": finding});
    out.show(&value, format_args!("{style}{mark}{style:#} {DIM}{name:<12}{DIM:#} {finding}"))
}

fn all(config: &Config) -> Vec<Check> {
    let mut checks = vec![settings(config), model(config), vectors(config)];
    checks.extend(denied_folders(config));
    let path = &config.db.value;
    // A failure to open is ignored here, because `database` reports it below.
    let reader = Memories::builder().config(config.clone()).read_only();
    let memories = if path.exists() { reader.open().ok() } else { None };
    let of_hooks = hook_checks(memories.as_ref(), path, now());
    // The connection that closes last removes the files of the write-ahead log, which a read-only connection cannot do.
    drop(memories);
    // The database is opened for writing, because a file that can be read but not written is a fault, too.
    checks.extend(database(path, config));
    checks.extend(of_hooks);
    checks
}

fn settings(config: &Config) -> Check {
    let set = config.each().into_iter().filter(|(_, _, layer)| **layer != Layer::Default);
    let set: Vec<_> = set.map(|(name, value, layer)| format!("{name} = {value} from {layer}")).collect();
    let finding = if set.is_empty() {
        "all have their defaults; `afterthought config init` explains them".to_owned()
    } else {
        set.join(", ")
    };
    Check::good("settings", finding)
}

/// Returns why an entry of `guard.deny` is not understood in the way in which it was probably meant.
fn unexpanded(entry: &str) -> Option<&'static str> {
    let is_at_home = |rest: &str| rest.starts_with(['/', '\\']);
    if entry.strip_prefix('~').is_some_and(|rest| !is_at_home(rest)) {
        return Some("only ~/ stands for your home folder");
    }
    if entry.starts_with(['$', '%']) {
        return Some("variables such as $HOME are not replaced; write ~/ or the full path");
    }
    entry.starts_with('!').then_some("every entry denies, and an exclamation mark has no meaning; remove the entry")
}

/// Returns the faults of entries of `guard.deny` that protect nothing: those that name a folder which does not exist, such
/// as mistyped ones, and those with something that is not expanded.
fn denied_folders(config: &Config) -> Vec<Check> {
    let home = etcetera::home_dir().ok();
    let missing = |entry: &String| {
        let is_at_home = entry.starts_with("~/") || entry.starts_with("~\\");
        let path = match (&home, is_at_home) {
            (Some(home), true) => home.join(&entry[2..]),
            _ => PathBuf::from(entry),
        };
        // The part before the first wildcard names a folder.
        let is_literal = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let named: PathBuf = path.components().take_while(is_literal).collect();
        path.is_absolute() && !named.exists()
    };
    let fault = |entry: &String| {
        let gone = || missing(entry).then_some("there is no such folder; correct or remove the entry");
        let why = unexpanded(entry).or_else(gone)?;
        Some(Check::new("guard.deny", State::Bad, format!("{entry:?} protects nothing: {why}")))
    };
    config.guard.deny.value.iter().filter_map(fault).collect()
}

fn model(config: &Config) -> Check {
    let key = &config.api_key_env.value;
    let settings = match model_settings(config) {
        Ok(Some(settings)) => settings,
        Ok(None) => {
            let logins: Vec<_> = logins().iter().map(|name| format!(" or AFTERTHOUGHT_MODEL={name}")).collect();
            let finding = format!(
                "none: a local Ollama server is used if one is running, otherwise the offline rules; set {key}, \
                 another provider's key or OPENAI_BASE_URL{}",
                logins.concat()
            );
            return Check::note("model", finding);
        }
        Err(error) => return Check::bad("model", spelled(&error.into())),
    };
    let from = match &settings.api_key {
        Some(_) => format!(", key from {}", settings.key_name),
        None if settings.base_url.is_empty() => String::new(),
        None => ", without a key".to_owned(),
    };
    let at = match settings.base_url.as_str() {
        "" => "through its program".to_owned(),
        DEFAULT_BASE_URL => "at OpenAI".to_owned(),
        url => format!("at {}", printable_address(config.base_url.value.as_deref().unwrap_or(url))),
    };
    let what = format!("{} {at}{from}", settings.model);
    // A key and an address alone do not show that a server answers.
    answer("model", &what, lists_model(&settings))
}

/// Checks whether a server answers.
fn answer(name: &'static str, what: &str, asked: impl Future<Output = Result<Option<bool>, String>>) -> Check {
    let answer = runtime().map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(asked));
    match answer {
        Ok(Some(true)) => Check::good(name, format!("{what}: the server replies")),
        Ok(None) => Check::note(
            name,
            format!("{what}: the server replies, but not with a list of models; most addresses end in /v1"),
        ),
        Ok(Some(false)) => {
            Check::note(name, format!("{what}: the server replies, but its list of models does not contain this name"))
        }
        Err(why) => Check::bad(name, format!("{what}: {why}; check the address, the key and the network")),
    }
}

fn vectors(config: &Config) -> Check {
    match super::embed::finding(config) {
        Ok(finding) if config.recalls_by_meaning() => answer("vectors", &finding, lists_embedding_model(config)),
        Ok(finding) => Check::good("vectors", finding),
        Err(fault) => Check::bad("vectors", fault),
    }
}

fn database(path: &Path, config: &Config) -> Vec<Check> {
    let layer = &config.db.layer;
    if !path.exists() {
        let finding = format!("{} ({layer}) does not exist yet; the first `run` creates it", path.display());
        return vec![Check::note("database", finding)];
    }
    let memories = match Memories::builder().config(config.clone()).writable().open() {
        Ok(memories) => memories,
        Err(error) => return vec![Check::bad("database", spelled(&error.into()))],
    };
    let mut checks = vec![Check::good("database", format!("{} ({layer}) opens", path.display()))];
    checks.push(permissions(path));
    checks.push(encryption(&memories));
    checks.push(pages(&memories));
    match memories.statistics() {
        Ok(Statistics { stats, health, .. }) => {
            checks.push(Check::good("memories", format!("{} in {} conversations", stats.memories, stats.transcripts)));
            checks.extend(work(&memories, &health));
            checks.push(inbox(stats.by_status.get("pending").copied().unwrap_or(0)));
            if stats.batch_requests > 0 {
                let waiting = counted(stats.batch_requests, "request");
                let finding =
                    format!("{waiting} outstanding; to collect the replies, use `run --batch-api` on the same logs");
                checks.push(Check::note("batches", finding));
            }
        }
        Err(error) => checks.push(Check::bad("memories", spelled(&error.into()))),
    }
    checks
}

/// Returns checks of the backlog, failures, the last run and spending.
fn work(memories: &Memories, health: &Health) -> Vec<Check> {
    let note = |is_noted: bool| if is_noted { State::Note } else { State::Good };
    let failed = health.failures() > 0 || health.halted.is_some();
    let spent = match Spending::of(memories) {
        Ok(spending) => Check::good("spent", spending.spelled()),
        Err(error) => Check::bad("spent", spelled(&error)),
    };
    vec![
        Check::new("backlog", note(health.backlog() > 0), backlog(health)),
        Check::new("failures", note(failed), failures(health)),
        Check::new("last run", note(health.last_failure > health.last_success), last_run(health, now())),
        spent,
    ]
}

/// Checks whether the file is encrypted as intended.
fn encryption(memories: &Memories) -> Check {
    let check = |state, finding: String| Check::new("encryption", state, finding);
    let left = Memories::half_converted(memories.config());
    if let Some(left) = left.first() {
        let left = left.display();
        return check(State::Bad, format!("{left} was left by an interrupted encryption or decryption; remove it"));
    }
    match memories.encryption() {
        Ok(Encryption::Encrypted(Some(place))) => check(State::Good, format!("encrypted, key from {place}")),
        Ok(Encryption::Encrypted(None)) => check(State::Good, "encrypted, key from the system keyring".to_owned()),
        Ok(Encryption::Plain(None)) => {
            check(State::Note, "not encrypted; anyone who can read the file can read every memory".to_owned())
        }
        Ok(Encryption::Plain(Some(place))) => check(
            State::Note,
            format!("none, although {place} contains a key; `afterthought db encrypt` encrypts the file"),
        ),
        Err(error) => check(State::Bad, spelled(&error.into())),
    }
}

/// Checks only the pages; `db check` checks everything.
fn pages(memories: &Memories) -> Check {
    match (memories.check_pages(), memories.needs_compaction()) {
        (Ok(flaws), Ok(unsealed)) => match flaws.first() {
            Some(flaw) => {
                let remedy =
                    "`afterthought db repair` saves readable data, `afterthought db restore FILE` restores a backup";
                Check::bad("pages", format!("{}; {remedy}", flaw.what))
            }
            None if unsealed => {
                let finding = "freed parts of the file may contain erased text; `afterthought db maintain` removes it";
                Check::note("pages", finding)
            }
            None => Check::good("pages", "readable and consistent; `afterthought db check` makes further checks"),
        },
        (Err(error), _) | (_, Err(error)) => Check::bad("pages", spelled(&error.into())),
    }
}

fn inbox(waiting: usize) -> Check {
    match waiting {
        0 => Check::good("inbox", "empty"),
        count => Check::note("inbox", format!("{count} pending; run `afterthought inbox list` to see them")),
    }
}

#[cfg(unix)]
fn permissions(path: &Path) -> Check {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).map_or(0, |data| data.permissions().mode() & 0o777);
    // Any permission of group or others counts: conversations are private even where the folder is shared.
    if mode & 0o077 == 0 {
        Check::good("permissions", "readable by you only")
    } else {
        let finding = format!("{mode:o}: other users can read it; run `chmod 600 {}`", path.display());
        Check::bad("permissions", finding)
    }
}

#[cfg(not(unix))]
fn permissions(_: &Path) -> Check {
    Check::note("permissions", "on this platform, the permissions of the folder apply")
}

/// Checks the hooks of each agent, the queue that they fill, and their log.
fn hook_checks(memories: Option<&Memories>, path: &Path, now: Timestamp) -> Vec<Check> {
    let fired = memories.and_then(|memories| memories.hooks_fired().ok()).unwrap_or_default();
    let mut checks: Vec<Check> =
        Agent::ALL.iter().copied().flat_map(|agent| agent_checks(agent, &fired, now)).collect();
    checks.extend(memories.into_iter().flat_map(|memories| queue(memories, now)));
    let log = HookLog::beside(path);
    if let Some(last) = fs::read_to_string(log.path()).ok().and_then(|text| text.lines().next_back().map(str::to_owned))
    {
        checks.push(Check::note("hook log", format!("{}; last: {last}", log.path().display())));
    }
    checks
}

fn agent_checks(agent: Agent, fired: &[HookFiring], now: Timestamp) -> Vec<Check> {
    let name = agent.as_str();
    let mut installed: Vec<Installed> = Vec::new();
    for is_project in [false, true] {
        let Ok(path) = settings_of(agent, is_project) else { continue };
        let Ok(text) = fs::read_to_string(&path) else { continue };
        match parsed(&text, &path) {
            Ok(settings) => installed.extend(commands_in(&settings)),
            // Settings that cannot be parsed are reported and never rewritten.
            Err(error) => return vec![Check::bad(name, spelled(&error))],
        }
    }
    let fired: Vec<&HookFiring> = fired.iter().filter(|one| one.agent == name).collect();
    if installed.is_empty() {
        return vec![Check::note(name, format!("no hooks; `afterthought agent install {name}` installs them"))];
    }
    // Agents hide failed hooks, so after an update or a move nothing else would show that they stopped working.
    if let Some(gone) = installed.iter().find(|one| !is_there(&one.program)) {
        let finding = format!(
            "the hooks call {}, which does not exist; run `afterthought agent install {name}` again",
            gone.program
        );
        return vec![Check::bad(name, finding)];
    }
    let missing: Vec<&str> = agent
        .events()
        .iter()
        // This hook is installed only with --subagents, so its absence is not reported.
        .filter(|event| event.as_str() != "subagent-stop")
        .map(|event| event.wire())
        .filter(|event| installed.iter().all(|one| one.event != *event))
        .collect();
    let there = format!("{} in place", counted(installed.len(), "hook"));
    let state = if missing.is_empty() {
        Check::good(name, there)
    } else {
        // The installed hooks still work, so this is only a note.
        let missing = missing.join(", ");
        Check::note(name, format!("{there}, {missing} missing; run `afterthought agent install {name}` again"))
    };
    vec![state, fires(agent, &fired, now)]
}

fn fires(agent: Agent, fired: &[&HookFiring], now: Timestamp) -> Check {
    if fired.is_empty() {
        let trust = if agent == Agent::Codex { "; Codex runs them only once you trust them with /hooks" } else { "" };
        // This is not a fault: right after installation no session has begun yet.
        return Check::note("fired", format!("no hook has run yet; start a session{trust}"));
    }
    let times = fired.iter().map(|one| format!("{} {} ago", one.event, age(one.at, now)));
    Check::good("fired", times.collect::<Vec<_>>().join(", "))
}

fn queue(memories: &Memories, now: Timestamp) -> Vec<Check> {
    let Ok(jobs) = memories.jobs() else { return Vec::new() };
    let count = |status: JobStatus| jobs.iter().filter(|job| job.status == status).count();
    let (waiting, failed) = (count(JobStatus::Waiting), count(JobStatus::Failed));
    let last = jobs.iter().filter(|job| job.status == JobStatus::Done).map(|job| job.updated_at).max();
    let last =
        last.map_or_else(|| "none finished yet".to_owned(), |last| format!("last finished {} ago", age(last, now)));
    let (state, remedy) = if failed > 0 {
        (State::Note, "; see `afterthought runs queue`; `afterthought runs retry` tries again")
    } else {
        (State::Good, "")
    };
    let mut checks = vec![Check::new("jobs", state, format!("{waiting} waiting, {failed} failed, {last}{remedy}"))];
    let holder = |lease: &str| memories.lease_holder(lease, now).ok().flatten();
    let worker = match (holder(WATCH_LEASE), holder(WORKER_LEASE)) {
        (Some(pid), _) => format!("process {pid} is watching"),
        (None, Some(pid)) => format!("process {pid} is working"),
        (None, None) => "none; hooks start one when there is work".to_owned(),
    };
    checks.push(Check::good("worker", worker));
    checks
}

fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    // A bare name is looked up in `PATH` in the same way as in the agent's shell; this process may have a different
    // `PATH`.
    if path.components().count() > 1 {
        return path.is_file();
    }
    on_path(program).is_some()
}

/// Number of days whose spending is added up.
const DAYS: u32 = 30;

/// Money spent, counting only models with a known price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Spending {
    /// US dollars spent today.
    today: f64,
    /// US dollars spent in the last thirty days, including today.
    thirty_days: f64,
    /// Number of calls in those days.
    calls: u64,
    /// Whether some of the calls were to models without a price.
    is_partial: bool,
}

impl Spending {
    fn of(memories: &Memories) -> anyhow::Result<Self> {
        // Days are local days, because `spending` groups the calls by local day.
        let (days, today) = (memories.spending(DAYS)?, Zoned::now().date());
        let of_today: Vec<_> = days.iter().filter(|one| one.spent.day == today).cloned().collect();
        let (thirty_days, is_partial) = known_cost(&days);
        let calls = days.iter().map(|one| one.spent.calls).sum();
        Ok(Self { today: known_cost(&of_today).0, thirty_days, calls, is_partial })
    }

    fn spelled(&self) -> String {
        let partial = if self.is_partial { ", excluding models without a known price" } else { "" };
        format!(
            "${:.4} today, ${:.4} in {DAYS} days for {}{partial}",
            self.today,
            self.thirty_days,
            counted(self.calls, "call")
        )
    }
}

/// Returns the remaining work, and the commands that do it.
fn backlog(health: &Health) -> String {
    let parts = [
        (health.jobs_waiting, "waiting"),
        (health.jobs_running, "running"),
        (health.windows_open, "started"),
        (health.windows_unwritten, "waiting to be written"),
    ];
    if health.backlog() == 0 {
        return "nothing".to_owned();
    }
    let word = |place: usize| if place < 2 { "job" } else { "window" };
    let counts = parts.into_iter().enumerate().filter(|(_, (count, _))| *count > 0);
    let counts: Vec<String> =
        counts.map(|(place, (count, what))| format!("{} {what}", counted(count, word(place)))).collect();
    let mut remedies = Vec::new();
    if health.jobs_waiting > 0 {
        remedies.push("`afterthought runs work` processes the jobs now");
    }
    if health.windows_open + health.windows_unwritten > 0 {
        remedies.push("the next `run` on the same logs finishes the windows");
    }
    [vec![counts.join(", ")], remedies.into_iter().map(str::to_owned).collect()].concat().join("; ")
}

/// Returns the number of failures, and the remedy.
fn failures(health: &Health) -> String {
    let mut failed = Vec::new();
    if health.windows_failed > 0 {
        failed.push(counted(health.windows_failed, "window"));
    }
    if health.jobs_failed > 0 {
        failed.push(counted(health.jobs_failed, "job"));
    }
    let halted = health.halted.as_ref().map(|why| format!("; the last run stopped sending requests: {why}"));
    if failed.is_empty() {
        // A run may fail as a whole, which leaves nothing to try again.
        let last = health
            .last_failure
            .filter(|_| health.last_failure > health.last_success)
            .map(|at| format!(" to retry; a run failed at {}, see `afterthought runs list`", minute(at)));
        return format!("none{}{}", last.unwrap_or_default(), halted.unwrap_or_default());
    }
    let remedy = "see `afterthought runs queue`; `afterthought runs retry` tries again";
    format!("{} failed; {remedy}{}", failed.join(" and "), halted.unwrap_or_default())
}

/// Returns when a run last succeeded, and whether one has failed since.
fn last_run(health: &Health, now: Timestamp) -> String {
    match (health.last_success, health.last_failure) {
        (None, None) => "no finished run; start one with `afterthought run PATH`".to_owned(),
        (None, Some(failed)) => format!("no run has finished; the last failure was {} ago", age(failed, now)),
        (Some(good), Some(failed)) if failed > good => {
            format!("finished {} ago; a failure occurred {} ago", age(good, now), age(failed, now))
        }
        (Some(good), _) => format!("finished {} ago", age(good, now)),
    }
}

/// Returns elapsed time as text, in a suitable unit.
fn age(at: Timestamp, now: Timestamp) -> String {
    // A clock may have been set back, and a negative age makes no sense.
    let seconds = now.duration_since(at).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Prints the cost of each of the last `days` days, by this machine's clock and today's prices.
fn spending_by_day(days: u32, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let spent = memories.spending(days)?;
    context.out.list(&spent, ["day", "model", "calls", "sent", "received", "cost"], day_row)?;
    if !spent.is_empty() && !context.out.is_json() {
        context.out.line(total(&spent))?;
    }
    let hint = format_args!("no model was called in the last {}", counted(days, "day"));
    Ok(context.out.unless_empty(spent.is_empty(), hint))
}

/// Returns the cost of the models that have a price, and whether there are others.
fn known_cost(days: &[DaySpending]) -> (f64, bool) {
    // The sum of an empty list of floats is -0.0, which would be printed with its sign.
    let known = days.iter().filter_map(|day| day.cost).fold(0.0, |all, cost| all + cost);
    (known, days.iter().any(|day| day.cost.is_none()))
}

fn day_row(DaySpending { spent, cost }: &DaySpending) -> [String; 6] {
    [
        spent.day.to_string(),
        spent.model.clone(),
        spent.calls.to_string(),
        spent.prompt_tokens.to_string(),
        spent.completion_tokens.to_string(),
        cost.map_or_else(|| "no price".to_owned(), |cost| format!("${cost:.4}")),
    ]
}

fn total(days: &[DaySpending]) -> String {
    let tokens: u64 = days.iter().map(|day| day.spent.prompt_tokens + day.spent.completion_tokens).sum();
    let calls: u64 = days.iter().map(|day| day.spent.calls).sum();
    let (known, unknown) = known_cost(days);
    let unpriced = if unknown { ", excluding models without a known price" } else { "" };
    format!("{BOLD}${known:.4}{BOLD:#} for {}, {}{unpriced}", counted(calls, "call"), counted(tokens, "token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_the_unit_that_fits() {
        let at = |seconds| age(Timestamp::UNIX_EPOCH, Timestamp::from_second(seconds).unwrap());
        assert_eq!([at(5), at(600), at(7_200), at(900_000)], ["5 s", "10 min", "2 h", "10 d"]);
    }

    #[test]
    fn each_finding_comes_with_its_remedy() {
        let health = Health {
            jobs_waiting: 2,
            jobs_running: 1,
            jobs_failed: 1,
            windows_open: 1,
            windows_unwritten: 3,
            windows_failed: 2,
            last_success: Some(Timestamp::UNIX_EPOCH),
            last_failure: Timestamp::from_second(100).ok(),
            halted: Some("the key is not valid".into()),
        };
        assert_eq!(
            backlog(&health),
            "2 jobs waiting, 1 job running, 1 window started, 3 windows waiting to be written; `afterthought runs \
             work` processes the jobs now; the next `run` on the same logs finishes the windows"
        );
        assert_eq!(
            failures(&health),
            "2 windows and 1 job failed; see `afterthought runs queue`; `afterthought runs retry` tries again; the last \
             run stopped sending requests: the key is not valid"
        );
        let now = Timestamp::from_second(300).unwrap();
        assert_eq!(last_run(&health, now), "finished 5 min ago; a failure occurred 3 min ago");
        let failed = Health { last_failure: Some(Timestamp::UNIX_EPOCH), ..Health::default() };
        assert_eq!(failures(&failed), "none to retry; a run failed at 1970-01-01 00:00, see `afterthought runs list`");
        let recovered = Health { last_success: Timestamp::from_second(100).ok(), ..failed };
        assert_eq!(failures(&recovered), "none");
        let quiet = Health::default();
        assert_eq!([backlog(&quiet), failures(&quiet)], ["nothing", "none"]);
        assert_eq!(last_run(&quiet, now), "no finished run; start one with `afterthought run PATH`");
    }
}
