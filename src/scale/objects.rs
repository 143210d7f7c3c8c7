//! Logs in an object storage: S3 and what is compatible with it, Google Cloud Storage and Azure.
//!
//! Credentials come from the environment, as for other programs that use the storage, and are never stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::path::Path as Key;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt as _};
use tokio::io::AsyncWriteExt as _;

use super::ScaleError;
use crate::private;
use crate::sync::{reason, storage_at};

/// An object that may be a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLog {
    /// Its address, such as `s3://bucket/prefix/log.jsonl`.
    pub address: String,
    /// Its entity tag and size; at least one of them changes when its content changes.
    pub stamp: String,
    pub changed_at: Option<Timestamp>,
    /// Whether the user specified the object itself rather than a prefix.
    pub is_named: bool,
    key: Key,
}

/// A place in an object storage: an object, or a prefix.
pub(crate) struct LogStorage {
    address: String,
    store: Arc<dyn ObjectStore>,
    key: Key,
}

impl LogStorage {
    /// Returns the place at an address such as `s3://bucket/prefix`, which is not contacted yet.
    pub(crate) fn open(address: &str) -> Result<Self, ScaleError> {
        let (store, key) = storage_at(address).map_err(|error| fault(address, &error))?;
        Ok(Self { address: address.to_owned(), store, key })
    }

    /// Returns the place of an object in the same bucket.
    pub(crate) fn at(&self, object: &StoredLog) -> Self {
        Self { address: object.address.clone(), store: Arc::clone(&self.store), key: object.key.clone() }
    }

    /// Returns the bucket, such as `s3://bucket`.
    pub(crate) fn bucket(&self) -> &str {
        let end = self.address.match_indices('/').nth(2).map_or(self.address.len(), |(at, _)| at);
        &self.address[..end]
    }

    /// Returns the object at the address, or all objects below it, sorted by address. Empty objects are left out.
    pub(crate) async fn list(&self) -> Result<Vec<StoredLog>, ScaleError> {
        let named = if self.key.as_ref().is_empty() { None } else { self.store.head(&self.key).await.ok() };
        let is_named = named.is_some();
        let found: Vec<ObjectMeta> = if let Some(object) = named {
            vec![object]
        } else {
            let listed = self.store.list(Some(&self.key)).try_collect().await;
            listed.map_err(|error| fault(&self.address, &error))?
        };
        let object = |object: ObjectMeta| StoredLog {
            address: format!("{}/{}", self.bucket(), object.location),
            stamp: format!("{} {}", object.e_tag.unwrap_or_else(|| object.last_modified.to_rfc3339()), object.size),
            changed_at: Timestamp::from_millisecond(object.last_modified.timestamp_millis()).ok(),
            is_named,
            key: object.location,
        };
        let mut objects: Vec<StoredLog> = found.into_iter().filter(|one| one.size > 0).map(object).collect();
        objects.sort_by(|one, other| one.address.cmp(&other.address));
        Ok(objects)
    }

    /// Writes the object at the address into a folder, below which its path is that in the bucket, because some formats
    /// are recognised by the names of their files and folders. Returns the file.
    pub(crate) async fn download(&self, folder: &Path) -> Result<PathBuf, ScaleError> {
        let path = self.key.parts().fold(folder.to_owned(), |path, part| path.join(part.as_ref()));
        let at = |source| ScaleError::File { path: path.clone(), source };
        let failed = |error| fault(&self.address, &error);
        private::create_folder(path.parent().unwrap_or(folder)).map_err(at)?;
        let mut content = self.store.get(&self.key).await.map_err(failed)?.into_stream();
        let file = private::options().write(true).create(true).truncate(true).open(&path).map_err(at)?;
        let mut file = tokio::fs::File::from_std(file);
        while let Some(bytes) = content.try_next().await.map_err(failed)? {
            file.write_all(&bytes).await.map_err(at)?;
        }
        file.flush().await.map_err(at)?;
        Ok(path)
    }
}

fn fault(address: &str, error: &Error) -> ScaleError {
    ScaleError::Objects { address: address.to_owned(), what: reason(error) }
}
