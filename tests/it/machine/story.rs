//! Descriptions of the store's content and history, for messages of failed tests.

use std::fmt::{self, Write as _};

use afterthought::memory::Memory;

use super::played::Machine;

impl Machine {
    /// Describes each memory with its evidence, links and history.
    pub fn story(&self) -> String {
        let mut told = String::new();
        for memory in self.memories() {
            self.tell(&memory, &mut told).expect("a text takes whatever is written to it");
        }
        told
    }

    fn tell(&self, memory: &Memory, told: &mut String) -> fmt::Result {
        let Memory { id, claim, status, namespace, pinned, .. } = memory;
        let pin = if *pinned { " pinned" } else { "" };
        writeln!(told, "{id} {status}{pin} {namespace} {:?}={:?} {:?}", claim.key, claim.value, claim.content)?;
        for piece in self.store.evidence(id).unwrap() {
            writeln!(told, "    {} {:?} {:?}", piece.transcript, piece.messages, piece.quote)?;
        }
        for link in self.store.relations(id).unwrap().into_iter().filter(|link| link.from == *id) {
            writeln!(told, "    {} {} ({:?})", link.relation_type, link.to, link.reason)?;
        }
        for entry in self.store.history(id).unwrap().into_iter().filter(|entry| entry.memory == *id) {
            let run = entry.run.map_or(String::new(), |run| run.to_string());
            let undone = if entry.undone { " (undone)" } else { "" };
            writeln!(told, "    : {} {} {:?} {run}{undone}", entry.action, entry.entity, entry.reason)?;
        }
        Ok(())
    }
}
