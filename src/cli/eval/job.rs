//! A run of suites: its rows, their cost, and the result file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::config::Config;
use crate::llm::{Price, Source};
use afterthought_eval::EvalError;
use afterthought_eval::files::hash_of;
use afterthought_eval::report::{Report, spread_over_runs};
use afterthought_eval::results::{Cache, path_beside};
use afterthought_eval::results::{Cost, Manifest, Results, Row, SharedCost, Suite};
use afterthought_eval::vocabulary::Kind;
use serde_json::{Value, json};

use super::args::{EvalArgs, name_of};
use super::manifest::{manifest, revision};
use super::results::{detail, print_blocks};
use super::system::{RunOptions, Subject};
use crate::cli::args::Context;
use crate::cli::printer::{Printer, counted, is_broken_pipe, spelled};

/// One run of all suites.
pub(super) struct Job<'a> {
    pub(super) args: &'a EvalArgs,
    pub(super) context: &'a Context<'a>,
    pub(super) options: &'a RunOptions<'a>,
    pub(super) subject: Subject<'a, Source>,
    pub(super) label: String,
    /// The price of the model, if it is known.
    pub(super) price: Option<Price>,
    pub(super) gather: &'a Gather,
    /// Number of the run, from 1.
    pub(super) repeat: u32,
}

impl Job<'_> {
    /// Returns `cost` with its price, if that is known.
    pub(super) fn priced(&self, cost: Cost) -> Cost {
        Cost { money: self.price.map(|price| price.cost(cost.prompt_tokens, cost.completion_tokens)), ..cost }
    }

    /// Returns `row` with the price of `cost` and the time since `started`.
    pub(super) fn costed(&self, mut row: Row, cost: Cost, started: Instant) -> Row {
        row.cost = self.priced(cost);
        row.timed(started)
    }

    /// Collects rows with the files or folders of their cases, and prints a report about them and about unreadable
    /// records; returns whether anything failed.
    pub(super) fn take(
        &self,
        label: &str,
        rows: Vec<(PathBuf, Row)>,
        shared: Option<Cost>,
        errors: Vec<EvalError>,
    ) -> anyhow::Result<bool> {
        let out = self.context.out;
        let mut failed = !errors.is_empty();
        for (place, row) in &rows {
            self.gather.row(row.clone(), place, self.repeat);
        }
        let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        let warned = rows.iter().flat_map(|row| row.warnings.iter().map(|warning| format!("{}: {warning}", row.case)));
        let warnings: Vec<String> = warned.collect();
        let faults = rows.iter().filter_map(|row| Some(format!("{}: {}", row.case, row.error.as_ref()?)));
        let faults: Vec<String> = faults.chain(errors.into_iter().map(|error| spelled(&error.into()))).collect();
        if !rows.is_empty() {
            let report = Report::new(label, rows, shared);
            let print = || {
                if out.is_json() {
                    report.to_json().iter().try_for_each(|object| out.json(object))?;
                } else if self.repeat == 1 || out.is_verbose() {
                    print_blocks(&report.blocks(detail(out)), out)?;
                }
                anyhow::Ok(())
            };
            self.gather.unless_closed(print())?;
        }
        warnings.into_iter().for_each(|warning| out.warn(warning));
        failed |= !faults.is_empty();
        faults.iter().for_each(|fault| out.error_text(fault));
        Ok(failed)
    }
}

/// Rows of this run, and those kept from an earlier run.
pub(super) struct Gather {
    out: Option<PathBuf>,
    cache: Option<Cache>,
    manifest: Manifest,
    /// Everything that a row depends on in addition to its case.
    frame: String,
    started: Instant,
    rows: RefCell<Vec<Row>>,
    shared: RefCell<Vec<SharedCost>>,
}

impl Gather {
    pub(super) fn new(
        args: &EvalArgs,
        config: &Config,
        label: &str,
        asks: bool,
        replayed: bool,
    ) -> anyhow::Result<Self> {
        let suites = match &args.out {
            Some(_) => args.paths.iter().map(|path| Suite::read(path)).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let manifest = Manifest {
            revision: args.out.as_ref().and_then(|_| revision()),
            suites,
            prompt_folder: args.prompt.clone(),
            extractor: args.control_name().unwrap_or_else(|| if asks { "llm" } else { "rules" }.to_owned()),
            options: options(args, config),
            ..manifest(label, asks.then(|| label.to_owned()), replayed, args.repeat)
        };
        if args.fresh
            && let Some(out) = &args.out
        {
            // The folder does not exist in the first run.
            std::fs::remove_dir_all(path_beside(out, "calls")).ok();
        }
        // Keeping stores, or recording, requires a real run.
        let cache = args.out.as_ref().filter(|_| args.keep.is_none() && args.record.is_none());
        let cache = cache.map(|out| Cache::open_beside(out, args.fresh)).transpose()?;
        let frame = json!([manifest.prompts, manifest.extractor, manifest.label, manifest.options, code()]).to_string();
        Ok(Self {
            out: args.out.clone(),
            cache,
            manifest,
            frame,
            started: Instant::now(),
            rows: RefCell::default(),
            shared: RefCell::default(),
        })
    }

    /// Returns the folder in which the replies of a run are kept, if there is a result file.
    pub(super) fn calls(&self, repeat: u32) -> Option<PathBuf> {
        // Rules, controls and recordings can be repeated at no cost, so there is nothing to keep.
        let out = self.out.as_ref().filter(|_| !self.manifest.deterministic)?;
        Some(path_beside(out, "calls").join(repeat.to_string()))
    }

    /// Returns the outcome of a case if an earlier run has kept one for this content; otherwise runs the case and keeps
    /// the outcome, unless it failed.
    pub(super) async fn cached(
        &self,
        (kind, content, repeat): (Kind, Option<&str>, u32),
        run: impl Future<Output = Vec<Row>>,
    ) -> anyhow::Result<Vec<Row>> {
        // The key covers everything that can change the rows; a stale hit would be mistaken for a measurement.
        let key = content.map(|content| hash_of(&[&self.frame, kind.as_str(), content, &repeat.to_string()]));
        let (Some(cache), Some(key)) = (&self.cache, key) else { return Ok(run.await) };
        if let Some(rows) = cache.get(&key) {
            return Ok(rows);
        }
        let rows = run.await;
        // A failure may be a temporary problem of a server, so the case is run again next time.
        if rows.iter().all(|row| row.error.is_none()) {
            cache.put(&key, &rows)?;
        }
        Ok(rows)
    }

    /// Collects the row of the case at `place`.
    pub(super) fn row(&self, mut row: Row, place: &Path, repeat: u32) {
        // A row about a search method already names its suite.
        if row.suite.is_empty() {
            row.suite = self.suite_of(place);
        }
        row.repeat = repeat;
        self.rows.borrow_mut().push(row);
    }

    /// Collects the cost of requests made for all cases at `place` together.
    pub(super) fn shared(&self, cost: Cost, place: &Path, repeat: u32) {
        let suite = self.suite_of(place);
        self.shared.borrow_mut().push(SharedCost { suite, repeat, cost });
    }

    /// Returns the name of the suite that contains `place`.
    pub(super) fn suite_of(&self, place: &Path) -> String {
        // Without this, links and relative paths would hide that a file is within a suite.
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = whole(place);
        let containing = self.manifest.suites.iter().filter(|suite| place.starts_with(whole(&suite.path)));
        // Suites may be given together with a folder that contains them; the rows belong to the inner suite.
        let nearest = containing.max_by_key(|suite| whole(&suite.path).components().count());
        nearest.map(|suite| suite.name.clone()).unwrap_or_default()
    }

    /// Writes the files, and prints the variation between several runs.
    pub(super) fn finish(self, out: &Printer) -> anyhow::Result<()> {
        let mut results = Results::new(self.manifest, self.rows.into_inner());
        results.shared = self.shared.into_inner();
        let hits = self.cache.as_ref().map_or(0, Cache::hits);
        results.manifest.ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        results.manifest.cache_hits = hits;
        for suite in &mut results.manifest.suites {
            // Repetitions are runs of the same cases and must not count as more cases.
            let rows = results.rows.iter().filter(|row| row.suite == suite.name && row.repeat == 1);
            suite.cases = rows.count() as u64;
        }
        if let Some(path) = &self.out {
            results.write(path)?;
            // The cache is removed only once the results are written, so that a failure in between loses no finished
            // case.
            self.cache.as_ref().map_or(Ok(()), Cache::prune)?;
            let kept = if hits > 0 { format!(", {hits} of them from an earlier run,") } else { String::new() };
            out.note(format_args!("wrote {}{kept} to {}", counted(results.rows.len() as u64, "row"), path.display()));
        }
        if results.manifest.repeat > 1 && !out.is_json() {
            print_blocks(&spread_over_runs(&results), out)?;
        }
        Ok(())
    }

    /// Returns the result of printing. If there is a result file, a closed pipe is no reason to end the run, since the
    /// remaining cases are still written.
    fn unless_closed(&self, printed: anyhow::Result<()>) -> anyhow::Result<()> {
        printed.or_else(|error| if self.out.is_some() && is_broken_pipe(&error) { Ok(()) } else { Err(error) })
    }
}

/// Returns the options that change the outcome.
fn options(args: &EvalArgs, config: &Config) -> BTreeMap<String, Value> {
    let namespace = &config.namespace.value;
    [
        ("window_tokens", json!(config.window_tokens.value)),
        ("instructions", json!(config.instructions.value)),
        ("categories", json!(config.categories.value)),
        ("namespace", json!(namespace)),
        ("distractors", json!(args.distractors)),
        ("retriever", json!(name_of(&args.retriever))),
        ("again", json!(args.again)),
        ("corrections", json!(args.corrections)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Identifies the running program, since a new build may behave differently.
fn code() -> String {
    // Size and modification time identify the program, because hashing all of it at each start would be slow.
    let about = std::env::current_exe().and_then(std::fs::metadata);
    let changed = about.as_ref().ok().and_then(|about| about.modified().ok());
    let length = about.map(|about| about.len()).unwrap_or_default();
    format!("{} {length} {changed:?}", env!("CARGO_PKG_VERSION"))
}
