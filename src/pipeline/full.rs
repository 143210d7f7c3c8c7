//! A full pass over what is stored: a run of its own, namespace by namespace.

use std::cell::RefCell;
use std::pin::pin;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Ledgered, PipelineError, heartbeat};
use crate::consolidate::ApplyError;
use crate::consolidate::pass::{Allowance, Event, Report, TakenBack, Terms, pass_over};
use crate::guard::Guard;
use crate::llm::{Budget, Complete};
use crate::memory::Namespace;
use crate::store::{RunId, RunStatus, Store};

/// What a full pass works with.
#[derive(Debug)]
pub struct FullPass<'a, C> {
    /// Where the memories are.
    pub store: &'a Store,
    /// What takes secrets out.
    pub guard: &'a Guard,
    /// Who is asked where the rules do not tell; `None` for the rules alone.
    pub model: Option<&'a C>,
    /// What may be spent.
    pub budget: &'a Budget,
    /// Only this namespace and those below it.
    pub within: Option<Namespace>,
    /// Namespaces at a time.
    pub jobs: usize,
    /// What was taken back by an undo.
    pub taken_back: TakenBack,
}

/// What a full pass came to. `consolidate --json` ends with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FullSummary {
    /// Id of the run, for `undo`; `None` where nothing was written.
    pub run: Option<String>,
    /// `rules` or the model's name.
    pub extractor: String,
    /// All namespaces together.
    #[serde(flatten)]
    pub total: Report,
    /// Each namespace, by name.
    pub namespaces: Vec<NamespaceReport>,
    /// Calls to the model.
    pub llm_calls: u64,
    /// Replies that were known from before and cost nothing.
    pub cached_replies: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Dollars, where the price of the model is known.
    pub cost: Option<f64>,
    /// Why the model was not asked to the end, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// Whether an interrupt kept namespaces from being looked at.
    pub interrupted: bool,
}

/// What a full pass came to in one namespace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamespaceReport {
    /// The namespace.
    pub namespace: Namespace,
    /// What was done.
    #[serde(flatten)]
    pub report: Report,
}

/// Sets all that is stored against each other, and goes on with an interrupted pass of the same `arguments`.
///
/// Each namespace is written in transactions of its own. Cancelling begins no other namespace. With `dry_run` all is done
/// to a copy, which is dropped; replies of a model are kept, so that the pass that follows does not pay for them again.
///
/// # Errors
/// [`PipelineError`] if the database cannot be read or written; what was written stays.
pub async fn full_pass<C: Complete>(
    pass: FullPass<'_, C>,
    arguments: &serde_json::Value,
    dry_run: bool,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<FullSummary, PipelineError> {
    let model = pass.model.map(|model| Ledgered::new(model, pass.store, pass.guard, pass.budget));
    let watch = RefCell::new(watch);
    let tell = |event: &Event<'_>| (watch.borrow_mut())(event);
    if dry_run {
        let copy = pass.store.copy_in_memory()?;
        go(&FullPass { store: &copy, ..pass }, model.as_ref(), None, &cancel, &tell).await
    } else {
        let run = pass.store.begin_run("consolidate", arguments, Timestamp::now())?;
        let work = go(&pass, model.as_ref(), Some(&run.id), &cancel, &tell);
        let outcome = heartbeat::during(pass.store, &run.id, heartbeat::EVERY, work).await;
        end(&pass, &run.id, outcome)
    }
}

fn end<C>(
    pass: &FullPass<'_, C>,
    run: &RunId,
    outcome: Result<FullSummary, PipelineError>,
) -> Result<FullSummary, PipelineError> {
    let status = if outcome.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    let summary = outcome.as_ref().map(|summary| FullSummary { run: Some(run.to_string()), ..summary.clone() });
    let value = summary.as_ref().map_or(serde_json::Value::Null, |summary| {
        serde_json::to_value(summary).expect("a summary holds nothing that JSON cannot")
    });
    pass.store.finish_run(run, status, &value, Timestamp::now())?;
    match summary {
        Ok(summary) => Ok(summary),
        Err(_) => outcome,
    }
}

async fn go<C: Complete>(
    pass: &FullPass<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    run: Option<&RunId>,
    cancel: &CancellationToken,
    tell: &dyn Fn(&Event<'_>),
) -> Result<FullSummary, PipelineError> {
    let mut inhabited = pass.store.inhabited()?;
    inhabited.retain(|(namespace, _)| pass.within.as_ref().is_none_or(|root| is_under(namespace, root)));
    let allowance = Allowance::of(inhabited.iter().map(|(_, count)| count).sum());
    let terms = Terms {
        store: pass.store,
        guard: pass.guard,
        model,
        run,
        now: Timestamp::now(),
        allowance: &allowance,
        taken_back: pass.taken_back,
    };
    let asked = inhabited.len();
    let mut reports: Vec<NamespaceReport> = Vec::new();
    let passes = stream::iter(inhabited)
        .take_until(cancel.clone().cancelled_owned())
        .map(|(namespace, _)| async {
            let report = pass_over(&terms, &namespace, tell).await?;
            Ok::<_, ApplyError>(NamespaceReport { namespace, report })
        })
        .buffer_unordered(pass.jobs.max(1));
    let mut passes = pin!(passes);
    while let Some(report) = passes.next().await {
        reports.push(report.map_err(refused)?);
    }
    reports.sort_by(|a, b| a.namespace.cmp(&b.namespace));
    let mut total = Report { is_settled: true, ..Report::default() };
    reports.iter().for_each(|one| total += one.report.clone());
    let spent = total.spent;
    Ok(FullSummary {
        run: None,
        extractor: model.map_or_else(|| "rules".to_owned(), |model| model.model().to_owned()),
        interrupted: reports.len() < asked,
        total,
        namespaces: reports,
        llm_calls: spent.calls,
        cached_replies: spent.cached,
        prompt_tokens: spent.prompt_tokens,
        completion_tokens: spent.completion_tokens,
        cost: pass.budget.spent_cost(),
        halted: model.and_then(Ledgered::halted).map(|error| error.to_string()),
    })
}

fn is_under(namespace: &Namespace, root: &Namespace) -> bool {
    namespace.parts().starts_with(root.parts())
}

fn refused(error: ApplyError) -> PipelineError {
    match error {
        ApplyError::Stale { .. } => PipelineError::Contended { attempts: 8 },
        ApplyError::Store(error) => error.into(),
    }
}
