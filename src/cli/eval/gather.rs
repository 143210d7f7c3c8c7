//! What all parts of a run come to, gathered for the file of results.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use afterthought::config::Config;
use afterthought::eval::rows::{Defined, Keep, Manifest, Results, Row, Shared, Spent, Suite, key_of, with_ending};
use afterthought::prompts;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::args::EvalArgs;
use super::report::over_runs;
use crate::cli::printer::{Printer, counted};

/// Seed of everything that is drawn; the intervals are the same in every run.
const SEED: u64 = 0x5eed_cafe_f00d_0001;

/// What is known of a run before it begins.
pub(super) struct Told<'a> {
    /// Whether a model is asked.
    pub(super) asks: bool,
    /// Whether its answers are recorded ones.
    pub(super) replayed: bool,
    pub(super) label: &'a str,
    pub(super) config: &'a Config,
}

/// Rows as they come, and those that an earlier run has kept.
pub(super) struct Gather {
    out: Option<PathBuf>,
    keep: Option<Keep>,
    manifest: Manifest,
    /// What every row depends on besides its case.
    frame: String,
    begun: Instant,
    found: RefCell<Found>,
    cases: Cell<u64>,
}

#[derive(Default)]
struct Found {
    measures: Vec<Defined>,
    rows: Vec<Row>,
    shared: Vec<Shared>,
}

impl Gather {
    /// Prepares for a run of the suites of `args`; reads what an earlier one has kept.
    pub(super) fn new(args: &EvalArgs, told: &Told<'_>) -> anyhow::Result<Self> {
        let suites = match &args.out {
            Some(_) => args.paths.iter().map(|path| Suite::of(path)).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let manifest = Manifest {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            revision: args.out.as_ref().and_then(|_| revision()),
            suites,
            prompts: prompts::hash(),
            prompt_folder: args.prompt.clone(),
            extractor: args.control_name().unwrap_or(if told.asks { "llm" } else { "rules" }).to_owned(),
            label: told.label.to_owned(),
            model: told.asks.then(|| told.label.to_owned()),
            deterministic: !told.asks || told.replayed,
            seed: SEED,
            repeat: args.repeat,
            options: options(args, told.config),
            started: Timestamp::now(),
            ms: 0,
            cache_hits: 0,
        };
        if args.fresh
            && let Some(out) = &args.out
        {
            // Nothing is there the first time.
            std::fs::remove_dir_all(with_ending(out, "calls")).ok();
        }
        // What is to be looked at in a store of its own has to be run.
        let keep = args.out.as_ref().filter(|_| args.keep.is_none() && args.record.is_none());
        let keep = keep.map(|out| Keep::beside(out, args.fresh)).transpose()?;
        let frame = json!([manifest.prompts, manifest.extractor, manifest.label, manifest.options, code()]).to_string();
        let (begun, found, cases) = (Instant::now(), RefCell::default(), Cell::default());
        Ok(Self { out: args.out.clone(), keep, manifest, frame, begun, found, cases })
    }

    /// Returns the folder in which the calls of a run are kept, where there is a file of results.
    pub(super) fn calls(&self, repeat: u32) -> Option<PathBuf> {
        let out = self.out.as_ref().filter(|_| !self.manifest.deterministic)?;
        Some(with_ending(out, "calls").join(repeat.to_string()))
    }

    /// Returns what stands for the outcome of a case with this content.
    pub(super) fn key(&self, kind: &str, content: &str, repeat: u32) -> String {
        key_of(&[&self.frame, kind, content, &repeat.to_string()])
    }

    /// Returns what an earlier run has kept under `key`.
    pub(super) fn kept<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.keep.as_ref()?.get(key)
    }

    /// Keeps what a case came to.
    pub(super) fn keep<T: Serialize>(&self, key: &str, value: &T) -> anyhow::Result<()> {
        Ok(self.keep.as_ref().map_or(Ok(()), |keep| keep.put(key, value))?)
    }

    /// Takes in what rows of a kind measure.
    pub(super) fn define(&self, measures: Vec<Defined>) {
        let mut found = self.found.borrow_mut();
        for one in measures {
            if !found.measures.contains(&one) {
                found.measures.push(one);
            }
        }
    }

    /// Takes in the row of a case that lies at `place`.
    pub(super) fn row(&self, row: Row, place: &Path, repeat: u32) {
        let suite = self.suite_of(place);
        self.cases.set(self.cases.get() + 1);
        self.found.borrow_mut().rows.push(Row { suite, repeat, ..row });
    }

    /// Takes in a row that names its suite itself.
    pub(super) fn row_of(&self, row: Row) {
        self.found.borrow_mut().rows.push(row);
    }

    /// Takes in what was asked for all cases together that lie at `place`.
    pub(super) fn shared(&self, cost: Spent, place: &Path, repeat: u32) {
        let suite = self.suite_of(place);
        self.found.borrow_mut().shared.push(Shared { suite, repeat, cost });
    }

    /// Returns the name of the suite that `place` lies in.
    pub(super) fn suite_of(&self, place: &Path) -> String {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = whole(place);
        let holding = self.manifest.suites.iter().filter(|suite| place.starts_with(whole(&suite.path)));
        let nearest = holding.max_by_key(|suite| whole(&suite.path).components().count());
        nearest.map(|suite| suite.name.clone()).unwrap_or_default()
    }

    /// Tells what several runs come to, and writes the file.
    pub(super) fn finish(self, out: &Printer) -> anyhow::Result<()> {
        let found = self.found.into_inner();
        let hits = self.keep.as_ref().map_or(0, Keep::hits);
        let mut manifest = self.manifest;
        manifest.ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        manifest.cache_hits = hits;
        for suite in &mut manifest.suites {
            let rows = found.rows.iter().filter(|row| row.suite == suite.name && row.repeat == 1);
            suite.cases = rows.count() as u64;
        }
        let mut results = Results::new(manifest, found.measures, found.rows);
        results.shared = found.shared;
        if results.manifest.repeat > 1 && !out.is_json() {
            over_runs(&results, out)?;
        }
        let Some(path) = &self.out else { return Ok(()) };
        results.write(path)?;
        self.keep.as_ref().map_or(Ok(()), Keep::tidy)?;
        let kept = if hits > 0 { format!(", {hits} of them from an earlier run") } else { String::new() };
        out.note(format_args!("{}{kept} are in {}", counted(results.rows.len() as u64, "row"), path.display()));
        Ok(())
    }
}

/// Returns the options that change what comes out.
fn options(args: &EvalArgs, config: &Config) -> BTreeMap<String, Value> {
    let namespace = config.namespace.value.as_ref().map(ToString::to_string);
    [
        ("window_tokens", json!(config.window_tokens.value)),
        ("instructions", json!(config.instructions.value)),
        ("categories", json!(config.categories.value)),
        ("namespace", json!(namespace)),
        ("distractors", json!(args.distractors)),
        ("retriever", json!(args.retriever.name())),
        ("again", json!(args.again)),
        ("corrections", json!(args.corrections)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Returns what stands for the code that runs: a program that was built anew may do another thing.
fn code() -> String {
    let about = std::env::current_exe().and_then(std::fs::metadata);
    let changed = about.as_ref().ok().and_then(|about| about.modified().ok());
    let length = about.map(|about| about.len()).unwrap_or_default();
    format!("{} {length} {changed:?}", env!("CARGO_PKG_VERSION"))
}

/// Returns the revision of the checkout that this runs in, with `+` where files were changed.
fn revision() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let revision = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changed| !changed.is_empty());
    Some(if changed { revision + "+" } else { revision })
}
