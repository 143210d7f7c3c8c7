//! The tools: one file each.

mod brief;
mod forget;
mod history;
mod list;
mod query;
mod recall;
mod relate;
mod store;
mod update;
mod upsert;

use jiff::{SignedDuration, Timestamp};

use super::Profile;
use super::tool::{MemoryTool, ToolRow};
use crate::memory::MemoryType;

/// Where memories come from that a client stores without saying.
const SOURCE: &str = "mcp";

/// Every tool, in the order in which clients see them. A name comes once in each profile.
pub const TOOLS: &[ToolRow] = &[
    ToolRow::of::<store::Store>(),
    ToolRow::of::<recall::Recall>(),
    ToolRow::of::<update::Update>(),
    ToolRow::of::<forget::ForgetOne>(),
    ToolRow::of::<forget::Forget>(),
    ToolRow::of::<list::List>(),
    ToolRow::of::<upsert::Upsert>(),
    ToolRow::of::<query::Query>(),
    ToolRow::of::<brief::Brief>(),
    ToolRow::of::<history::History>(),
    ToolRow::of::<relate::Relate>(),
];

/// Returns the kind of remembering that a category speaks of, where the client does not say.
fn type_of(category: &str) -> MemoryType {
    match category {
        "convention" | "workflow" => MemoryType::Procedural,
        "solution" | "mistake" | "pattern" => MemoryType::Episodic,
        _ => MemoryType::Semantic,
    }
}

/// Returns the moment that lies so many days ahead; one that is over or unthinkably far is now or never.
fn in_days(days: Option<f64>) -> Option<Timestamp> {
    let seconds = days.filter(|days| days.is_finite())? * 86_400.0;
    Timestamp::now().checked_add(SignedDuration::try_from_secs_f64(seconds.max(0.0)).ok()?).ok()
}
