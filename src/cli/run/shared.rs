//! What `run` and `plan` have in common: what to read, and how.

use std::path::PathBuf;

use afterthought::config::{Config, Partial};
use afterthought::extract::window::WindowBudget;
use afterthought::pipeline::{Options, Reread, Selection, Sources, named_project};
use anyhow::{Context as _, anyhow, ensure};
use glob::Pattern;
use jiff::Zoned;
use jiff::tz::TimeZone;
use transcripts::known;

use super::asking::Asking;
use crate::cli::args::{Context, machine, must_be_folder, now};
use crate::cli::when::{End, moment};

#[derive(Debug, clap::Args)]
pub(super) struct Shared {
    /// Log files, folders, glob patterns, or - for standard input
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Read the logs of this program, see `log list`, or of `all`
    #[arg(long, value_name = "NAME")]
    pub(super) from: Vec<String>,
    /// Search this folder for programs that log into projects, such as aider
    #[arg(long, value_name = "FOLDER", requires = "from")]
    pub(super) below: Vec<PathBuf>,
    /// Skip messages before this time, e.g. 2027-01-31, 7d or yesterday
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
    /// Skip messages after this time; a date includes its day
    #[arg(long, value_name = "WHEN")]
    pub(super) until: Option<String>,
    /// Read only this project: its name or folder
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) project: Vec<String>,
    /// Skip files and projects that match, e.g. 'private-*'
    #[arg(long, value_name = "PATTERN")]
    pub(super) exclude: Vec<String>,
    /// Read unchanged logs again; finished windows are not paid for again
    #[arg(long)]
    reread: bool,
    /// Read all logs again, including conversations that were erased
    #[arg(long)]
    reread_erased: bool,
    /// Read every log as this format, see `log formats`
    #[arg(long, value_name = "NAME")]
    pub(super) format: Option<String>,
    #[command(flatten)]
    pub(super) asking: Asking,
    /// Tokens of conversation in one request [default: 8000]
    #[arg(long, value_name = "N")]
    pub(super) window_tokens: Option<usize>,
    /// File with instructions on what to keep and what never to keep
    #[arg(long, value_name = "FILE")]
    pub(super) instructions: Option<PathBuf>,
    /// Redact, keep or drop cards, ibans, ids, emails, phones or addresses
    #[arg(long, value_name = "KIND=ACTION")]
    pub(super) pii: Vec<String>,
}

impl Shared {
    fn sources(&self) -> anyhow::Result<Sources> {
        ensure!(
            !self.paths.is_empty() || !self.from.is_empty(),
            "nothing to read is named; give a PATH, or --from NAME for what `afterthought log list` lists"
        );
        self.below.iter().try_for_each(|folder| must_be_folder(folder))?;
        let found = known::logs_of(&self.from, &machine(), &self.below)?;
        Ok(Sources { paths: self.paths.clone(), found, format: self.format.clone(), ..Sources::default() })
    }

    pub(super) fn settings(&self, context: &Context<'_>) -> anyhow::Result<Config> {
        let instructions = self.instructions.as_ref().map(|path| {
            std::fs::read_to_string(path).with_context(|| {
                format!("cannot read instructions {}; check the path and its permissions", path.display())
            })
        });
        let mut config = context.global.settings(Partial {
            window_tokens: self.window_tokens,
            instructions: instructions.transpose()?.map(Some),
            ..self.asking.settings()
        })?;
        for text in &self.pii {
            config.guard.change(text).map_err(|why| anyhow!("--pii {text}: {why}"))?;
        }
        Ok(config)
    }

    fn selection(&self, deny: &[String], now: &Zoned) -> anyhow::Result<Selection> {
        let time = |flag: &str, text: &Option<String>, end| {
            let moment = text.as_deref().map(|text| moment(text, end, now).map_err(|why| anyhow!("{flag} {why}")));
            moment.transpose()
        };
        let (since, until) = (time("--since", &self.since, End::Since)?, time("--until", &self.until, End::Until)?);
        if let (Some(since), Some(until)) = (since, until) {
            let (from, to) = (self.since.as_deref().unwrap_or_default(), self.until.as_deref().unwrap_or_default());
            ensure!(since < until, "nothing lies between --since {from} and --until {to}; give the earlier time first");
        }
        for (flag, texts) in [("--project", &self.project), ("--exclude", &self.exclude)] {
            ensure!(
                !texts.iter().any(|text| text.trim().is_empty()),
                "{flag} is empty; name something, or leave it out"
            );
        }
        let directory = std::env::current_dir().context("cannot tell the working directory")?;
        let home = machine().home;
        Ok(Selection {
            since,
            until,
            zone: Some(now.time_zone().clone()),
            namespaces: Vec::new(),
            projects: self.project.iter().map(|text| named_project(text, &directory, home.as_deref())).collect(),
            exclude: [patterns("--exclude", &self.exclude)?, patterns("the setting deny", deny)?].concat(),
        })
    }

    pub(super) fn options(&self, config: &Config, is_verbose: bool) -> anyhow::Result<Options> {
        Ok(Options {
            sources: self.sources()?,
            selection: self.selection(&config.guard.deny.value, &now().to_zoned(TimeZone::system()))?,
            // What -v tells of records that could not be used is only found by reading them.
            reread: match (self.reread, is_verbose) {
                _ if self.reread_erased => Reread::Erased,
                (true, _) => Reread::All,
                (false, true) => Reread::Flawed,
                (false, false) => Reread::Nothing,
            },
            namespace: config.namespace(),
            categories: config.categories.value.clone(),
            instructions: config.instructions.value.clone(),
            window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
            jobs: config.jobs.value,
        })
    }
}

/// Reads patterns of paths that are left out; `what` says where they come from.
pub(in crate::cli) fn patterns(what: &str, texts: &[String]) -> anyhow::Result<Vec<Pattern>> {
    let home = machine().home;
    let pattern = |text: &String| {
        let whole = match (text.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => text.clone(),
        };
        Pattern::new(&whole).map_err(|error| anyhow!("cannot understand {what} {text:?}: {}", error.msg))
    };
    texts.iter().map(pattern).collect()
}
