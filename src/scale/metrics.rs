//! Figures of a worker and its queue, in the text format that Prometheus reads.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::QueueProgress;
use crate::llm::Reply;

/// Upper limits of the classes of model calls, in seconds.
const CALL_SECONDS: [f64; 10] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0];
/// Prefix of all names.
const PREFIX: &str = "afterthought";

/// A name and its value.
type Label = [(&'static str, &'static str); 1];
type Dollars = Gauge<f64, AtomicU64>;

/// The outcome of a claimed job for its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobResult {
    Done,
    Failed,
    /// It has to wait, for example because the budget is used up.
    Postponed,
    /// Another worker took it, because the lease expired.
    Lost,
}

impl JobResult {
    const ALL: [Self; 4] = [Self::Done, Self::Failed, Self::Postponed, Self::Lost];

    const fn label(self) -> Label {
        let name = match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Postponed => "postponed",
            Self::Lost => "lost",
        };
        [("result", name)]
    }
}

/// What a worker has done since it started.
pub(crate) struct WorkerStatistics {
    registry: Registry,
    claimed: Counter,
    ended: Family<Label, Counter>,
    lease_age: Gauge<f64, AtomicU64>,
    /// When the lease of the job in progress was last renewed.
    renewed: Mutex<Option<Instant>>,
    calls: Histogram,
    failed_calls: Counter,
    tokens: Family<Label, Counter>,
    cost: Counter<f64, AtomicU64>,
}

impl WorkerStatistics {
    /// Returns figures that are all zero.
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            claimed: Counter::default(),
            ended: Family::default(),
            lease_age: Gauge::default(),
            renewed: Mutex::default(),
            calls: Histogram::new(CALL_SECONDS),
            failed_calls: Counter::default(),
            tokens: Family::default(),
            cost: Counter::default(),
        };
        // A figure that is missing until the first event would hide that event from rates.
        JobResult::ALL.iter().for_each(|result| drop(metrics.ended.get_or_create(&result.label())));
        [PROMPT, COMPLETION].iter().for_each(|kind| drop(metrics.tokens.get_or_create(kind)));
        let Self { registry, claimed, ended, lease_age, calls, failed_calls, tokens, cost, .. } = &mut metrics;
        registry.register("jobs_claimed", "Jobs that this worker has claimed", claimed.clone());
        registry.register("jobs_ended", "Claimed jobs that ended, by their result", ended.clone());
        registry.register(
            "lease_age_seconds",
            "Time since the lease of the job in progress was renewed; 0 without a job",
            lease_age.clone(),
        );
        registry.register("model_call_seconds", "Duration of model calls, with their retries", calls.clone());
        registry.register("model_calls_failed", "Model calls that failed after their retries", failed_calls.clone());
        registry.register("model_tokens", "Tokens of answered model calls", tokens.clone());
        registry.register("model_cost_dollars", "Cost of answered model calls in US dollars", cost.clone());
        metrics
    }

    /// Counts a job that was claimed, whose lease begins now.
    pub(crate) fn claimed(&self) {
        self.claimed.inc();
        self.renewed();
    }

    /// Notes that the lease of the job in progress was renewed now.
    pub(crate) fn renewed(&self) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Counts a job that ended, and with it its lease.
    pub(crate) fn ended(&self, result: JobResult) {
        self.ended.get_or_create(&result.label()).inc();
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Counts a model call that was answered after `time`, and its cost in US dollars.
    pub(super) fn answered(&self, reply: &Reply, cost: f64, time: Duration) {
        self.calls.observe(time.as_secs_f64());
        self.tokens.get_or_create(&PROMPT).inc_by(reply.prompt_tokens);
        self.tokens.get_or_create(&COMPLETION).inc_by(reply.completion_tokens);
        self.cost.inc_by(cost);
    }

    /// Counts a model call that failed after `time`.
    pub(super) fn refused(&self, time: Duration) {
        self.calls.observe(time.as_secs_f64());
        self.failed_calls.inc();
    }

    /// Returns the figures of this worker and those of its queue; `None` means that the queue does not answer.
    pub(crate) fn text(&self, queue: Option<&QueueProgress>) -> String {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        self.lease_age.set(renewed.map_or(0.0, |renewed| renewed.elapsed().as_secs_f64()));
        let mut text = String::new();
        let written = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &of_queue(queue)))
            .and_then(|()| encode_eof(&mut text));
        written.expect("text can always be added to a string");
        text
    }
}

impl fmt::Debug for WorkerStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerStatistics").field("claimed", &self.claimed.get()).finish_non_exhaustive()
    }
}

const PROMPT: Label = [("kind", "prompt")];
const COMPLETION: Label = [("kind", "completion")];

fn of_queue(progress: Option<&QueueProgress>) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    let up: Gauge = Gauge::default();
    up.set(progress.is_some().into());
    registry.register("queue_up", "Whether the queue answers", up);
    let Some(progress) = progress else { return registry };
    let jobs: Family<Label, Gauge> = Family::default();
    let QueueProgress { waiting, running, done, failed, .. } = progress;
    for (status, count) in [("waiting", waiting), ("running", running), ("done", done), ("failed", failed)] {
        jobs.get_or_create(&[("status", status)]).set(*count);
    }
    registry.register("queue_jobs", "Jobs in the queue, by their status", jobs);
    let (namespaces, spent): (Gauge, _) = (Gauge::default(), Dollars::default());
    namespaces.set(progress.namespaces);
    registry.register("queue_namespaces", "Namespaces with a shard or jobs", namespaces);
    spent.set(progress.spent);
    registry.register("queue_spent_dollars", "What all workers have spent, in US dollars", spent);
    if let Some(max_cost) = progress.max_cost {
        let limit = Dollars::default();
        limit.set(max_cost);
        registry.register("queue_limit_dollars", "What all workers may spend, in US dollars", limit);
    }
    registry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Finish;

    #[test]
    fn the_text_contains_every_figure_with_its_help_and_type() {
        let metrics = WorkerStatistics::new();
        let reply = Reply {
            text: String::new(),
            finish: Finish::Stop,
            prompt_tokens: 70,
            completion_tokens: 7,
            model: String::new(),
        };
        metrics.claimed();
        metrics.answered(&reply, 0.25, Duration::from_secs(3));
        metrics.refused(Duration::from_secs(1));
        metrics.ended(JobResult::Done);
        let progress = QueueProgress {
            waiting: 5,
            done: 1,
            namespaces: 2,
            spent: 0.25,
            max_cost: Some(1.5),
            ..QueueProgress::default()
        };
        let text = metrics.text(Some(&progress));
        let mut samples: Vec<&str> =
            text.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket{")).collect();
        samples.sort_unstable();
        assert_eq!(
            samples,
            [
                "afterthought_jobs_claimed_total 1",
                "afterthought_jobs_ended_total{result=\"done\"} 1",
                "afterthought_jobs_ended_total{result=\"failed\"} 0",
                "afterthought_jobs_ended_total{result=\"lost\"} 0",
                "afterthought_jobs_ended_total{result=\"postponed\"} 0",
                "afterthought_lease_age_seconds 0.0",
                "afterthought_model_call_seconds_count 2",
                "afterthought_model_call_seconds_sum 4.0",
                "afterthought_model_calls_failed_total 1",
                "afterthought_model_cost_dollars_total 0.25",
                "afterthought_model_tokens_total{kind=\"completion\"} 7",
                "afterthought_model_tokens_total{kind=\"prompt\"} 70",
                "afterthought_queue_jobs{status=\"done\"} 1",
                "afterthought_queue_jobs{status=\"failed\"} 0",
                "afterthought_queue_jobs{status=\"running\"} 0",
                "afterthought_queue_jobs{status=\"waiting\"} 5",
                "afterthought_queue_limit_dollars 1.5",
                "afterthought_queue_namespaces 2",
                "afterthought_queue_spent_dollars 0.25",
                "afterthought_queue_up 1",
            ]
        );
        assert!(text.ends_with("# EOF\n") && text.contains("# TYPE afterthought_model_call_seconds histogram\n"));
        assert!(text.contains("afterthought_model_call_seconds_bucket{le=\"2.0\"} 1\n"), "{text}");
        // A lease is as old as its last renewal, and a queue that does not answer has no figures.
        metrics.claimed();
        std::thread::sleep(Duration::from_millis(20));
        let text = metrics.text(None);
        let age = text.lines().find_map(|line| line.strip_prefix("afterthought_lease_age_seconds ")).unwrap();
        assert!(age.parse::<f64>().unwrap() >= 0.02, "{age}");
        assert!(text.contains("afterthought_queue_up 0\n") && !text.contains("queue_jobs"), "{text}");
    }
}
