//! The table of operations, from which both the routes and their description are made.

use axum::http::Method;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{answers, operations};
use crate::memory::string_enum;
use crate::serve::mcp::tool::{Effect, MemoryTool, ToolRow, input_schema};
use crate::serve::mcp::{read_tools, work_tools, write_tools};

string_enum!(
    /// What a request does with a resource.
    Action, "a method", {
    Get = "GET",
    Post = "POST",
    Put = "PUT",
    Patch = "PATCH",
    Delete = "DELETE",
});

impl Action {
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
    /// With one document per line, for any number of memories.
    Export,
}

/// One operation.
pub(super) struct Endpoint {
    pub verb: Action,
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

impl Endpoint {
    const fn of<T: MemoryTool, A: JsonSchema>(verb: Action, path: &'static str, id: &'static str) -> Self {
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

    /// Whether the request may specify which version of a memory it changes.
    pub(super) fn takes_version(&self) -> bool {
        self.path == "/memories/{id}" && self.effect == Effect::Changes
    }
}

fn schema_of<A: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<A>()
}

/// Every operation, in the order in which the description lists them.
pub(super) const ROUTES: &[Endpoint] = &[
    Endpoint::of::<operations::Search, answers::FoundPage>(Action::Get, "/search", "search"),
    Endpoint::of::<operations::List, answers::MemoryPage>(Action::Get, "/memories", "list_memories"),
    Endpoint::of::<operations::Remember, answers::Stored>(Action::Post, "/memories", "remember"),
    Endpoint::of::<operations::Get, answers::OneMemory>(Action::Get, "/memories/{id}", "get_memory"),
    Endpoint::of::<write_tools::Update, answers::ChangeOutcome>(Action::Patch, "/memories/{id}", "update_memory"),
    Endpoint::of::<write_tools::ForgetOne, answers::ChangeList>(Action::Delete, "/memories/{id}", "forget_memory"),
    Endpoint::of::<operations::Restore, answers::ChangeOutcome>(
        Action::Post,
        "/memories/{id}/restore",
        "restore_memory",
    ),
    Endpoint::of::<operations::History, answers::Changes>(Action::Get, "/memories/{id}/history", "memory_history"),
    Endpoint::of::<operations::Evidence, answers::Quotes>(Action::Get, "/memories/{id}/evidence", "memory_evidence"),
    Endpoint::of::<operations::Relations, answers::RelationList>(
        Action::Get,
        "/memories/{id}/relations",
        "memory_relations",
    ),
    Endpoint {
        input: operations::forget_input,
        ..Endpoint::of::<write_tools::Forget, answers::ChangeList>(Action::Post, "/forget", "forget_memories")
    },
    Endpoint::of::<write_tools::Relate, answers::RelationOutcome>(Action::Post, "/relations", "relate_memories"),
    Endpoint::of::<operations::GetKey, answers::OneMemory>(Action::Get, "/keys/{key}", "get_key"),
    Endpoint::of::<operations::PutKey, answers::OneMemory>(Action::Put, "/keys/{key}", "put_key"),
    Endpoint::of::<operations::DeleteKey, answers::ChangeList>(Action::Delete, "/keys/{key}", "delete_key"),
    Endpoint::of::<read_tools::Brief, answers::BriefText>(Action::Get, "/brief", "brief"),
    Endpoint::of::<work_tools::Blame, answers::Results>(Action::Get, "/blame", "blame"),
    Endpoint::of::<work_tools::Fix, answers::RemedyList>(Action::Get, "/fix", "fix"),
    Endpoint::of::<work_tools::How, answers::Results>(Action::Get, "/how", "how"),
    Endpoint::of::<operations::Projects, answers::Projects>(Action::Get, "/projects", "list_projects"),
    Endpoint::of::<operations::ShowStatus, answers::Status>(Action::Get, "/status", "status"),
    Endpoint {
        verb: Action::Get,
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
    Endpoint::of::<operations::Extract, answers::ExtractionOutcome>(
        Action::Post,
        "/conversations",
        "extract_conversation",
    )
    .for_owner(),
    Endpoint::of::<operations::Inbox, answers::InboxPage>(Action::Get, "/inbox", "list_inbox").for_owner(),
    Endpoint::of::<operations::Accept, answers::VerdictOutcome>(Action::Post, "/inbox/{id}/accept", "accept_memory")
        .for_owner(),
    Endpoint::of::<operations::Reject, answers::VerdictOutcome>(Action::Post, "/inbox/{id}/reject", "reject_memory")
        .for_owner(),
    Endpoint::of::<operations::Runs, answers::RunPage>(Action::Get, "/runs", "list_runs").for_owner(),
    Endpoint::of::<operations::ShowRun, answers::OneRun>(Action::Get, "/runs/{id}", "get_run").for_owner(),
    Endpoint::of::<operations::Undo, answers::UndoOutcome>(Action::Post, "/runs/{id}/undo", "undo_run").for_owner(),
];
