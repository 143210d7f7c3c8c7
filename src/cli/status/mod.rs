//! `status`: what is stored, what is due, what failed, what it cost, and whether everything works.

mod hooks;

use std::collections::BTreeMap;
use std::path::Path;

use afterthought::api::{NEAR_DAYS, Statistics};
use afterthought::config::{Config, Layer};
use afterthought::store::Store;
use serde_json::json;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::health::{self, Spending};
use super::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted, size, spelled};
use super::spend;

/// Show what is stored, what is due, what failed and what it cost
///
/// Reads only, and asks no server. Exits 1 when there is no database yet.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought status\n  afterthought status --days 7\n  afterthought status --check"
)]
pub struct StatusArgs {
    /// Check settings, database, model and hooks instead, and exit 3 when something is wrong
    #[arg(long, conflicts_with = "days")]
    check: bool,
    /// Show instead what models cost on each of this many days, the last of which is today
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
}

pub fn run(args: &StatusArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match args.days {
        Some(days) => spend::run(days, context),
        None if args.check => check(context),
        None => overview(context),
    }
}

fn overview(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let (statistics, out) = (memories.statistics()?, context.out);
    let spending = health::spending(&store, memories.config())?;
    if out.is_json() {
        out.json(&All { statistics: &statistics, spending })?;
        return Ok(ExitStatus::Success);
    }
    let Statistics { stats, census, health } = &statistics;
    out.line(format_args!("{BOLD}{}{BOLD:#}", counted(stats.memories, "memory")))?;
    let groups = [
        ("status", &stats.by_status),
        ("type", &stats.by_type),
        ("category", &stats.by_category),
        ("namespace", &stats.by_namespace),
        ("windows", &stats.windows),
    ];
    for (name, counts) in groups.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        out.line(format_args!("{DIM}{name:>10}{DIM:#}  {}", spell(counts)))?;
    }
    for (name, counts) in [("tier", &census.by_tier), ("heat", &census.by_heat)] {
        if !counts.is_empty() {
            out.line(format_args!("{DIM}{name:>10}{DIM:#}  {}", spell(counts)))?;
        }
    }
    if census.near_expiry + census.fading > 0 {
        let (near, fading) = (census.near_expiry, census.fading);
        out.line(format_args!(
            "{near} expire within {NEAR_DAYS} days, {fading} are half as sure as they were, or less"
        ))?;
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
    health::print(health, spending, context, now())?;
    if let Some(waiting) = stats.by_status.get("pending") {
        out.line(format_args!("{waiting} pending in the inbox; see `afterthought inbox list`"))?;
    }
    if stats.batch_requests > 0 {
        let waiting = counted(stats.batch_requests, "request");
        out.line(format_args!("{waiting} out in batches; `afterthought runs batches` lists them"))?;
    }
    Ok(ExitStatus::Success)
}

/// All that is counted.
#[derive(serde::Serialize)]
struct All<'a> {
    #[serde(flatten)]
    statistics: &'a Statistics,
    spending: Spending,
}

/// Returns the counts, greatest first.
fn spell<K: Ord + std::fmt::Display>(counts: &BTreeMap<K, usize>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" · ")
}

fn check(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let checks = match context.settings() {
        Ok(config) => all(&config),
        Err(error) => vec![Check::new("settings", State::Bad, spelled(&error))],
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
    if out.is_json() {
        return out.json(&json!({"check": check.name, "state": word, "finding": check.finding}));
    }
    out.line(format_args!("{style}{mark}{style:#} {DIM}{:<12}{DIM:#} {}", check.name, check.finding))
}

fn all(config: &Config) -> Vec<Check> {
    let mut checks = vec![settings(config), model(config), vectors(config)];
    let path = &config.db.value;
    let store = if path.exists() { Store::open_read_only(path).ok() } else { None };
    let of_hooks = hooks::checks(store.as_deref(), path, now());
    // Who opens a file for writing and closes it last takes along what lies beside it.
    drop(store);
    checks.extend(database(path, config));
    checks.extend(of_hooks);
    checks
}

fn settings(config: &Config) -> Check {
    let set = config.each().into_iter().filter(|(_, _, layer)| **layer != Layer::Default);
    let set: Vec<_> = set.map(|(name, value, layer)| format!("{name} = {value} from {layer}")).collect();
    let finding = if set.is_empty() {
        "all defaults; `afterthought config init` explains them".to_owned()
    } else {
        set.join(", ")
    };
    Check::new("settings", State::Good, finding)
}

fn model(config: &Config) -> Check {
    let key = &config.api_key_env.value;
    let has_key = std::env::var(key).is_ok_and(|value| !value.is_empty());
    let name = config.model.value.as_deref().unwrap_or("the default model");
    match (&config.base_url.value, has_key) {
        (Some(url), _) if config.model.value.is_none() && !url.contains("//api.openai.com") => {
            Check::new("model", State::Bad, format!("{url} is set but no model; set AFTERTHOUGHT_MODEL"))
        }
        (Some(url), true) => Check::new("model", State::Good, format!("{name} at {url}, key from {key}")),
        (Some(url), false) => Check::new("model", State::Good, format!("{name} at {url}, without a key")),
        (None, true) => Check::new("model", State::Good, format!("{name} at OpenAI, key from {key}")),
        (None, false) => {
            let finding = format!(
                "none: an Ollama on this machine extracts, else the offline rules; set {key} or OPENAI_BASE_URL"
            );
            Check::new("model", State::Note, finding)
        }
    }
}

fn vectors(config: &Config) -> Check {
    match super::embed::finding(config) {
        Ok(finding) => Check::new("vectors", State::Good, finding),
        Err(amiss) => Check::new("vectors", State::Bad, amiss),
    }
}

fn database(path: &Path, config: &Config) -> Vec<Check> {
    let layer = &config.db.layer;
    if !path.exists() {
        let finding = format!("{} ({layer}) does not exist yet; the first `run` makes it", path.display());
        return vec![Check::new("database", State::Note, finding)];
    }
    let opened = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return vec![Check::new("database", State::Bad, spelled(&error.into()))],
    };
    let mut checks = vec![Check::new("database", State::Good, format!("{} ({layer}) opens", path.display()))];
    checks.push(permissions(path));
    checks.push(encryption(&opened, path));
    checks.push(pages(&opened));
    match opened.stats() {
        Ok(stats) => {
            checks.push(Check::new(
                "memories",
                State::Good,
                format!("{} in {} conversations", stats.memories, stats.transcripts),
            ));
            checks.extend(work(&opened, config));
            checks.push(inbox(stats.by_status.get("pending").copied().unwrap_or(0)));
            if stats.batch_requests > 0 {
                let waiting = counted(stats.batch_requests, "request");
                let finding = format!("{waiting} out; `run --batch-api` over their logs takes the answers");
                checks.push(Check::new("batches", State::Note, finding));
            }
        }
        Err(error) => checks.push(Check::new("memories", State::Bad, spelled(&error.into()))),
    }
    checks
}

/// How the work goes, with what it has cost.
fn work(store: &Store, config: &Config) -> Vec<Check> {
    let Ok(health) = store.health() else { return Vec::new() };
    let note = |is_noted: bool| if is_noted { State::Note } else { State::Good };
    let failed = health.failures() > 0 || health.halted.is_some();
    let spent = match health::spending(store, config) {
        Ok(spending) => Check::new("spent", State::Good, spending.spelled()),
        Err(error) => Check::new("spent", State::Bad, spelled(&error)),
    };
    vec![
        Check::new("backlog", note(health.backlog() > 0), health::backlog(&health)),
        Check::new("failures", note(failed), health::failures(&health)),
        Check::new("last run", note(health.last_failure > health.last_success), health::last_run(&health, now())),
        spent,
    ]
}

/// Whether the file lies open, and whether that is meant.
fn encryption(store: &Store, path: &Path) -> Check {
    let check = |state, finding: String| Check::new("encryption", state, finding);
    let left = Store::half_converted(path);
    if let Some(left) = left.first() {
        let left = left.display();
        return check(
            State::Bad,
            format!("{left} was left by `encrypt` or `decrypt`, which ended in the middle; remove it"),
        );
    }
    match (store.is_encrypted(), Store::key_given()) {
        (Ok(true), Ok(Some(place))) => check(State::Good, format!("encrypted, key from {place}")),
        (Ok(true), _) => check(State::Good, "encrypted, key from the system keyring".to_owned()),
        (Ok(false), Ok(None)) => check(State::Good, "none; whoever can read the file can read it all".to_owned()),
        (Ok(false), Ok(Some(place))) => {
            check(State::Note, format!("none, though {place} holds a key; `afterthought db encrypt` encrypts"))
        }
        (Err(error), _) | (Ok(false), Err(error)) => check(State::Bad, spelled(&error.into())),
    }
}

/// The whole is what `check` looks at; pages alone take a second for each gigabyte or so.
fn pages(store: &Store) -> Check {
    match (store.check_quickly(), store.is_unsealed()) {
        (Ok(flaws), Ok(unsealed)) => match flaws.first() {
            Some(flaw) => {
                let remedy = "`afterthought db repair` saves what can be read, `db restore FILE` takes a backup back";
                Check::new("pages", State::Bad, format!("{}; {remedy}", flaw.what))
            }
            None if unsealed => {
                let finding = "freed parts may hold what was erased; `afterthought db maintain` writes the file anew";
                Check::new("pages", State::Note, finding)
            }
            None => Check::new("pages", State::Good, "can be read and hang together; `check` looks at all else"),
        },
        (Err(error), _) | (_, Err(error)) => Check::new("pages", State::Bad, spelled(&error.into())),
    }
}

fn inbox(waiting: usize) -> Check {
    match waiting {
        0 => Check::new("inbox", State::Good, "empty"),
        count => Check::new("inbox", State::Note, format!("{count} pending; see `afterthought inbox list`")),
    }
}

#[cfg(unix)]
fn permissions(path: &Path) -> Check {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).map_or(0, |data| data.permissions().mode() & 0o777);
    if mode & 0o077 == 0 {
        Check::new("permissions", State::Good, "readable by you only")
    } else {
        let finding = format!("{mode:o}: others can read it; `chmod 600 {}`", path.display());
        Check::new("permissions", State::Bad, finding)
    }
}

#[cfg(not(unix))]
fn permissions(_: &Path) -> Check {
    Check::new("permissions", State::Note, "left to the folder's on this platform")
}
