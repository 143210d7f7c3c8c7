//! New memories that are written together, as if each had been written when it came.

use std::collections::HashSet;

use crate::memory::{MemoryId, Namespace};
use crate::store::{CleanMemory, StoreError, Writer, normalised_hash};

/// Memories that are held back at most.
const MOST: usize = 4_096;

/// New memories that are not written yet. What one that comes later could be compared with is known of each.
#[derive(Default)]
pub(super) struct Several {
    new: Vec<CleanMemory>,
    ids: HashSet<MemoryId>,
    said: HashSet<(Namespace, String)>,
    keys: HashSet<(Namespace, String)>,
}

impl Several {
    /// Writes what is held back if the store must know of it to tell what becomes of another one.
    pub(super) fn before(
        &mut self,
        writer: &Writer<'_>,
        id: &MemoryId,
        namespace: &Namespace,
        (content, key): (&str, Option<&str>),
    ) -> Result<(), StoreError> {
        let is_known = self.ids.contains(id)
            || self.said.contains(&(namespace.clone(), normalised_hash(content)))
            || key.is_some_and(|key| self.keys.contains(&(namespace.clone(), key.to_owned())));
        if is_known { self.write(writer) } else { Ok(()) }
    }

    /// Holds a memory back, or writes all where there are many.
    pub(super) fn add(&mut self, writer: &Writer<'_>, new: CleanMemory) -> Result<(), StoreError> {
        let (memory, _) = &new;
        self.ids.insert(memory.id.clone());
        self.said.insert((memory.namespace.clone(), normalised_hash(&memory.claim.content)));
        self.keys.extend(memory.claim.key.clone().map(|key| (memory.namespace.clone(), key)));
        self.new.push(new);
        if self.new.len() >= MOST { self.write(writer) } else { Ok(()) }
    }

    /// Writes all that is held back.
    pub(super) fn write(&mut self, writer: &Writer<'_>) -> Result<(), StoreError> {
        let Self { new, .. } = std::mem::take(self);
        writer.insert_all(&new, Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use crate::exchange::{Counts, Gathered, Imported, import_as_is};
    use crate::guard::Guard;
    use crate::memory::MemoryId;
    use crate::store::samples::{day, memory, memory_in, shop};
    use crate::store::{Filter, Order, Store};

    fn imported(content: &str, key: Option<&str>) -> Imported {
        let mut memory = memory("", content);
        memory.claim.key = key.map(str::to_owned);
        Imported { memory, has_id: false, evidence: Vec::new(), relations: Vec::new() }
    }

    #[test]
    fn what_a_file_says_twice_is_known_the_second_time_and_what_it_changes_is_changed() {
        let store = Store::in_memory().unwrap();
        let mut same_id = imported("The user sings.", None);
        let first = imported("The user drinks tea.", Some("import.drink"));
        same_id.memory.id = MemoryId::new();
        let mut again = same_id.clone();
        again.memory.claim.content = "The user dances.".into();
        let elsewhere = memory_in(&"global".parse().unwrap(), "", "The user drinks tea.");
        let memories = vec![
            first.clone(),
            imported("the user drinks TEA", None),
            Imported { memory: elsewhere, ..imported("", None) },
            imported("The user drinks mate.", Some("import.drink")),
            same_id,
            again,
        ];
        let gathered = Gathered { memories, ..Gathered::default() };
        let counts = import_as_is(&store, &Guard::default(), gathered, &shop(), day(0)).unwrap();
        assert_eq!(counts, Counts { added: 3, changed: 1, known: 2, context: 0 });
        let said = store.list(&Filter::default(), Order::Id, 9, 0).unwrap().into_iter().map(|one| one.claim.content);
        let mut said: Vec<String> = said.collect();
        said.sort();
        assert_eq!(said, ["The user drinks mate.", "The user drinks tea.", "The user sings."]);
        assert_eq!(store.memory(&first.memory.id).unwrap().claim.content, "The user drinks mate.");
    }
}
