//! The table of operations, from which both the routes and their description are made.

use axum::http::Method;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{answers, operations};
use crate::serve::mcp::tool::{Effect, MemoryTool, ToolRow, input_schema};
use crate::serve::mcp::{read_tools, work_tools, write_tools};

/// What a request does with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether the arguments are in the body rather than in the query.
    pub(super) const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }

    pub(super) fn is(self, method: &Method) -> bool {
        method.as_str() == self.as_str() || (self == Self::Get && *method == Method::HEAD)
    }
}

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Everyone who has the token.
    Client,
    /// Only clients of a server that was started for the owner of the memories.
    Owner,
}

/// How an operation answers.
pub(super) enum Run {
    /// With one document.
    Answer(ToolRow),
    /// With one document a line, for any number of memories.
    Export,
}

/// One operation.
pub(super) struct Route {
    pub verb: Verb,
    /// The path below `/api/v1`.
    pub path: &'static str,
    /// The name of the operation in clients.
    pub id: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub effect: Effect,
    pub input: fn() -> JsonObject,
    pub answer: fn(&mut SchemaGenerator) -> Schema,
    pub access: Access,
    pub run: Run,
}

impl Route {
    const fn of<T: MemoryTool, A: JsonSchema>(verb: Verb, path: &'static str, id: &'static str) -> Self {
        let tool = ToolRow::of::<T>();
        Self {
            verb,
            path,
            id,
            title: tool.title,
            description: tool.description,
            effect: tool.effect,
            input: tool.input,
            answer: schema_of::<A>,
            access: Access::Client,
            run: Run::Answer(tool),
        }
    }

    const fn for_owner(self) -> Self {
        Self { access: Access::Owner, ..self }
    }

    /// Returns the names of the parameters in the path.
    pub(super) fn in_path(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Whether the request may say which version of a memory it changes.
    pub(super) fn takes_version(&self) -> bool {
        self.path == "/memories/{id}" && self.effect == Effect::Changes
    }
}

fn schema_of<A: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<A>()
}

/// Every operation, in the order in which the description lists them.
pub(super) const ROUTES: &[Route] = &[
    Route::of::<operations::Search, answers::FoundPage>(Verb::Get, "/search", "search"),
    Route::of::<operations::List, answers::MemoryPage>(Verb::Get, "/memories", "list_memories"),
    Route::of::<operations::Remember, answers::Stored>(Verb::Post, "/memories", "remember"),
    Route::of::<operations::Get, answers::OneMemory>(Verb::Get, "/memories/{id}", "get_memory"),
    Route::of::<write_tools::Update, answers::Changed>(Verb::Patch, "/memories/{id}", "update_memory"),
    Route::of::<write_tools::ForgetOne, answers::ChangedAll>(Verb::Delete, "/memories/{id}", "forget_memory"),
    Route::of::<operations::Restore, answers::Changed>(Verb::Post, "/memories/{id}/restore", "restore_memory"),
    Route::of::<operations::History, answers::Changes>(Verb::Get, "/memories/{id}/history", "memory_history"),
    Route::of::<operations::Evidence, answers::Quotes>(Verb::Get, "/memories/{id}/evidence", "memory_evidence"),
    Route::of::<operations::Relations, answers::Links>(Verb::Get, "/memories/{id}/relations", "memory_relations"),
    Route::of::<write_tools::Forget, answers::ChangedAll>(Verb::Post, "/forget", "forget_memories"),
    Route::of::<write_tools::Relate, answers::Linked>(Verb::Post, "/relations", "relate_memories"),
    Route::of::<operations::GetKey, answers::OneMemory>(Verb::Get, "/keys/{key}", "get_key"),
    Route::of::<operations::PutKey, answers::OneMemory>(Verb::Put, "/keys/{key}", "put_key"),
    Route::of::<operations::DeleteKey, answers::ChangedAll>(Verb::Delete, "/keys/{key}", "delete_key"),
    Route::of::<read_tools::Brief, answers::BriefText>(Verb::Get, "/brief", "brief"),
    Route::of::<work_tools::Blame, answers::Results>(Verb::Get, "/blame", "blame"),
    Route::of::<work_tools::Fix, answers::Remedies>(Verb::Get, "/fix", "fix"),
    Route::of::<work_tools::How, answers::Results>(Verb::Get, "/how", "how"),
    Route::of::<operations::Projects, answers::Projects>(Verb::Get, "/projects", "list_projects"),
    Route::of::<operations::ShowStatus, answers::Status>(Verb::Get, "/status", "status"),
    Route {
        verb: Verb::Get,
        path: "/export",
        id: "export_memories",
        title: "Export memories",
        description: "Returns every memory with its sources, links and evidence, one JSON document a line, as \
                      `afterthought export` writes them.",
        effect: Effect::Reads,
        input: input_schema::<operations::ExportArguments>,
        answer: schema_of::<answers::ExportedMemory>,
        access: Access::Client,
        run: Run::Export,
    },
    Route::of::<operations::Extract, answers::Learnt>(Verb::Post, "/conversations", "extract_conversation").for_owner(),
    Route::of::<operations::Inbox, answers::InboxPage>(Verb::Get, "/inbox", "list_inbox").for_owner(),
    Route::of::<operations::Accept, answers::Judged>(Verb::Post, "/inbox/{id}/accept", "accept_memory").for_owner(),
    Route::of::<operations::Reject, answers::Judged>(Verb::Post, "/inbox/{id}/reject", "reject_memory").for_owner(),
    Route::of::<operations::Runs, answers::RunPage>(Verb::Get, "/runs", "list_runs").for_owner(),
    Route::of::<operations::ShowRun, answers::OneRun>(Verb::Get, "/runs/{id}", "get_run").for_owner(),
    Route::of::<operations::Undo, answers::Undone>(Verb::Post, "/runs/{id}/undo", "undo_run").for_owner(),
];
