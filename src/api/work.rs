//! Queries of the work ledger: the tasks that touched a file, the remedies for an error, and the commands that work.

use jiff::Timestamp;

use super::{ApiError, Memories};
#[cfg(any(feature = "cli", feature = "serve"))]
use crate::memory::Task;
use crate::search::{FoundTask, search_tasks};
use crate::store::{Filter, NamespaceSubtree};
use crate::work::{self, FileUsage, KnownError, Usage};

impl Memories {
    /// Returns the tasks that are relevant to a text, best first. The result is empty if the filter has conditions
    /// other than projects and times.
    ///
    /// # Errors
    /// [`ApiError`] if the tasks cannot be read, or none of the requested namespaces can be accessed.
    pub fn search_tasks(&self, text: &str, filter: &Filter, limit: usize) -> Result<Vec<FoundTask>, ApiError> {
        let filter = self.confined(filter.clone())?;
        Ok(search_tasks(self.ledger("search tasks")?, text, &filter, limit)?)
    }

    /// Returns the task with this id.
    ///
    /// # Errors
    /// [`ApiError`] if the tasks cannot be read.
    #[cfg(feature = "cli")]
    pub(crate) fn task(&self, id: &str) -> Result<Option<Task>, ApiError> {
        let found = self.ledger("show a task")?.tasks_of(&[id.trim().to_owned()])?;
        Ok(found.into_iter().find(|task| self.reaches(&task.namespace)))
    }

    /// Returns the tasks that touched a file; tasks that changed the file come first. `commit` is the commit that last
    /// changed one line of the file.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    pub fn blame(&self, path: &str, commit: Option<&str>, filter: &Filter) -> Result<Vec<FileUsage>, ApiError> {
        Ok(work::blame(self.ledger("look up a file")?, path, commit, &self.projects_of(filter)?)?)
    }

    /// Returns the remedies that resolved an error before, in the logs of agents and as hooks recorded them; if the failed
    /// command is given, only remedies that fit the command.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    pub fn fix(&self, printed: &str, command: Option<&str>, filter: &Filter) -> Result<KnownError, ApiError> {
        let within = self.projects_of(filter)?;
        Ok(work::fix_typed(self.ledger("look up an error")?, printed, command, &within, Timestamp::now())?)
    }

    /// Returns the calls of a command, or of the commands that a topic names, successful ones first.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    pub fn how(&self, asked: &str, filter: &Filter) -> Result<Vec<Usage>, ApiError> {
        Ok(work::how(self.ledger("look up a command")?, asked, &self.projects_of(filter)?)?)
    }

    /// Returns the tasks of the projects in a filter, by log and position.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    #[cfg(feature = "serve")]
    pub(crate) fn tasks(&self, filter: &Filter) -> Result<Vec<Task>, ApiError> {
        Ok(self.ledger("list tasks")?.tasks(&self.projects_of(filter)?)?)
    }

    fn projects_of(&self, filter: &Filter) -> Result<Vec<NamespaceSubtree>, ApiError> {
        Ok(self.confined(filter.clone())?.namespaces)
    }
}
