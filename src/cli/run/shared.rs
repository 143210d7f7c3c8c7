//! What `run` and `plan` have in common: what to read, and how.

use std::path::PathBuf;

use afterthought::config::{Config, ExtractorChoice, Partial, PartialGuard};
use afterthought::extract::window::WindowBudget;
use afterthought::ingest::known;
use afterthought::llm::{Price, Prices};
use afterthought::pipeline::{Options, Reread, Selection, Sources, named_project};
use anyhow::{Context as _, anyhow, ensure};
use clap::ValueEnum;
use glob::Pattern;
use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::cli::args::{Context, machine, must_be_folder, now};
use crate::cli::when::{End, moment};

#[derive(Debug, clap::Args)]
pub(super) struct Shared {
    /// Log files, folders, patterns, or - for standard input
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Read what this program keeps on this machine, or all of them with `all`; see `afterthought sources`
    #[arg(long, value_name = "NAME")]
    pub(super) from: Vec<String>,
    /// Folder with projects, for programs that keep their histories in them, such as aider
    #[arg(long, value_name = "FOLDER", requires = "from")]
    pub(super) below: Vec<PathBuf>,
    /// Read only what was said since then: a date, an RFC 3339 time, an age such as 7d or 2w, or yesterday
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
    /// Read only what was said until then; a date includes its day
    #[arg(long, value_name = "WHEN")]
    pub(super) until: Option<String>,
    /// Read only this project: its name, or a folder with all below it
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) project: Vec<String>,
    /// Leave out files and projects that match, such as 'private-*' or 'clients/acme'
    #[arg(long, value_name = "PATTERN")]
    pub(super) exclude: Vec<String>,
    /// Open logs even if they were finished and have not changed; finished windows are still not paid for again
    #[arg(long)]
    reread: bool,
    /// Read everything as this format, see `afterthought formats`
    #[arg(long, value_name = "NAME")]
    pub(super) format: Option<String>,
    /// What reads the conversations [default: auto]
    #[arg(long, value_enum)]
    pub(super) extractor: Option<ExtractorArg>,
    /// Name of the model [env: AFTERTHOUGHT_MODEL]
    #[arg(long)]
    pub(super) model: Option<String>,
    /// Base URL of an OpenAI-compatible server [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Calls in flight [default: 4]
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<usize>,
    /// Tokens of conversation in one call; short conversations of one project share it [default: 8000]
    #[arg(long, value_name = "N")]
    pub(super) window_tokens: Option<usize>,
    /// Most dollars to spend [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub(super) max_cost: Option<f64>,
    /// Most tokens to spend [default: no limit]
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<u64>,
    /// Most dollars that all runs of one day may spend, by this machine's clock [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub(super) max_cost_per_day: Option<f64>,
    /// Dollars for a million tokens sent and received, e.g. 0.25,2.00 [default: a built-in table]
    #[arg(long, value_name = "PROMPT,COMPLETION", value_parser = price)]
    pub(super) price: Option<Price>,
    /// File that says in prose what to keep and never to keep
    #[arg(long, value_name = "FILE")]
    pub(super) instructions: Option<PathBuf>,
    /// What is done with personal data: KIND=redact, keep or drop for cards, ibans, ids, emails, phones or addresses
    #[arg(long, value_name = "KIND=WHAT")]
    pub(super) pii: Vec<String>,
    /// Write every exchange with the model into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(super) record: Option<PathBuf>,
    /// Answer from exchanges recorded in this folder, without any server
    #[arg(long, value_name = "DIR")]
    pub(super) replay: Option<PathBuf>,
}

/// What reads the conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExtractorArg {
    /// The model where one is configured, else the rules
    Auto,
    /// The model
    Llm,
    /// The offline rules
    Rules,
}

impl ExtractorArg {
    /// Returns it as a setting.
    pub(in crate::cli) const fn choice(self) -> ExtractorChoice {
        match self {
            Self::Auto => ExtractorChoice::Auto,
            Self::Llm => ExtractorChoice::Llm,
            Self::Rules => ExtractorChoice::Rules,
        }
    }
}

impl Shared {
    fn sources(&self) -> anyhow::Result<Sources> {
        ensure!(
            !self.paths.is_empty() || !self.from.is_empty(),
            "nothing to read is named; give a PATH, or --from NAME for what `afterthought sources` lists"
        );
        self.below.iter().try_for_each(|folder| must_be_folder(folder))?;
        let found = known::logs_of(&self.from, &machine(), &self.below)?;
        Ok(Sources { paths: self.paths.clone(), found, format: self.format.clone() })
    }

    pub(super) fn settings(&self, context: &Context<'_>) -> anyhow::Result<Config> {
        let instructions = self.instructions.as_ref().map(|path| {
            std::fs::read_to_string(path).with_context(|| {
                format!("cannot read instructions {}; check the path and its permissions", path.display())
            })
        });
        let mut guard = PartialGuard::default();
        self.pii.iter().try_for_each(|text| guard.set(text).map_err(|why| anyhow!("--pii {text}: {why}")))?;
        context.global.settings(Partial {
            guard: (!self.pii.is_empty()).then_some(guard),
            extractor: self.extractor.map(ExtractorArg::choice),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            jobs: self.jobs,
            window_tokens: self.window_tokens,
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            max_cost_per_day: self.max_cost_per_day,
            instructions: instructions.transpose()?,
            ..Partial::default()
        })
    }

    /// Returns what `model` costs, if that is known. The discount for batches is that of `prices`.
    pub(super) fn price_of(&self, model: &str, prices: &Prices) -> Option<Price> {
        let listed = prices.of(model);
        let batch = listed.map_or(1.0, |price| price.batch);
        self.price.map(|price| Price { batch, ..price }).or(listed)
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
        let pattern = |(what, text): (&str, &String)| {
            let whole = match (text.strip_prefix("~/"), &home) {
                (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
                _ => text.clone(),
            };
            Pattern::new(&whole).map_err(|error| anyhow!("cannot understand {what} {text:?}: {}", error.msg))
        };
        let left_out = self.exclude.iter().map(|text| ("--exclude", text));
        let denied = deny.iter().map(|text| ("the setting deny", text));
        Ok(Selection {
            since,
            until,
            zone: Some(now.time_zone().clone()),
            namespaces: Vec::new(),
            projects: self.project.iter().map(|text| named_project(text, &directory, home.as_deref())).collect(),
            exclude: left_out.chain(denied).map(pattern).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn options(&self, config: &Config, is_verbose: bool) -> anyhow::Result<Options> {
        Ok(Options {
            sources: self.sources()?,
            selection: self.selection(&config.deny.value, &now().to_zoned(TimeZone::system()))?,
            // What -v tells of records that could not be used is only found by reading them.
            reread: match (self.reread, is_verbose) {
                (true, _) => Reread::All,
                (false, true) => Reread::Flawed,
                (false, false) => Reread::Nothing,
            },
            namespace: config.namespace.value.clone(),
            categories: config.categories.value.clone(),
            instructions: config.instructions.value.clone(),
            window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
            jobs: config.jobs.value,
        })
    }
}

/// Reads a price as it is written on a command line.
pub(in crate::cli) fn price(text: &str) -> Result<Price, String> {
    let amount = |text: &str| text.trim().trim_start_matches('$').parse::<f64>().ok();
    let amounts = text.split_once(',').and_then(|(prompt, completion)| Some((amount(prompt)?, amount(completion)?)));
    match amounts.filter(|(prompt, completion)| [prompt, completion].iter().all(|one| one.is_finite() && **one >= 0.0))
    {
        Some((prompt, completion)) => Ok(Price::new(prompt, completion)),
        None => Err("it is no price; write two amounts, such as 0.25,2.00".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_two_amounts() {
        assert_eq!(price("0.25,2"), Ok(Price::new(0.25, 2.0)));
        assert_eq!(price("$1, $10"), Ok(Price::new(1.0, 10.0)));
        for text in ["", "1", "1,", "-1,2", "a,b", "1,inf", "1,2,3"] {
            assert!(price(text).is_err(), "{text}");
        }
    }
}
