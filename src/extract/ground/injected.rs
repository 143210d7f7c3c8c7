//! Text that was injected into a conversation, and memories that only repeat it.

use std::collections::HashMap;

use super::super::quote::units;

/// Words in a run that is compared with injected text.
const SHINGLE: usize = 3;
/// Runs that a text must have before it is compared.
const MIN_SHINGLES: usize = 4;
/// Share of runs found in injected text from which a text restates it.
const RESTATES: f64 = 0.8;
/// Injected text that is compared, in bytes; boot files stand at the beginning.
const MAX_INJECTED_BYTES: usize = 400_000;

/// What was injected into a conversation, for finding memories that only repeat it.
#[derive(Debug, Default)]
pub(in super::super) struct Injected {
    /// Hash of each run of words to the first message that has it.
    runs: HashMap<u64, usize>,
}

impl Injected {
    /// Reads injected texts, each with the index of its message, in order.
    pub(in super::super) fn new<'t>(texts: impl Iterator<Item = (usize, &'t str)>) -> Self {
        let (mut injected, mut bytes) = (Self::default(), 0);
        for (index, text) in texts {
            let room = MAX_INJECTED_BYTES.saturating_sub(bytes);
            let text = &text[..text.floor_char_boundary(room)];
            bytes += text.len();
            for run in runs(text) {
                injected.runs.entry(run).or_insert(index);
            }
        }
        injected
    }

    /// Whether `text` mostly repeats what was injected before message `before`.
    pub(in super::super) fn restates(&self, text: &str, before: usize) -> bool {
        let runs = runs(text);
        let known = runs.iter().filter(|run| self.runs.get(run).is_some_and(|&index| index < before)).count();
        #[expect(clippy::cast_precision_loss, reason = "a text has far fewer runs than a float has digits")]
        let share = known as f64 / runs.len().max(1) as f64;
        runs.len() >= MIN_SHINGLES && share >= RESTATES
    }
}

fn runs(text: &str) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let hash = |run: &[String]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    units(text).windows(SHINGLE).map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeating_an_earlier_boot_file_is_restating() {
        let injected = Injected::new(
            [(2, "Use pnpm for all packages and run the linter before each commit. 所有提交信息都用英文书写")]
                .into_iter(),
        );
        assert!(injected.restates("Run the linter before each commit.", 3));
        assert!(injected.restates("提交信息都用英文", 3));
        assert!(!injected.restates("Run the linter before each commit.", 2));
        assert!(!injected.restates("Run the formatter before each merge to main.", 3));
        assert!(!injected.restates("use pnpm", 3));
    }
}
