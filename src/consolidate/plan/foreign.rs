//! Memories in another language than a candidate's: hardly a word brings them together, so in a small namespace they
//! all come into question.

use std::collections::HashMap;

use crate::consolidate::Incoming;
use crate::memory::{Memory, Namespace};
use crate::store::{Database, Filter, Order, StoreError};
use crate::text::language::{COMPARED, detect};

/// Active memories of a namespace up to which it is small.
pub(in crate::consolidate) const SMALL: usize = 30;

/// The namespaces that were looked at, and what the small ones hold.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    small: HashMap<Namespace, Vec<Memory>>,
}

impl Foreign {
    /// Returns what stands in another language in the namespace of `incoming`, if that is small.
    pub(super) fn to(&mut self, db: &Database, incoming: &Incoming) -> Result<Vec<Memory>, StoreError> {
        let Some(own) = detect(&incoming.candidate.claim.content, COMPARED) else { return Ok(Vec::new()) };
        if !self.small.contains_key(&incoming.namespace) {
            let small = if db.holds_more_than(&incoming.namespace, SMALL)? {
                Vec::new()
            } else {
                db.list(&Filter::exactly(std::slice::from_ref(&incoming.namespace)), Order::Id, SMALL, 0)?
            };
            self.small.insert(incoming.namespace.clone(), small);
        }
        let foreign = |memory: &&Memory| detect(&memory.claim.content, COMPARED).is_some_and(|theirs| theirs != own);
        Ok(self.small[&incoming.namespace].iter().filter(foreign).cloned().collect())
    }
}
