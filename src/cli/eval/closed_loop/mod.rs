//! `eval loop`: measures whether memories of a first session help an agent in a second one.
//!
//! ```text
//! first.jsonl ─▶ pipeline ─▶ database ─▶ hooks of the arm ─▶ agent in a copy of the repository ─▶ hidden tests ─▶ Row
//! ```

mod agent;
mod model_agent;
mod process;
mod workspace;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use crate::api::{model_settings, source_of};
use crate::extract::offline;
use crate::guard::Guard;
use crate::llm::{Budget, Budgeted, Limits, Price, Prices, Source};
use crate::pipeline::{self, Sources};
use crate::tokens;
use afterthought_eval::closed_loop::{LoadedTask, Outcome, empty_row, score};
use afterthought_eval::report::{Report, blocks_of};
use afterthought_eval::results::{Cost, Manifest, Results, Row, Suite};
use afterthought_eval::vocabulary::Arm;
use afterthought_eval::{SEED, SplitMix};
use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::manifest::{manifest, revision};
use super::results::{detail, print_blocks};
use super::system::{RunOptions, Subject, run_logs};
use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::model::{ModelArgs, runtime, stop_on_interrupt};
use crate::cli::printer::{set_message, spelled};
use agent::{Agent, AgentReport, work_by_command, work_scripted};
use workspace::{HookCalls, Workspace};

/// Number of lessons in the control with random lessons.
const RANDOM_LESSONS: usize = 3;
/// Number of characters that a report quotes from the output of a failed test.
const QUOTED: usize = 600;

/// Measure whether memories help an agent in a later session
///
/// For each task of the suite and each arm, copies the repository, reads the log of the first session, lets the agent
/// work in a second session with the hooks of the arm, and runs the hidden tests. Exits 3 if a task could not be run.
/// The suite contains commands, which are run without a sandbox.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval loop evals/loop\n  afterthought eval loop evals/loop --controls --out loop.json\n  afterthought eval loop evals/loop --agent model --model gpt-5-mini --repeat 3 --out loop.json\n  afterthought eval loop evals/loop --agent 'claude --print --output-format json --permission-mode bypassPermissions' --arm none --arm both"
)]
pub(super) struct LoopArgs {
    /// Folder with `repositories` and `tasks`; see evals/README.md
    #[arg(value_name = "PATH")]
    suite: PathBuf,
    /// Agent: scripted, model, or a command line that reads a prompt from standard input
    #[arg(long, value_name = "AGENT", default_value = "scripted")]
    agent: Agent,
    /// Run only this arm: none, preamble, act, both, ceiling or harm; may be repeated
    #[arg(long = "arm", value_name = "ARM")]
    arms: Vec<Arm>,
    /// Also run the controls, which are expected to fail: random, all, other and no-hint
    #[arg(long)]
    controls: bool,
    /// Run only this task; may be repeated
    #[arg(long = "task", value_name = "ID")]
    tasks: Vec<String>,
    /// Run each task N times in each arm
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u32,
    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Keep the folders of all runs in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

pub(super) fn run(args: &LoopArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let all = LoadedTask::read_all(&args.suite)?;
    for id in &args.tasks {
        ensure!(all.iter().any(|one| one.task.id == *id), "{} has no task {id}", args.suite.display());
    }
    let chosen: Vec<&LoadedTask> =
        all.iter().filter(|one| args.tasks.is_empty() || args.tasks.contains(&one.task.id)).collect();
    let config = context.global.settings(args.model.settings())?;
    let guard = Guard::from(&config.guard);
    let settings = model_settings(&config)?;
    let extracts = pipeline::choose(config.extractor.value, settings.is_some() || args.model.replay.is_some())?;
    let needs_model = extracts || args.agent == Agent::Model;
    let (record, replay) = (args.model.record.as_deref(), args.model.replay.as_deref());
    let source = needs_model.then(|| source_of(&config, settings, record, replay)).transpose()?;
    let model = source.as_ref().map(|source| crate::llm::Complete::model(source).to_owned());
    let price = model.as_ref().and_then(|model| args.model.price.or_else(|| Prices::default().of(model)));
    let limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, ..Limits::default() };
    let budget = Budget::new(limits, price, model.as_deref().unwrap_or("none"))?;
    let cancel = CancellationToken::new();
    let options = RunOptions::of(&config, &guard, &budget, cancel.clone());
    let extractor = if extracts { model.clone().unwrap_or_default() } else { offline::VERSION.to_owned() };
    let label = match (&args.agent, &model) {
        (Agent::Model, Some(model)) => format!("agent {model}, memories of {extractor}"),
        (agent, _) => format!("agent {}, memories of {extractor}", agent.name()),
    };
    let arms = args.all_arms();
    let mut manifest = Manifest {
        revision: revision(),
        extractor: if extracts { "llm" } else { "rules" }.to_owned(),
        options: BTreeMap::from([("agent".to_owned(), json!(args.agent.name())), ("arms".to_owned(), json!(arms))]),
        ..manifest(&label, model, replay.is_some(), args.repeat)
    };
    let begun = Instant::now();
    let experiment =
        Experiment { args, all: &all, guard: &guard, options: &options, source: source.as_ref(), extracts, price };
    let rows = runtime()?.block_on(async {
        stop_on_interrupt(cancel, args.model.grace);
        Box::pin(experiment.run(&chosen, &arms, context)).await
    })?;
    manifest.ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    manifest.suites = suites(args, &rows)?;
    let has_failed = rows.iter().any(|row| row.error.is_some());
    let results = Results::new(manifest, rows);
    let out = context.out;
    // The file is written first, because a closed pipe ends the printing.
    if let Some(path) = &args.out {
        results.write(path)?;
        out.note(format_args!("wrote {} rows to {}", results.rows.len(), path.display()));
    }
    if out.is_json() {
        Report::new(&label, results.rows.clone(), None).to_json().iter().try_for_each(|object| out.json(object))?;
    } else {
        print_blocks(&blocks_of(&results, detail(out)), out)?;
    }
    Ok(if has_failed { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Returns a description of each suite of `rows`. All of them have the same content.
fn suites(args: &LoopArgs, rows: &[Row]) -> anyhow::Result<Vec<Suite>> {
    let read = Suite::read(&args.suite)?;
    let mut suites: Vec<Suite> = Vec::new();
    for row in rows.iter().filter(|row| row.repeat == 1) {
        match suites.iter_mut().find(|suite| suite.name == row.suite) {
            Some(suite) => suite.cases += 1,
            None => suites.push(Suite { name: row.suite.clone(), cases: 1, ..read.clone() }),
        }
    }
    Ok(suites)
}

impl LoopArgs {
    fn all_arms(&self) -> Vec<Arm> {
        let is_chosen = |arm: &Arm| {
            let is_control = matches!(arm, Arm::Random | Arm::All | Arm::Other | Arm::NoHint);
            self.arms.contains(arm) || if is_control { self.controls } else { self.arms.is_empty() }
        };
        Arm::ALL.iter().copied().filter(is_chosen).collect()
    }
}

/// A database with the memories of a first session. The folder must exist for as long as the database is used.
struct FirstSession {
    workspace: Workspace,
    cost: Cost,
}

/// Everything that the runs of an experiment share.
struct Experiment<'a> {
    args: &'a LoopArgs,
    all: &'a [LoadedTask],
    guard: &'a Guard,
    options: &'a RunOptions<'a>,
    source: Option<&'a Source>,
    /// Whether the model reads the first sessions.
    extracts: bool,
    price: Option<Price>,
}

impl Experiment<'_> {
    async fn run(&self, chosen: &[&LoadedTask], arms: &[Arm], context: &Context<'_>) -> anyhow::Result<Vec<Row>> {
        let (bar, mut rows) = (context.out.progress(), Vec::new());
        let mut sessions = HashMap::new();
        for repeat in 1..=self.args.repeat {
            for loaded in chosen {
                for &arm in arms {
                    set_message(&bar, &format!("{} in arm {arm}", loaded.task.id));
                    if self.options.cancel.is_cancelled() {
                        rows.push(empty_row(loaded, arm).failed("interrupted before it began".to_owned()));
                        continue;
                    }
                    let mut ran = Box::pin(self.run_one(loaded, arm, repeat, &mut sessions)).await;
                    if ran.is_err() && self.args.keep.is_none() {
                        // The protocol allows one more attempt, because a server may have failed.
                        ran = Box::pin(self.run_one(loaded, arm, repeat, &mut sessions)).await;
                    }
                    let mut row = ran.unwrap_or_else(|error| empty_row(loaded, arm).failed(spelled(&error)));
                    row.repeat = repeat;
                    rows.push(row);
                }
            }
        }
        bar.finish_and_clear();
        // Reports list the arms in the order of the protocol.
        rows.sort_by_key(|row| (row.repeat, arms.iter().position(|arm| row.suite.ends_with(&format!(": {arm}")))));
        Ok(rows)
    }

    async fn run_one(
        &self,
        loaded: &LoadedTask,
        arm: Arm,
        repeat: u32,
        sessions: &mut HashMap<String, FirstSession>,
    ) -> anyhow::Result<Row> {
        let label = format!("{arm}/{}/{repeat}", loaded.task.id);
        let workspace = Workspace::new(self.args.keep.as_deref(), &label, loaded)?;
        let extraction = Box::pin(self.fill(&workspace, loaded, arm, sessions)).await?;
        let hooks = HookCalls::new(&workspace, arm);
        let mut preamble = Vec::new();
        if matches!(arm, Arm::Ceiling | Arm::NoHint) {
            let hint = if arm == Arm::Ceiling { &*loaded.task.hint } else { "" };
            let text = format!("Known from an earlier session in this repository: {hint}");
            hooks.add_shown(text.clone());
            preamble.push(text);
        }
        let begun = Instant::now();
        let report = self.work(loaded, arm, &workspace, &hooks, preamble).await?;
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let tested = workspace.test(loaded)?;
        let printed = tested.printed();
        let outcome = Outcome {
            is_solved: tested.has_succeeded(),
            follows_wrong_advice: loaded
                .follows_wrong_advice(|file| fs::read_to_string(workspace.repository().join(file)).ok()),
            failed_commands: report.failed_commands,
            shown: hooks.shown(),
            turns: report.turns,
            agent: Cost { ms, ..self.priced(report.cost) },
            extraction: self.priced(extraction),
            printed: printed[printed.ceil_char_boundary(printed.len().saturating_sub(QUOTED))..].to_owned(),
        };
        let mut row = score(loaded, arm, &outcome, tokens::count);
        // A failed hook would look like a missing memory.
        let log = fs::read_to_string(workspace.path("memories.hooks.log")).unwrap_or_default();
        row.warnings.extend(log.lines().map(str::to_owned));
        Ok(row)
    }

    async fn work(
        &self,
        loaded: &LoadedTask,
        arm: Arm,
        workspace: &Workspace,
        hooks: &HookCalls<'_>,
        mut preamble: Vec<String>,
    ) -> anyhow::Result<AgentReport> {
        let prompt = &loaded.task.prompt;
        match &self.args.agent {
            Agent::Scripted => work_scripted(loaded, workspace, hooks),
            Agent::Model => {
                preamble.extend(hooks.before_prompt(prompt)?);
                let model = Budgeted::new(self.source.context("no model is configured")?, self.options.budget);
                model_agent::work(&model, self.guard, prompt, &preamble, workspace, hooks).await
            }
            Agent::Command(line) => {
                preamble.push(prompt.clone());
                work_by_command(line, &preamble.join("\n\n"), workspace, arm, hooks)
            }
        }
    }

    /// Fills the database of a run with the memories of its arm, and returns the cost of extracting them.
    async fn fill(
        &self,
        workspace: &Workspace,
        loaded: &LoadedTask,
        arm: Arm,
        sessions: &mut HashMap<String, FirstSession>,
    ) -> anyhow::Result<Cost> {
        let first = match arm {
            Arm::None | Arm::Ceiling | Arm::NoHint => return Ok(Cost::default()),
            Arm::Preamble | Arm::Act | Arm::Both => loaded,
            Arm::Other => self.of_other_project(loaded)?,
            Arm::Harm | Arm::Random | Arm::All => {
                // The project is known only after one of its logs has been read.
                let folder = workspace.repository().to_string_lossy().into_owned();
                self.read(workspace, &loaded.empty_session_in(&folder)).await?;
                for lesson in self.lessons(loaded, arm) {
                    workspace.remember(&lesson)?;
                }
                return Ok(Cost::default());
            }
        };
        let id = first.task.id.clone();
        if !sessions.contains_key(&id) {
            let keep = self.args.keep.as_deref();
            let own = Workspace::new(keep, &format!("first/{id}"), first)?;
            let log = first.first_session_in(&own.repository().to_string_lossy());
            let cost = self.read(&own, &log).await?;
            sessions.insert(id.clone(), FirstSession { workspace: own, cost });
        }
        let session = &sessions[&id];
        let from = session.workspace.database();
        for ending in ["db", "db-wal"] {
            let part = from.with_extension(ending);
            if part.exists() {
                fs::copy(&part, workspace.database().with_extension(ending)).context("cannot copy the database")?;
            }
        }
        Ok(session.cost)
    }

    /// Reads a log with the pipeline into the database of a workspace.
    async fn read(&self, workspace: &Workspace, log: &str) -> anyhow::Result<Cost> {
        let path = workspace.path("first.jsonl");
        fs::write(&path, log).with_context(|| format!("cannot write {}", path.display()))?;
        let sources = Sources { paths: vec![path], ..Sources::default() };
        let subject = match self.source.filter(|_| self.extracts) {
            Some(source) => Subject::Llm(source),
            None => Subject::Rules,
        };
        Ok(run_logs(&sources, &workspace.database(), subject, self.options).await?.usage)
    }

    /// Returns the texts that are stored instead of the memories of the first session.
    fn lessons(&self, loaded: &LoadedTask, arm: Arm) -> Vec<String> {
        let mut others: Vec<String> =
            self.all.iter().filter(|other| other.task.id != loaded.task.id).map(|one| one.task.hint.clone()).collect();
        match arm {
            Arm::Harm => vec![loaded.task.wrong.clone()],
            Arm::Random => {
                let place = self.all.iter().position(|one| one.task.id == loaded.task.id).unwrap_or_default();
                let mut random = SplitMix::new(SEED.wrapping_add(place as u64));
                let count = RANDOM_LESSONS.min(others.len());
                (0..count).map(|_| others.swap_remove(random.below(others.len()))).collect()
            }
            _ => others,
        }
    }

    /// Returns the next task in another repository.
    fn of_other_project(&self, loaded: &LoadedTask) -> anyhow::Result<&LoadedTask> {
        let place = self.all.iter().position(|one| one.task.id == loaded.task.id).unwrap_or_default();
        let (before, after) = self.all.split_at(place);
        let mut others = after.iter().chain(before).filter(|one| one.task.repository != loaded.task.repository);
        others.next().context("the suite has only one repository, so there is no other project")
    }

    fn priced(&self, cost: Cost) -> Cost {
        let money = self.price.map(|price| price.cost(cost.prompt_tokens, cost.completion_tokens));
        Cost { money: cost.money.or(money), ..cost }
    }
}
