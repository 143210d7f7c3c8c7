//! Queues of logs in PostgreSQL, and the workers that extract them into shards.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Zoned};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use transcripts::{Found, IngestError, Transcript};

use super::worker::{EMBEDDED_ASIDE, judge};
use super::{
    ApiError, ConsolidationOptions, Fault, Maintenance, Memories, Model, ModelOptions, RereadPolicy, RunRequest,
    Selection, Sources, denied_paths,
};
use crate::config::Config;
use crate::fault::point;
use crate::guard::Guard;
use crate::memory::Namespace;
use crate::pipeline::{AssignedLog, PlacementOptions, assign, assign_conversations, conversations};
use crate::scale::{
    CommitOutcome, Extent, JobEnd, JobKind, JobResult, LogStorage, NewJob, Queue, QueueProgress, QueueReplyStore,
    QueuedJob, ScaleError, ShardCache, WorkerStatistics,
};
use crate::store::Store;
use crate::sync::{Head, LogPlace, PostgresLog, is_objects};

/// Time for which a worker waits for a server that is restarting.
const PATIENCE: Duration = Duration::from_mins(5);
/// Pause of a worker when there is no job.
const PAUSE: Duration = Duration::from_millis(250);
/// Time after which a job that the limits of the queue have stopped is tried again.
const LIMITED: SignedDuration = SignedDuration::from_mins(1);
/// Number of jobs that are collected before they are added.
const BATCH: usize = 500;
/// Number of objects in one query that finds out which of them the queue already contains.
const LISTED: usize = 10_000;

/// The number of logs that were queued.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct QueuedWork {
    /// Logs that were read.
    pub logs: u64,
    /// Jobs that are new, or whose log has changed.
    pub jobs: u64,
    /// Logs that could not be read, with the reasons.
    pub failed: Vec<String>,
}

/// A queue in a PostgreSQL database.
pub(crate) struct WorkQueue {
    address: String,
    queue: Queue,
}

impl WorkQueue {
    /// Opens the queue at an address, and creates its tables if they are missing.
    ///
    /// # Errors
    /// [`ApiError`] if the address contains a password, or the server cannot be used.
    pub(crate) fn open(address: &str) -> Result<Self, ApiError> {
        let mut queue = Self::at(address)?;
        queue.is_open()?;
        Ok(queue)
    }

    /// Returns the queue at an address, which is not contacted yet.
    ///
    /// # Errors
    /// [`ApiError`] if the address contains a password or cannot be read.
    pub(crate) fn at(address: &str) -> Result<Self, ApiError> {
        Ok(Self { address: address.to_owned(), queue: Queue::new(address, "", Duration::ZERO)? })
    }

    /// Returns whether a job waits or is in progress.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used.
    pub(crate) fn is_open(&mut self) -> Result<bool, ApiError> {
        Ok(self.queue.is_open()?)
    }

    /// Adds a job for each log and namespace. Logs that workers have extracted are added again only if they changed.
    ///
    /// # Errors
    /// [`ApiError`] if nothing can be read, or the queue cannot be written; what was added stays.
    pub(crate) async fn fill(
        &mut self,
        config: &Config,
        request: RunRequest,
        warn: &mut dyn FnMut(&str),
    ) -> Result<QueuedWork, ApiError> {
        let (guard, forced) = (Guard::from(&config.guard), config.namespace());
        let store = Store::in_memory()?;
        store.set_guard(guard.clone());
        let RunRequest { mut sources, selection, .. } = request;
        let (addresses, paths): (Vec<PathBuf>, _) = sources.paths.into_iter().partition(|path| is_object(path));
        sources.paths = paths;
        let options =
            PlacementOptions { sources: &sources, selection: &selection, forced: forced.as_ref(), guard: &guard };
        let mut filling =
            Filling { queue: &mut self.queue, work: QueuedWork::default(), jobs: Vec::new(), fault: None };
        let is_forced = forced.is_some();
        let mut report = |log: Result<AssignedLog, (PathBuf, IngestError)>| match log {
            Ok(log) => filling.add(&log, is_forced),
            Err((path, error)) => filling.work.failed.push(format!("{}: {error}", path.display())),
        };
        assign(options, &store, &mut report, warn).await?;
        for address in addresses {
            filling.add_objects(&address.to_string_lossy(), options, &store, warn).await?;
        }
        filling.end()
    }

    /// Adds a job of this kind for one namespace or for all, and returns their number.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used.
    pub(crate) fn add_to_all(&mut self, kind: JobKind, only: Option<&Namespace>) -> Result<u64, ApiError> {
        let shards = match only {
            Some(namespace) => vec![namespace.to_string()],
            None => self.queue.shards()?,
        };
        let stamp = uuid::Uuid::now_v7().to_string();
        // These jobs come after all logs of the namespace.
        let job = |shard| NewJob {
            kind,
            shard,
            log: String::new(),
            stamp: stamp.clone(),
            is_forced: false,
            position: i64::MAX,
        };
        Ok(self.queue.add(&shards.into_iter().map(job).collect::<Vec<_>>())?)
    }

    /// Sets the amount that all workers together may spend, in US dollars.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used.
    pub(crate) fn limit(&mut self, max_cost: f64) -> Result<(), ApiError> {
        Ok(self.queue.limit(max_cost)?)
    }

    /// Returns the state of the queue, with at most `faults` faults.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used.
    pub(crate) fn progress(&mut self, faults: i64) -> Result<QueueProgress, ApiError> {
        Ok(self.queue.progress(faults)?)
    }

    /// Returns jobs that failed, or that are waiting because of a fault, to the queue, and returns their number.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used.
    pub(crate) fn retry(&mut self) -> Result<u64, ApiError> {
        Ok(self.queue.retry()?)
    }

    /// Writes the database of each namespace to a folder, and returns the files.
    ///
    /// # Errors
    /// [`ApiError`] if a shard cannot be read, or the folder cannot be written.
    pub(crate) fn save_shards(&mut self, folder: &Path) -> Result<Vec<(String, PathBuf)>, ApiError> {
        let mut log = log_of_shards(&self.address)?;
        let cache = ShardCache::open(&folder.join(".shards"))?;
        let mut files = Vec::new();
        for shard in self.queue.shards()? {
            let out = cache.check_out(&mut log, &shard)?;
            // A namespace without a finished job has no file yet.
            if out.path.exists() {
                let path = folder.join(format!("{}.db", shard.replace('/', ".")));
                // Another program may have the file open.
                let moved = match path.try_exists() {
                    Ok(true) => Err(std::io::ErrorKind::AlreadyExists.into()),
                    Ok(false) => std::fs::rename(&out.path, &path),
                    Err(error) => Err(error),
                };
                moved.map_err(|source| ScaleError::File { path: path.clone(), source })?;
                files.push((shard, path));
            }
        }
        drop(cache);
        std::fs::remove_dir_all(folder.join(".shards")).ok();
        Ok(files)
    }
}

/// Copies of shards for readers, in a folder that only this process uses.
pub(crate) struct ShardFiles {
    address: String,
    cache: ShardCache,
    /// Connections that no reader uses at the moment.
    idle: Mutex<Vec<PostgresLog>>,
}

impl ShardFiles {
    /// Returns a folder without copies below `root`. The queue at `address` is not contacted yet.
    ///
    /// # Errors
    /// [`ApiError`] if the address contains a password, or the folder cannot be written.
    pub(crate) fn open(address: &str, root: &Path) -> Result<Self, ApiError> {
        let idle = Mutex::new(vec![log_of_shards(address)?]);
        let cache = ShardCache::open(root)?;
        cache.clear()?;
        Ok(Self { address: address.to_owned(), cache, idle })
    }

    /// Returns the end of the log of a namespace.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used, or has no memories of the namespace.
    pub(crate) fn head(&self, namespace: &Namespace) -> Result<Head, ApiError> {
        let shard = namespace.to_string();
        self.with(|log| Ok(log.head(&shard)?))?.ok_or_else(|| ScaleError::UnknownShard { shard }.into())
    }

    /// Updates the copy of a shard, which must be closed, and returns its path.
    ///
    /// # Errors
    /// [`ApiError`] if the log cannot be read, or the copy cannot be written.
    pub(crate) fn check_out(&self, namespace: &Namespace) -> Result<PathBuf, ApiError> {
        self.with(|log| self.cache.check_out_to_read(log, &namespace.to_string()))
    }

    /// Removes the copy of a shard.
    ///
    /// # Errors
    /// [`ApiError`] if the copy cannot be removed.
    pub(crate) fn forget(&self, namespace: &Namespace) -> Result<(), ApiError> {
        Ok(self.cache.forget(&namespace.to_string())?)
    }

    fn with<T>(&self, work: impl FnOnce(&mut PostgresLog) -> Result<T, ScaleError>) -> Result<T, ApiError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut log = idle.map_or_else(|| log_of_shards(&self.address), Ok)?;
        let done = work(&mut log);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(log);
        Ok(done?)
    }
}

fn log_of_shards(address: &str) -> Result<PostgresLog, ScaleError> {
    Ok(PostgresLog::new(address, LogPlace::Shards, Duration::ZERO)?)
}

/// A queue to which logs are being added.
struct Filling<'a> {
    queue: &'a mut Queue,
    work: QueuedWork,
    /// Jobs that have not been added yet.
    jobs: Vec<NewJob>,
    /// Why no more jobs can be added.
    fault: Option<ScaleError>,
}

impl Filling<'_> {
    fn add(&mut self, log: &AssignedLog, is_forced: bool) {
        self.work.logs += 1;
        self.jobs.extend(jobs_for(log, is_forced));
        if self.jobs.len() >= BATCH && self.fault.is_none() {
            match self.queue.add(&std::mem::take(&mut self.jobs)) {
                Ok(added) => self.work.jobs += added,
                Err(error) => self.fault = Some(error),
            }
        }
    }

    /// Adds the objects at an address in an object storage. Objects that are in the queue in the same state are not read.
    async fn add_objects(
        &mut self,
        address: &str,
        options: PlacementOptions<'_>,
        store: &Store,
        warn: &mut dyn FnMut(&str),
    ) -> Result<(), ApiError> {
        let PlacementOptions { sources, selection, forced, guard } = options;
        let storage = LogStorage::open(address)?;
        let objects = storage.list().await?;
        if objects.is_empty() {
            return Err(ScaleError::NoObjects { address: address.to_owned() }.into());
        }
        let temporary =
            tempfile::tempdir().map_err(|source| ScaleError::File { path: std::env::temp_dir(), source })?;
        let (folder, name) = (temporary.path().join("object"), forced.map(ToString::to_string));
        for objects in objects.chunks(LISTED) {
            let stamps: Vec<(&str, &str)> =
                objects.iter().map(|object| (object.address.as_str(), object.stamp.as_str())).collect();
            let known = self.queue.known(&stamps, name.as_deref())?;
            for object in objects.iter().filter(|object| !known.contains(&object.address)) {
                let path = PathBuf::from(&object.address);
                if selection.leaves_file(&path, object.changed_at).is_some() {
                    continue;
                }
                let (place, format) = (storage.at(object), sources.format.as_deref());
                match read_object(&place, &folder, object.is_named, format, guard).await {
                    Ok(conversations) => {
                        let namespaces = assign_conversations(options, conversations, store, warn)?;
                        let stamp = object.stamp.clone();
                        self.add(&AssignedLog { path, stamp, namespaces }, forced.is_some());
                    }
                    Err(why) => self.work.failed.push(format!("{}: {why}", object.address)),
                }
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<QueuedWork, ApiError> {
        if let Some(error) = self.fault {
            return Err(error.into());
        }
        self.work.jobs += self.queue.add(&self.jobs)?;
        Ok(self.work)
    }
}

/// Returns whether a log is an object in an object storage.
fn is_object(path: &Path) -> bool {
    path.to_str().is_some_and(is_objects)
}

/// Reads the conversations of an object, or returns why it cannot be read. The object is written into `folder` for as long
/// as it is read.
async fn read_object(
    object: &LogStorage,
    folder: &Path,
    named: bool,
    format: Option<&str>,
    guard: &Guard,
) -> Result<Vec<Transcript>, String> {
    // Files that a killed worker has left behind must not be read.
    std::fs::remove_dir_all(folder).ok();
    let path = object.download(folder).await.map_err(|error| error.to_string())?;
    let found = vec![Found { path, named }];
    let sources = Sources { found, format: format.map(str::to_owned), ..Sources::default() };
    let read = conversations(&sources, guard).await;
    std::fs::remove_dir_all(folder).ok();
    // The path of the file differs from worker to worker.
    let place = folder.to_string_lossy();
    let shown = |text: &str| text.replace(&*place, object.bucket());
    let mut read = read.map_err(|error| shown(&error.to_string()))?;
    if let Some((_, error)) = read.failed.first() {
        return Err(shown(&error.to_string()));
    }
    for transcript in &mut read.transcripts {
        transcript.origin = shown(&transcript.origin);
        transcript.project = transcript.project.as_deref().map(shown);
    }
    Ok(read.transcripts)
}

fn jobs_for(log: &AssignedLog, is_forced: bool) -> impl Iterator<Item = NewJob> {
    // A job stores its path as text, so no job is added for a path that is not UTF-8.
    let path = log.path.to_str().map(str::to_owned);
    log.namespaces.iter().filter_map(move |(namespace, begun)| {
        Some(NewJob {
            kind: JobKind::Extract,
            shard: namespace.to_string(),
            log: path.clone()?,
            stamp: log.stamp.clone(),
            is_forced,
            position: begun.map_or(0, Timestamp::as_millisecond),
        })
    })
}

/// The outcome of a job, for a report.
#[derive(Debug)]
pub(crate) struct JobOutcome<'a> {
    /// A description of the job.
    pub what: &'a str,
    /// The fault, if the job was not completed.
    pub fault: Option<&'a Fault>,
}

/// A worker that takes jobs from a queue.
pub(crate) struct QueueWorker<'a> {
    /// Address of the queue.
    pub address: &'a str,
    /// Folder with the files of the shards.
    pub cache: &'a Path,
    /// The settings.
    pub config: Config,
    /// Access to the model.
    pub options: ModelOptions,
    /// Time after which another worker continues the job of a worker that no longer responds.
    pub lease: Duration,
    /// Tokens that all workers together may send to a model in a minute.
    pub tokens_per_minute: Option<u64>,
    /// Whether the worker exits when no jobs are left.
    pub is_once: bool,
    /// Number of jobs after which the worker exits.
    pub limit: Option<u64>,
    /// A token that, when cancelled, stops the worker after the windows in flight.
    pub cancel: CancellationToken,
    /// A callback for the end of each job.
    pub report: &'a dyn Fn(JobOutcome<'_>),
    /// What the worker has done.
    pub metrics: Arc<WorkerStatistics>,
}

impl QueueWorker<'_> {
    /// Takes jobs until it is cancelled or no job is left. Returns the numbers of jobs that were and were not
    /// completed.
    ///
    /// # Errors
    /// [`ApiError`] if the server does not answer for some minutes, or a file of a shard cannot be used.
    pub(crate) fn work(&self, runtime: &Runtime) -> Result<(u64, u64), ApiError> {
        let name = uuid::Uuid::now_v7().to_string();
        let mut queue = Queue::new(self.address, &name, PATIENCE)?;
        let mut log = PostgresLog::new(self.address, LogPlace::Shards, PATIENCE).map_err(ScaleError::from)?;
        let metrics = Arc::clone(&self.metrics);
        let replies = Arc::new(QueueReplyStore::new(self.address, self.tokens_per_minute, PATIENCE, metrics)?);
        let cache = ShardCache::open(self.cache)?;
        let (mut done, mut left) = (0, 0);
        while !self.cancel.is_cancelled() && self.limit.is_none_or(|limit| done + left < limit) {
            let Some(job) = queue.claim(self.lease)? else {
                if self.is_once && !queue.is_open()? {
                    break;
                }
                std::thread::sleep(PAUSE);
                continue;
            };
            self.metrics.claimed();
            point("job.claimed");
            replies.begin(job.id);
            let outcome = self
                .during_lease(&job, &name, |cancel| self.perform(&job, &mut log, &cache, &replies, runtime, &cancel))?;
            let Some(outcome) = outcome? else {
                // Another worker has checked out the shard and repeats the job.
                self.metrics.ended(JobResult::Lost);
                continue;
            };
            let (end, result) = match &outcome {
                Ok(()) | Err(Fault::LeftOut(_)) => (JobEnd::Done, JobResult::Done),
                Err(Fault::Failed(why)) => (JobEnd::Failed(why.clone()), JobResult::Failed),
                Err(Fault::Later(at, why)) => (JobEnd::Later(*at, why.clone()), JobResult::Postponed),
            };
            queue.end(&job, &end)?;
            self.metrics.ended(result);
            point("job.ended");
            *if matches!(end, JobEnd::Done) { &mut done } else { &mut left } += 1;
            let what = match job.kind {
                JobKind::Extract => format!("{}: {}", job.shard, job.log),
                kind => format!("{}: {}", job.shard, kind.as_str()),
            };
            (self.report)(JobOutcome { what: &what, fault: outcome.as_ref().err() });
        }
        Ok((done, left))
    }

    /// Runs `work` while another thread renews the lease. The work is cancelled if the lease is lost.
    fn during_lease<T>(
        &self,
        job: &QueuedJob,
        name: &str,
        work: impl FnOnce(CancellationToken) -> T,
    ) -> Result<T, ApiError> {
        let mut queue = Queue::new(self.address, name, self.lease)?;
        let (cancel, (end, ended)) = (self.cancel.child_token(), channel::<()>());
        let (lost, lease, metrics) = (cancel.clone(), self.lease, &self.metrics);
        Ok(std::thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(lease / 4) == Err(RecvTimeoutError::Timeout) {
                    match queue.renew(&job.shard, lease) {
                        Ok(true) => metrics.renewed(),
                        Ok(false) => return lost.cancel(),
                        Err(error) => tracing::warn!("cannot renew the lease on {}: {error}", job.shard),
                    }
                }
            });
            let done = work(cancel);
            drop(end);
            done
        }))
    }

    /// Performs a job on its shard, and appends the changes to the log. Returns `None` if another worker has checked
    /// out the shard.
    fn perform(
        &self,
        job: &QueuedJob,
        log: &mut PostgresLog,
        cache: &ShardCache,
        replies: &Arc<QueueReplyStore>,
        runtime: &Runtime,
        cancel: &CancellationToken,
    ) -> Result<Option<Result<(), Fault>>, ApiError> {
        // Without a server, no worker can continue; any other fault affects only this shard.
        let out = match cache.check_out(log, &job.shard) {
            Ok(out) => out,
            Err(error @ ScaleError::Server(_)) => return Err(error.into()),
            Err(error) => return Ok(Some(Err(Fault::Failed(error.to_string())))),
        };
        point("shard.ready");
        let path = out.path.clone();
        let outcome = runtime.block_on(self.change(job, &path, replies, cancel.clone()));
        // A fault in the log or the model is an outcome of the job; finished windows are kept regardless.
        let outcome = outcome.unwrap_or_else(|error| Err(Fault::Failed(error.to_string())));
        point("shard.worked");
        if cancel.is_cancelled() && !self.cancel.is_cancelled() {
            return Ok(None);
        }
        // Purged text must leave the log, too.
        let extent = if job.kind == JobKind::Maintain { Extent::Whole } else { Extent::Changes };
        match cache.commit(log, &out, extent) {
            Ok(CommitOutcome::Done) => {}
            Ok(CommitOutcome::Moved) => return Ok(None),
            Err(error @ ScaleError::Server(_)) => return Err(error.into()),
            Err(error) => return Ok(Some(Err(Fault::Failed(error.to_string())))),
        }
        point("shard.appended");
        Ok(Some(outcome))
    }

    async fn change(
        &self,
        job: &QueuedJob,
        path: &Path,
        replies: &Arc<QueueReplyStore>,
        cancel: CancellationToken,
    ) -> Result<Result<(), Fault>, ApiError> {
        let mut config = self.config.clone();
        path.clone_into(&mut config.db.value);
        config.namespace.value = job.is_forced.then(|| job.shard.clone());
        let model = Model::choose(&config, &self.options).await?.shared(Arc::clone(replies) as Arc<_>, &config)?;
        let memories = Memories::builder().config(config).writable().open()?;
        let outcome = match job.kind {
            JobKind::Extract => self.extract(job, path, &memories, &model, cancel.clone()).await?,
            JobKind::Consolidate => {
                let options = ConsolidationOptions { cancel: cancel.clone(), ..ConsolidationOptions::default() };
                let summary = memories.consolidate_with(&model, options, &mut |_| {}).await?;
                match (summary.interrupted, summary.halted, summary.total.failed_calls) {
                    (true, ..) => Err(Fault::Later(Timestamp::now(), "it was interrupted".to_owned())),
                    (_, Some(why), _) => Err(limited_or_failed(why)),
                    (.., 0) => Ok(()),
                    (.., calls) => Err(Fault::Failed(format!("{calls} calls failed"))),
                }
            }
            JobKind::Maintain => {
                memories.maintain(Maintenance::Full, None)?;
                memories.compact()?;
                Ok(())
            }
        };
        Ok(outcome)
    }

    async fn extract(
        &self,
        job: &QueuedJob,
        shard: &Path,
        memories: &Memories,
        model: &Model,
        cancel: CancellationToken,
    ) -> Result<Result<(), Fault>, ApiError> {
        let log = Path::new(&job.log);
        // A log may contain conversations of several projects, each of which has its own job.
        let projects = if job.is_forced { Vec::new() } else { vec![job.shard.clone()] };
        let (deny, zone) = (denied_paths(&memories.config)?, Some(Zoned::now().time_zone().clone()));
        let selection = Selection { zone, projects, deny, ..Selection::default() };
        let sources = if is_object(log) {
            if selection.leaves_file(log, None).is_some() {
                return Ok(Ok(()));
            }
            let (object, folder) = (LogStorage::open(&job.log)?, shard.with_file_name("object"));
            match read_object(&object, &folder, false, None, &Guard::from(&memories.config.guard)).await {
                Ok(transcripts) => Sources { transcripts, ..Sources::default() },
                Err(why) => return Ok(Err(Fault::Failed(why))),
            }
        } else {
            Sources { found: vec![Found { path: log.to_owned(), named: false }], ..Sources::default() }
        };
        let request = RunRequest {
            sources,
            selection,
            reread: RereadPolicy::Nothing,
            arguments: json!({"paths": [job.log], "by": "queue"}),
        };
        let summary = memories.extract_logs(model, request, None, cancel.clone(), &mut |_| {}).await?;
        if let Err(error) = memories.embed_waiting(EMBEDDED_ASIDE, cancel).await {
            tracing::warn!("no vectors were computed: {error}");
        }
        if !is_object(log) && !log.exists() {
            return Ok(Err(Fault::Failed(
                "the log does not exist on this machine; workers need the same folders".to_owned(),
            )));
        }
        if let Some(why) = summary.halted.clone() {
            return Ok(Err(limited_or_failed(why)));
        }
        let is_elsewhere = summary.filtered.conversations_of_other_projects > 0 && summary.transcripts == 0;
        if is_elsewhere && summary.files.unchanged == 0 {
            return Ok(Err(Fault::Failed(
                "on this machine, its conversations belong to another project; give the workers the same folders, or \
                 queue the logs with --namespace"
                    .to_owned(),
            )));
        }
        Ok(judge(&job.log, true, &summary, true))
    }
}

fn limited_or_failed(why: String) -> Fault {
    if why.contains("the limit of") { Fault::Later(Timestamp::now() + LIMITED, why) } else { Fault::Failed(why) }
}
