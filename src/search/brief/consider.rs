//! Selects the best memories of each section of a brief, without reading the others.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::content::Standing;
use super::request::{BriefRequest, Section};
use super::select::{ConsideredRows, floor, order, standing, texts_of};
use crate::memory::{MemoryId, Namespace};
use crate::store::{BriefGroup, BriefRow, Database, StoreError};

/// Number of additional memories of each section that are counted but whose texts are not needed, so that the brief can
/// state the number of omitted memories.
const COUNTED: usize = 200;
/// Number of rows of a group that are read initially, and whenever more rows are needed.
const READ: [usize; 2] = [8, 64];

/// Returns the best memories of each section, without regard to a question, and the memories with the ids in `found`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(super) fn considered<'i>(
    store: &Database,
    request: &BriefRequest,
    found: impl IntoIterator<Item = &'i MemoryId>,
    now: Timestamp,
) -> Result<ConsideredRows, StoreError> {
    let mut cursors = Vec::new();
    let mut namespaces: Vec<&Namespace> = request.namespaces.iter().collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    for namespace in namespaces {
        for group in store.brief_groups(namespace)? {
            if request.types.is_empty() || request.types.contains(&group.memory_type) {
                let mut cursor = Cursor::new(namespace, group);
                cursor.refill(store, now)?;
                cursors.push(cursor);
            }
        }
    }
    let latest = cursors.iter().filter_map(|cursor| cursor.ready.front()).map(|row| row.last_sure).max();
    let mut considered = ConsideredRows { as_of: latest.unwrap_or(Timestamp::UNIX_EPOCH), ..ConsideredRows::default() };
    for &section in Section::ALL {
        let of_section = cursors.iter_mut().filter(|cursor| cursor.group.section == section as usize).collect();
        considered.has_more[section as usize] = best(store, request, now, section, of_section, &mut considered)?;
    }
    let further = store.brief_rows_of(found)?;
    let further = further.into_iter().filter(|row| considered.rows.iter().all(|known| known.id != row.id));
    let further: Vec<_> = further.collect();
    considered.rows.extend(further);
    Ok(considered)
}

/// Adds the best memories of a section, and returns whether the section has further memories that could be shown.
fn best(
    store: &Database,
    request: &BriefRequest,
    now: Timestamp,
    section: Section,
    mut cursors: Vec<&mut Cursor<'_>>,
    considered: &mut ConsideredRows,
) -> Result<bool, StoreError> {
    let as_of = considered.as_of;
    cursors.iter_mut().for_each(|cursor| cursor.rate(request, as_of));
    for left in (0..=texts_of(section, request) + COUNTED).rev() {
        let best = cursors.iter_mut().filter_map(|cursor| Some((cursor.rated?, cursor)));
        let Some(((_, is_shown), best)) = best.min_by(|((x, is_shown), a), ((y, as_well), b)| {
            // Memories that cannot be shown come last, because there may be many of them.
            as_well.cmp(is_shown).then_with(|| order((x, &a.ready[0]), (y, &b.ready[0])))
        }) else {
            return Ok(false);
        };
        if left == 0 {
            return Ok(is_shown);
        }
        considered.rows.extend(best.ready.pop_front());
        best.refill(store, now)?;
        best.rate(request, as_of);
    }
    Ok(false)
}

/// The memories of a group that has not been used yet, best first.
struct Cursor<'n> {
    namespace: &'n Namespace,
    group: BriefGroup,
    ready: VecDeque<BriefRow>,
    read: usize,
    is_read: bool,
    /// The rating of the first memory, and whether the memory can be shown.
    rated: Option<(Standing, bool)>,
}

impl<'n> Cursor<'n> {
    const fn new(namespace: &'n Namespace, group: BriefGroup) -> Self {
        Self { namespace, group, ready: VecDeque::new(), read: 0, is_read: false, rated: None }
    }

    /// Reads further rows if none is ready.
    fn refill(&mut self, store: &Database, now: Timestamp) -> Result<(), StoreError> {
        if self.ready.is_empty() && !self.is_read {
            let limit = READ[usize::from(self.read > 0)];
            self.ready.extend(store.brief_rows(self.namespace, &self.group, now, (limit, self.read))?);
            self.read += self.ready.len();
            self.is_read = self.ready.len() < limit;
        }
        Ok(())
    }

    fn rate(&mut self, request: &BriefRequest, as_of: Timestamp) {
        self.rated = self.ready.front().map(|row| {
            let standing = standing(row, None, &request.half_lives, as_of);
            (standing, floor(row, &standing, false, request).is_none())
        });
    }
}

#[cfg(test)]
#[path = "consider_tests.rs"]
mod tests;
