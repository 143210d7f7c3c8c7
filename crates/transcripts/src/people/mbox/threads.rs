//! Which mails belong together, and their text until all of them have been seen.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;

use super::mail::Mail;

/// Collects mails by thread. In memory it holds some hundred bytes for each mail, whatever its size.
pub struct Threads {
    spool: SpooledTempFile,
    end: u64,
    mails: Vec<Place>,
    /// For each group the one it was joined to, or itself.
    groups: Vec<usize>,
    by_id: HashMap<u64, usize>,
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// Where a mail stands in the spool.
#[derive(Debug, Clone, Copy)]
struct Place {
    group: usize,
    at: i64,
    start: u64,
    length: usize,
}

impl Threads {
    /// Starts without mails; more than `held` bytes of their text go from memory into a nameless temporary file.
    #[must_use]
    pub fn new(held: usize) -> Self {
        Self {
            spool: SpooledTempFile::new(held),
            end: 0,
            mails: Vec::new(),
            groups: Vec::new(),
            by_id: HashMap::new(),
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Adds a mail; a second copy of one, such as under another label, is left out.
    ///
    /// # Errors
    /// What writing the temporary file gives.
    pub fn add(&mut self, mail: &Mail) -> io::Result<()> {
        if !self.seen.insert(self.hash(&(&mail.id, &mail.speaker, mail.time.map(|time| time.at), text_of(mail)))) {
            return Ok(());
        }
        let group = self.group_of(mail);
        // A mail without a date is put behind the one before it.
        let before = self.mails.last().map_or(i64::MIN, |mail| mail.at);
        let at = mail.time.map_or(before, |time| time.at.as_millisecond());
        let bytes = serde_json::to_vec(mail)?;
        self.spool.seek(SeekFrom::Start(self.end))?;
        self.spool.write_all(&bytes)?;
        self.mails.push(Place { group, at, start: self.end, length: bytes.len() });
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Gives the mails of each thread to `take`, by time, the threads in the order in which the file began them.
    ///
    /// # Errors
    /// What reading the temporary file gives.
    pub fn each(mut self, mut take: impl FnMut(Turn, Mail)) -> io::Result<()> {
        let mut mails = std::mem::take(&mut self.mails);
        let mut order: HashMap<usize, usize> = HashMap::new();
        for (place, mail) in mails.iter_mut().enumerate() {
            mail.group = self.find(mail.group);
            order.entry(mail.group).or_insert(place);
        }
        mails.sort_by_key(|mail| (order[&mail.group], mail.at));
        let mut previous = None;
        for mail in mails {
            let mut bytes = vec![0; mail.length];
            self.spool.seek(SeekFrom::Start(mail.start))?;
            self.spool.read_exact(&mut bytes)?;
            let is_first = previous.replace(mail.group) != Some(mail.group);
            take(if is_first { Turn::First } else { Turn::Later }, serde_json::from_slice(&bytes)?);
        }
        Ok(())
    }

    /// Returns the group of a mail, joining those that it connects.
    fn group_of(&mut self, mail: &Mail) -> usize {
        let mut group = None;
        let own = mail.id.iter();
        // Where Gmail has decided what belongs together, the ids of ancestors would join what it parted.
        let keys: Vec<u64> = match &mail.gmail_thread {
            Some(thread) => own.map(|id| self.hash(id)).chain([self.hash(&("gmail", thread))]).collect(),
            None => own.chain(&mail.ancestors).map(|id| self.hash(id)).collect(),
        };
        for key in keys {
            let next = self.groups.len();
            let known = *self.by_id.entry(key).or_insert_with(|| group.unwrap_or(next));
            if known == next {
                self.groups.push(next);
            }
            let known = self.find(known);
            if let Some(group) = group.filter(|group| *group != known) {
                self.groups[known] = group;
            }
            group = group.or(Some(known));
        }
        group.unwrap_or_else(|| {
            self.groups.push(self.groups.len());
            self.groups.len() - 1
        })
    }

    fn find(&mut self, group: usize) -> usize {
        let mut root = group;
        while self.groups[root] != root {
            // Halving the way keeps later searches short.
            self.groups[root] = self.groups[self.groups[root]];
            root = self.groups[root];
        }
        root
    }

    fn hash(&self, value: &impl Hash) -> u64 {
        self.hasher.hash_one(value)
    }
}

/// Whether a mail begins a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is the earliest of its thread.
    First,
    /// It follows another.
    Later,
}

fn text_of(mail: &Mail) -> Vec<&str> {
    mail.stretches.iter().map(|(_, text)| text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::mail;
    use super::*;

    #[test]
    fn mails_come_back_whole_from_memory_and_from_a_file() {
        for held in [1_000_000, 100] {
            let mut threads = Threads::new(held);
            for number in [0, 1, 2] {
                let text = format!("Message-ID: <{number}>\nFrom: a@e.org\n\n{number} {}", "word ".repeat(100));
                threads.add(&mail::read(text.as_bytes()).unwrap()).unwrap();
            }
            let mut seen = Vec::new();
            threads.each(|turn, mail| seen.push((turn, mail.id.unwrap(), mail.stretches[0].1.len()))).unwrap();
            let expected = ["0", "1", "2"].map(|id| (Turn::First, id.to_owned(), 501));
            assert_eq!(seen, expected, "{held}");
        }
    }
}
