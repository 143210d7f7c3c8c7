//! `memory_list`: browsing.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MemoryTool, Profile};
use crate::api::{ApiError, Memories};
use crate::serve::mcp::Effect;
use crate::serve::mcp::view::Page;
use crate::store::{Filter, Order};

/// Most memories of one page.
const MOST: usize = 100;

pub(super) struct List;

/// Which page of which memories.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// At most so many, up to 100; 20 by default
    limit: Option<usize>,
    /// Only memories of this category
    category: Option<String>,
    /// After the first so many
    offset: Option<usize>,
    /// In which order; recency by default
    sort: Option<Sort>,
}

/// An order.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Sort {
    /// Last changed first
    Recency,
    /// Surest first
    Confidence,
    /// Most used first
    Access,
    /// Most important first
    Importance,
}

impl MemoryTool for List {
    type Arguments = Arguments;
    type Answer = Page;
    const NAME: &'static str = "memory_list";
    const TITLE: &'static str = "Browse memories";
    const DESCRIPTION: &'static str = "Browse what is remembered, a page at a time, to review or tidy it. To answer a \
        question, use memory_recall: browsing is not counted as a use.";
    const EFFECT: Effect = Effect::Reads;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Basecoat, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("category");

    fn call(memories: &Memories, arguments: Arguments) -> Result<Page, ApiError> {
        let order = match arguments.sort.unwrap_or(Sort::Recency) {
            Sort::Recency => Order::Updated,
            Sort::Confidence => Order::Confidence,
            Sort::Access => Order::Used,
            Sort::Importance => Order::Importance,
        };
        let filter = Filter {
            categories: arguments.category.into_iter().collect(),
            unexpired_at: Some(jiff::Timestamp::now()),
            ..Filter::default()
        };
        let total = memories.count_memories(filter.clone())?;
        let limit = arguments.limit.unwrap_or(20).min(MOST);
        let page = memories.list_memories(filter, order, limit, arguments.offset.unwrap_or(0))?;
        Ok(Page::out_of(&page, total))
    }
}
