//! Parts that all subcommands share: the global options, the settings that result from these options, and the store.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use transcripts::known::{Machine, Platform};

use crate::api::{
    AuditChannel, EscapeMode, Memories, QUERY_TIMEOUT, database_path, expiry, period, refuse_secret_namespace,
};
use crate::config::{Config, Folders, LogFormat, Partial};
use crate::memory::Namespace;

use super::exit::ExitStatus;
use super::printer::{DiagnosticsWriter, Output, Printer, Verbosity};

/// Options that may precede or follow any command.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Use this database [env: AFTERTHOUGHT_DB]
    #[arg(long, global = true, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Use this namespace, e.g. global or project/shop
    #[arg(long, global = true, value_name = "NAME")]
    pub namespace: Option<Namespace>,
    /// Read this settings file instead of your own
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON, with one value per line
    #[arg(long, global = true)]
    json: bool,
    /// Print only data and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Also print reasons and skipped records
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Print diagnostics as text or json
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        env = "AFTERTHOUGHT_LOG_FORMAT",
        hide_env = true,
        hide_possible_values = true
    )]
    log_format: Option<LogFormat>,
    /// Print help
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
}

impl Global {
    /// Returns the printer that the options select.
    pub(crate) fn printer(&self) -> Printer {
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Printer::new(if self.json { Output::Json } else { Output::Human }, verbosity)
    }

    /// Sends the library's diagnostics to standard error: warnings, or the levels in `AFTERTHOUGHT_LOG`.
    pub(crate) fn start_tracing(&self) {
        // `rmcp` warns about clients that disconnect, which is normal, so only its errors are shown.
        let filter = tracing_subscriber::EnvFilter::try_from_env("AFTERTHOUGHT_LOG").unwrap_or_else(|_| {
            tracing_subscriber::EnvFilter::new(if self.quiet { "error" } else { "warn,rmcp=error" })
        });
        let layer = tracing_subscriber::fmt::layer().with_ansi(false);
        let diagnostics = if self.logs_json() {
            layer.with_writer(|| DiagnosticsWriter::new(EscapeMode::Json)).json().boxed()
        } else {
            layer.with_writer(|| DiagnosticsWriter::new(EscapeMode::Text)).without_time().boxed()
        };
        let subscriber = tracing_subscriber::registry().with(diagnostics.with_filter(filter));
        // An agent waits for a hook, and must not wait for a collector.
        #[cfg(feature = "otel")]
        let subscriber = subscriber.with((!is_hook()).then(super::telemetry::layer).flatten());
        // This can only fail if a subscriber is already set, in which case that one is used.
        subscriber.try_init().ok();
    }

    /// Returns whether diagnostics are JSON. Faulty settings are reported by the command that reads them. A hook has no
    /// time to read the settings twice.
    fn logs_json(&self) -> bool {
        if self.log_format.is_none() && is_hook() {
            return false;
        }
        let set = || self.settings(Partial::default()).is_ok_and(|config| config.log_format.value == LogFormat::Json);
        self.log_format.map_or_else(set, |form| form == LogFormat::Json)
    }

    /// Returns the settings in force, with `flags` of the subcommand as the strongest layer.
    pub(crate) fn settings(&self, flags: Partial) -> anyhow::Result<Config> {
        let directory = std::env::current_dir().context("cannot read the working directory")?;
        self.settings_at(&directory, flags)
    }

    /// Returns the folders for this program's files on this platform.
    pub(crate) fn folders(&self) -> anyhow::Result<Folders> {
        // Containers and services may have no home folder; with --db, no home folder is needed.
        Ok(Folders::of_platform().or_else(|error| match &self.db {
            Some(db) => Ok(Folders {
                user_file: db.with_extension("toml"),
                default_db: db.clone(),
                state: db.parent().unwrap_or(Path::new("")).to_owned(),
            }),
            None => Err(error),
        })?)
    }

    /// Returns the settings that are in force in the folder `directory`.
    pub(crate) fn settings_at(&self, directory: &Path, flags: Partial) -> anyhow::Result<Config> {
        let folders = self.folders()?;
        let flags = Partial {
            db: self.db.clone().or(flags.db),
            namespace: self.namespace.as_ref().map(|name| Some(name.to_string())).or(flags.namespace),
            ..flags
        };
        // A variable that is not valid Unicode counts as unset.
        let environment = |name: &str| std::env::var(name).ok();
        let mut config = Config::load(&folders, directory, self.config.as_deref(), &environment, flags)?;
        config.namespace().as_ref().map_or(Ok(()), refuse_secret_namespace)?;
        // Commands print the path and look for files beside it, so an address such as `sqlite:FILE` is resolved here.
        config.db.value = database_path(&config.db.value)?;
        Ok(config)
    }
}

/// Parses `words` as the arguments of one command.
pub(crate) fn arguments<A: clap::Args>(words: &[&str]) -> anyhow::Result<A> {
    let command = A::augment_args(clap::Command::new("afterthought").no_binary_name(true));
    Ok(A::from_arg_matches(&command.try_get_matches_from(words)?)?)
}

/// The global options and the printer, which every subcommand gets.
pub(crate) struct Context<'a> {
    /// The global options.
    pub global: &'a Global,
    /// The printer for all output.
    pub out: &'a Printer,
}

impl Context<'_> {
    /// Returns the settings in force.
    pub(crate) fn settings(&self) -> anyhow::Result<Config> {
        self.global.settings(Partial::default())
    }

    /// Opens the memories of an existing database for reading and writing.
    pub(crate) fn memories(&self) -> anyhow::Result<Memories> {
        let path = self.settings()?.db.value;
        // A command that needs a memory or a run must not create an empty database.
        anyhow::ensure!(is_there(&path)?, "{}", no_memories(&path));
        self.memories_with(Partial::default())
    }

    /// Opens the memories with `flags` of the subcommand as the strongest settings, and creates the database if it is
    /// missing.
    pub(crate) fn memories_with(&self, flags: Partial) -> anyhow::Result<Memories> {
        Self::memories_of(self.global.settings(flags)?)
    }

    /// Opens the memories with these settings, and creates the database if it is missing.
    pub(crate) fn memories_of(config: Config) -> anyhow::Result<Memories> {
        let builder = Memories::builder().config(config).query_timeout(QUERY_TIMEOUT);
        Ok(builder.through(AuditChannel::Command).open()?)
    }

    /// Opens the memories for reading; `None`, with a message to the user, if there is no database yet.
    pub(crate) fn existing_memories(&self) -> anyhow::Result<Option<Memories>> {
        let memories = self.memories_if_any()?;
        if memories.is_none() {
            self.out.note(no_memories(&self.settings()?.db.value));
        }
        Ok(memories)
    }

    /// Opens the memories for reading and writing; `None`, with a message to the user, if there is no database yet.
    pub(crate) fn writable_memories(&self) -> anyhow::Result<Option<Memories>> {
        Ok(if self.existing_memories()?.is_some() { Some(self.memories()?) } else { None })
    }

    /// Opens the memories for reading if there is a database.
    pub(crate) fn memories_if_any(&self) -> anyhow::Result<Option<Memories>> {
        let config = self.settings()?;
        // SQLite would create the file on opening, but reading must not leave an empty database behind.
        if !is_there(&config.db.value)? {
            return Ok(None);
        }
        // Without a working directory, there is nothing to compare results with.
        let folder = std::env::current_dir().ok();
        let builder = Memories::builder().config(config).query_timeout(QUERY_TIMEOUT).folder(folder);
        Ok(Some(builder.through(AuditChannel::Command).read_only().open()?))
    }
}

impl Context<'_> {
    /// Prints that nothing was found: `hint`, or that no memory has the given namespace, with similar names.
    pub(crate) fn nothing_in(&self, memories: &Memories, hint: &str) -> anyhow::Result<ExitStatus> {
        let Some(asked) = &self.global.namespace else { return Ok(self.out.nothing(hint)) };
        let known = memories.namespaces_in_use()?;
        if known.iter().any(|one| one.parts().starts_with(asked.parts())) {
            return Ok(self.out.nothing(hint));
        }
        let last = |namespace: &Namespace| namespace.parts().last().cloned().unwrap_or_default();
        let alike = |one: &Namespace| {
            let whole = strsim::normalized_levenshtein(&one.to_string(), &asked.to_string());
            whole.max(strsim::normalized_levenshtein(&last(one), &last(asked)))
        };
        let mut near: Vec<(f64, String)> = known.iter().map(|one| (alike(one), one.to_string())).collect();
        near.retain(|(alike, _)| *alike >= LIKE_NAME);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> = near.into_iter().take(3).map(|(_, name)| name).collect();
        let similar = if names.is_empty() { String::new() } else { format!("; similar: {}", names.join(", ")) };
        Ok(self.out.nothing(format_args!("no memory has the namespace {asked}{similar}")))
    }
}

/// Minimum similarity, between 0 and 1, of a namespace that is suggested instead of one without memories.
const LIKE_NAME: f64 = 0.6;

/// Returns the message to print if there is no database at `path`.
pub(crate) fn no_memories(path: &Path) -> String {
    format!("no memories yet: {} does not exist; `afterthought run PATH` creates it", path.display())
}

/// Whether a file exists; a folder that may not be read is an error, because the file may be in it.
pub(crate) fn is_there(path: &Path) -> anyhow::Result<bool> {
    match path.try_exists() {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        found => found.with_context(|| format!("cannot read {}; check the permissions of its folders", path.display())),
    }
}

/// Returns an error if `path`, the value of `option`, is not a folder whose files can be listed.
pub(crate) fn must_be_folder(option: &str, path: &Path) -> anyhow::Result<()> {
    match path.read_dir() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(error).with_context(|| {
            format!(
                "{option}{}: cannot read this folder; check the permissions of the folder and of those above",
                path.display()
            )
        }),
        Err(_) => anyhow::bail!("{option}{}: there is no such folder; check the path", path.display()),
    }
}

/// Parses a time; a date alone means the start of that day in UTC.
pub(crate) fn time(text: &str) -> Result<Timestamp, String> {
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let moment = text.parse().ok().or_else(|| Some(day()?.timestamp()));
    moment.ok_or_else(|| "it is not a time; write it like 2027-01-31 or 2027-01-31T18:00:00Z".to_owned())
}

/// Parses a time in the future: a period such as `2h` or `7d`, a day or a time.
pub(crate) fn expires(text: &str) -> Result<Timestamp, String> {
    expiry(text, now()).map_err(|error| error.to_string())
}

/// Whether the caller is an agent, even if its arguments cannot be parsed.
pub(crate) fn is_hook() -> bool {
    // The raw arguments are searched because this is also needed if clap cannot parse them.
    std::env::args().skip(1).any(|argument| argument == "hook")
}

/// Returns the platform, home folder and environment, which determine where other programs keep their files.
pub(crate) fn machine() -> Machine<'static> {
    Machine {
        platform: Platform::this(),
        home: etcetera::home_dir().ok(),
        variable: &|name: &str| std::env::var(name).ok(),
    }
}

/// Returns the text of a file with instructions, as a setting.
#[expect(clippy::option_option, reason = "an unset value differs from none")]
pub(crate) fn instructions_in(file: Option<&Path>) -> anyhow::Result<Option<Option<String>>> {
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path);
    let unreadable = || format!("cannot read instructions {}; check the path and its permissions", path.display());
    Ok(Some(Some(text.with_context(unreadable)?)))
}

/// Returns the home folder of the user.
pub(crate) fn home() -> anyhow::Result<PathBuf> {
    etcetera::home_dir().context("no home folder was found")
}

/// Returns an error if the clock shows a time to which no period can be added, or that cannot be stored.
///
/// # Errors
/// A message for the user.
pub(crate) fn check_clock(now: SystemTime) -> anyhow::Result<()> {
    // Ids contain the time since 1970, and times end with the year 9999.
    const LAST: u64 = 253_370_764_800;
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok();
    anyhow::ensure!(
        since.is_some_and(|since| since.as_secs() < LAST),
        "the clock of this computer shows a time outside of the years 1970 to 9998; set the clock and repeat the command"
    );
    Ok(())
}

/// Returns the current time; the command line uses no other clock.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The end of a range that a time denotes. A day is included in the range in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The start: the first moment in the range.
    Since,
    /// The end: the first moment after the range.
    Until,
}

/// Parses `text` as one `end` of a range: a date, in the time zone of `now`; an RFC 3339 time; an age such as `12h`,
/// `7d`, `2w`, `3mo` or `1y`; `today` or `yesterday`.
///
/// # Errors
/// A message with the accepted forms, if `text` has none of them.
pub(crate) fn moment(text: &str, end: End, now: &Zoned) -> Result<Timestamp, String> {
    let text = text.trim();
    // A time with an offset is absolute; every other form depends on the zone of `now`.
    let found = text.parse::<Timestamp>().ok();
    let found = found.or_else(|| day(text, now).and_then(|date| of_day(date, end, now.time_zone())));
    let found = found.or_else(|| period(text).and_then(|age| now.checked_sub(age).ok()).map(|at| at.timestamp()));
    let local = || text.parse::<DateTime>().ok()?.to_zoned(now.time_zone().clone()).ok();
    found.or_else(|| Some(local()?.timestamp())).ok_or_else(|| {
        format!("{text:?} is not a time; write it like 2027-01-31, 2027-01-31T18:00:00Z, 7d, 2w, 3mo or yesterday")
    })
}

fn day(text: &str, now: &Zoned) -> Option<Date> {
    match text.to_lowercase().as_str() {
        "today" => Some(now.date()),
        "yesterday" => now.date().yesterday().ok(),
        // Text with a time would also parse as a date, and lose the time.
        _ if text.contains(['T', 't', ' ', ':']) => None,
        _ => text.parse().ok(),
    }
}

fn of_day(date: Date, end: End, zone: &TimeZone) -> Option<Timestamp> {
    let first = match end {
        End::Since => date,
        // The end is exclusive, so the given day is included as a whole.
        End::Until => date.tomorrow().ok()?,
    };
    // Midnight is looked up in the zone, because days on which the clocks change do not have 24 hours.
    Some(first.to_zoned(zone.clone()).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_whose_times_cannot_be_stored_is_an_error() {
        let at = |seconds: i64| {
            let distance = std::time::Duration::from_secs(seconds.unsigned_abs());
            let epoch = SystemTime::UNIX_EPOCH;
            check_clock(if seconds < 0 { epoch - distance } else { epoch + distance }).is_ok()
        };
        // 1900, 1969, 1970, 9998, 9999 and 20000.
        let clocks = [-2_208_988_800, -1, 0, 253_370_764_799, 253_370_764_800, 568_971_820_800];
        assert_eq!(clocks.map(at), [false, false, true, true, false, false]);
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let now: Zoned = "2026-03-15T14:30:00+02:00[+02:00]".parse().unwrap();
        let table = [
            ("2026-03-01", "2026-02-28T22:00:00Z", "2026-03-01T22:00:00Z"),
            ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
            ("2026-03-01T10:00:00+05:00", "2026-03-01T05:00:00Z", "2026-03-01T05:00:00Z"),
            ("2026-03-01T10:00", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z"),
            ("today", "2026-03-14T22:00:00Z", "2026-03-15T22:00:00Z"),
            ("Yesterday", "2026-03-13T22:00:00Z", "2026-03-14T22:00:00Z"),
            ("7d", "2026-03-08T12:30:00Z", "2026-03-08T12:30:00Z"),
            ("2w", "2026-03-01T12:30:00Z", "2026-03-01T12:30:00Z"),
            ("12h", "2026-03-15T00:30:00Z", "2026-03-15T00:30:00Z"),
            ("1mo", "2026-02-15T12:30:00Z", "2026-02-15T12:30:00Z"),
            ("2 years", "2024-03-15T12:30:00Z", "2024-03-15T12:30:00Z"),
        ];
        for (text, since, until) in table {
            assert_eq!(moment(text, End::Since, &now).unwrap().to_string(), since, "{text}");
            assert_eq!(moment(text, End::Until, &now).unwrap().to_string(), until, "{text}");
        }
        for text in ["", "7", "d", "7x", "soon", "-7d", "99999999999999999999d", "2026-13-01", "999999y"] {
            assert!(moment(text, End::Since, &now).is_err(), "{text}");
        }
    }
}
