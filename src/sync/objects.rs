//! Files in object storage: S3 and compatible services, Google Cloud Storage and Azure.
//!
//! An item is an object whose name contains its hash. It is part of the log once there is a second object whose name is
//! only the number of the item, and which contains the name of the first. The second object is written only if it does
//! not exist yet. If two machines use the same name, one of them therefore finds that the number is taken, and neither
//! overwrites anything.
//!
//! Credentials come from the environment, as for other programs that use the storage, and are never stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use super::files::{Files, LOGS, MAX_FILE, PutOutcome};
use super::log::LogError;

/// Number of objects that are read at the same time.
const PARALLEL: usize = 16;
/// Maximum number of retries of a request, and the time after which it is no longer retried.
const RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of digits in the name of an object that assigns a number to an item.
const DIGITS: usize = 8;

/// A prefix in a bucket, with logs.
#[derive(Debug)]
pub(crate) struct Objects {
    address: String,
    root: Path,
    store: Arc<dyn ObjectStore>,
    runtime: Runtime,
    /// The names of all objects of each log, as last listed.
    listed: Option<BTreeMap<String, BTreeSet<String>>>,
}

impl Objects {
    /// Returns the logs at an address such as `s3://bucket/prefix`. Nothing is touched yet.
    pub(crate) fn open(address: &str) -> Result<Self, LogError> {
        let fault = |error: Error| LogError::Objects { address: address.to_owned(), what: reason(&error) };
        let (store, prefix) = storage_at(address).map_err(fault)?;
        Self::new(address, &prefix, store)
    }

    /// Returns the logs below `prefix` in a storage.
    pub(crate) fn new(address: &str, prefix: &Path, store: Arc<dyn ObjectStore>) -> Result<Self, LogError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| LogError::Objects { address: address.to_owned(), what: error.to_string() })?;
        Ok(Self { address: address.to_owned(), root: prefix.clone().join(LOGS), store, runtime, listed: None })
    }

    fn path(&self, log: &str, name: &str) -> Path {
        self.root.clone().join(log).join(name)
    }

    fn fault(&self, error: &Error) -> LogError {
        LogError::Objects { address: self.address.clone(), what: reason(error) }
    }

    /// Lists the objects of all logs.
    fn list(&mut self) -> Result<&BTreeMap<String, BTreeSet<String>>, LogError> {
        let all: Result<Vec<_>, Error> = self.runtime.block_on(self.store.list(Some(&self.root)).try_collect());
        let mut logs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for object in all.map_err(|error| self.fault(&error))? {
            let parts = object.location.prefix_match(&self.root).into_iter().flatten();
            let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
            if let [log, name] = parts.as_slice() {
                logs.entry(log.clone()).or_default().insert(name.clone());
            }
        }
        Ok(self.listed.insert(logs))
    }

    fn objects(&mut self, log: &str) -> Result<BTreeSet<String>, LogError> {
        if self.listed.is_none() {
            self.list()?;
        }
        Ok(self.listed.as_ref().and_then(|logs| logs.get(log)).cloned().unwrap_or_default())
    }

    fn get(&self, log: &str, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, LogError> {
        let objects = futures::stream::iter(names).map(|name| {
            let path = self.path(log, name);
            async move {
                match self.store.get(&path).await {
                    Ok(found) if found.meta.size > MAX_FILE => {
                        let source = format!("{path} is too large for a log").into();
                        Err(Error::Generic { store: "log", source })
                    }
                    Ok(found) => Ok(Some(found.bytes().await?.to_vec())),
                    Err(Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        });
        self.runtime.block_on(objects.buffered(PARALLEL).try_collect()).map_err(|error| self.fault(&error))
    }

    /// Returns whether the number `number` belongs to the object `name`.
    fn is_of(&self, log: &str, number: &str, name: &str) -> Result<bool, LogError> {
        let found = self.get(log, &[number.to_owned()])?;
        Ok(found.iter().flatten().any(|found| found == name.as_bytes()))
    }

    /// Assigns the number `seq` to the object `name`; returns whether no other object has it.
    fn claim(&self, log: &str, seq: u64, name: &str) -> Result<bool, LogError> {
        let claim = numbered(seq);
        let path = self.path(log, &claim);
        let put = self.store.put_opts(&path, name.to_owned().into(), PutMode::Create.into());
        match self.runtime.block_on(put) {
            Ok(_) => Ok(true),
            // A retried request finds the object that the first attempt wrote.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => self.is_of(log, &claim, name),
            Err(error) => Err(self.fault(&error)),
        }
    }

    fn delete(&self, log: &str, names: &[String]) -> Result<(), LogError> {
        for name in names {
            match self.runtime.block_on(self.store.delete(&self.path(log, name))) {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(self.fault(&error)),
            }
        }
        Ok(())
    }
}

impl Files for Objects {
    fn logs(&mut self) -> Result<Vec<String>, LogError> {
        Ok(self.list()?.keys().cloned().collect())
    }

    fn names(&mut self, log: &str) -> Result<Vec<String>, LogError> {
        let objects = self.objects(log)?;
        let mut names = Vec::new();
        for name in objects.iter().filter(|name| !is_number(name)) {
            let Some(number) = name.get(..DIGITS).filter(|number| is_number(number)) else {
                // It does not belong to a log, so a message mentions it.
                names.push(name.clone());
                continue;
            };
            let rivals = objects.iter().filter(|other| other.starts_with(number) && !is_number(other)).count();
            let counts = objects.contains(number) && (rivals == 1 || self.is_of(log, number, name)?);
            names.extend(counts.then(|| name.clone()));
        }
        Ok(names)
    }

    fn read(&mut self, log: &str, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, LogError> {
        self.get(log, names)
    }

    fn put(&mut self, log: &str, new: &[(String, &[u8])], old: &[String]) -> Result<PutOutcome, LogError> {
        let mut objects = self.objects(log)?;
        // The next use lists the objects again.
        self.listed = None;
        let mut next =
            objects.iter().filter(|name| is_number(name)).filter_map(|name| number_of(name)).max().unwrap_or(0) + 1;
        for (name, bytes) in new {
            let path = self.path(log, name);
            let put = self.store.put(&path, bytes.to_vec().into());
            self.runtime.block_on(put).map_err(|error| self.fault(&error))?;
        }
        for (at, (name, _)) in new.iter().enumerate() {
            let seq = number_of(name).unwrap_or(0);
            let mut is_taken = seq < next;
            // A snapshot may skip numbers, which no other writer may use.
            while next <= seq && !is_taken {
                is_taken = !self.claim(log, next, name)?;
                objects.insert(numbered(next));
                next += 1;
            }
            if is_taken {
                let unused: Vec<String> = new[at..].iter().map(|(name, _)| name.clone()).collect();
                self.delete(log, &unused)?;
                return Ok(PutOutcome::Raced);
            }
        }
        if old.is_empty() {
            return Ok(PutOutcome::Done);
        }
        // Only a snapshot replaces items. Objects that were written before it and never got a number are deleted, too.
        let first = new.iter().filter_map(|(name, _)| number_of(name)).min().unwrap_or(0);
        objects.retain(|name| number_of(name).is_some_and(|number| number < first));
        self.delete(log, &objects.into_iter().collect::<Vec<_>>())?;
        Ok(PutOutcome::Done)
    }

    fn shown(&self, log: &str, name: &str) -> String {
        format!("{}/{LOGS}/{log}/{name}", self.address.trim_end_matches('/'))
    }
}

/// Returns the storage and the path in it at an address such as `s3://bucket/prefix`. Nothing is touched yet.
pub(crate) fn storage_at(address: &str) -> Result<(Arc<dyn ObjectStore>, Path), Error> {
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    let path = Path::parse(rest.split_once('/').map_or("", |(_, path)| path).trim_end_matches('/'))?;
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
    crate::llm::use_ring();
    let store: Arc<dyn ObjectStore> = match scheme {
        "gs" => Arc::new(GoogleCloudStorageBuilder::from_env().with_url(address).with_retry(retry).build()?),
        "az" => Arc::new(MicrosoftAzureBuilder::from_env().with_url(address).with_retry(retry).build()?),
        _ => Arc::new(AmazonS3Builder::from_env().with_url(address).with_retry(retry).build()?),
    };
    Ok((store, path))
}

fn numbered(seq: u64) -> String {
    format!("{seq:0DIGITS$}")
}

fn number_of(name: &str) -> Option<u64> {
    name.get(..DIGITS)?.parse().ok()
}

/// Returns whether this is the name of an object that assigns a number to an item.
fn is_number(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the innermost cause of an error, which is the most informative part.
pub(crate) fn reason(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let line = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(300).collect()
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
