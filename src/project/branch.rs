//! The work at hand in a folder: its git branch, and the issue or pull request that the name of the branch contains.

use std::path::Path;

use super::git::{checkout, read};

/// Branches that are not about one piece of work.
const SHARED: &[&str] =
    &["main", "master", "trunk", "develop", "development", "dev", "staging", "production", "gh-pages"];

/// The names of a branch that is about one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchNames {
    /// The name of the branch, such as `feature/412-new-checkout`.
    pub(crate) name: String,
    /// Spellings of the branch and of its issue, in lower case and without punctuation.
    spellings: Vec<String>,
}

impl BranchNames {
    /// Returns the branch that is checked out in `folder`; `None` for a shared branch such as `main`, for a commit
    /// without a branch, and outside of a repository.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let (_, git, _) = checkout(folder)?;
        let head = read(&git.join("HEAD"))?;
        Self::named(head.trim().strip_prefix("ref: refs/heads/")?)
    }

    fn named(name: &str) -> Option<Self> {
        if SHARED.contains(&name.to_lowercase().as_str()) {
            return None;
        }
        let whole = spaced(name);
        let last = spaced(name.rsplit('/').next()?);
        let words: Vec<&str> = whole.split(' ').collect();
        let topic = last.split(' ').filter(|word| !is_number(word)).collect::<Vec<_>>().join(" ");
        let mut spellings = Vec::new();
        for text in [&whole, &last, &topic].into_iter().filter(|text| !text.is_empty()) {
            spellings.extend([format!("branch {text}"), format!("{text} branch")]);
            // A branch named by one word, such as `tests`, is recognised only next to the word "branch".
            spellings.extend(text.contains(' ').then(|| text.clone()));
        }
        for (at, number) in words.iter().enumerate().filter(|(_, word)| is_number(word)) {
            let before = at.checked_sub(1).map(|before| words[before]);
            // In `shop-412`, the word before the number may be the key of the project in a tracker.
            spellings.extend(before.map(|before| format!("{before} {number}")));
            let kinds = ["#", "issue", "pr", "pull request", "ticket", "mr", "merge request"];
            spellings.extend(kinds.iter().flat_map(|kind| [format!("{kind} {number}"), format!("{kind} # {number}")]));
        }
        spellings.sort_unstable();
        spellings.dedup();
        Some(Self { name: name.to_owned(), spellings })
    }

    /// Returns whether `text` mentions the branch, or the issue or pull request in its name.
    pub(crate) fn is_mentioned_in(&self, text: &str) -> bool {
        let text = format!(" {} ", spaced(text));
        self.spellings.iter().any(|spelling| text.contains(&format!(" {spelling} ")))
    }
}

/// Returns `text` in lower case, with spaces between words, numbers and the symbol `#`.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for letter in text.to_lowercase().chars() {
        match letter {
            '#' => spaced.push_str(" # "),
            letter if letter.is_alphanumeric() => spaced.push(letter),
            _ => spaced.push(' '),
        }
    }
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a word may be the number of an issue. A year or a part of a version is shorter or longer.
fn is_number(word: &str) -> bool {
    (2..=6).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_recognised_by_its_name_and_its_issue() {
        let mentioned =
            |branch: &str, text: &str| BranchNames::named(branch).is_some_and(|one| one.is_mentioned_in(text));
        for (branch, text) in [
            ("feature/412-new-checkout", "We decided on Stripe for #412."),
            ("feature/412-new-checkout", "Pull request 412 keeps the old form."),
            ("feature/new-checkout", "The new checkout has one page."),
            ("feature/new-checkout", "On feature/new-checkout, tests run twice."),
            ("feature/412-new-checkout", "The new checkout has one page."),
            ("SHOP-77", "SHOP-77: totals are rounded up."),
            ("payments", "The payments branch waits for a key."),
            ("修复/支付-页面", "支付 页面 只有一页。"),
        ] {
            assert!(mentioned(branch, text), "{branch}: {text}");
        }
        for (branch, text) in [
            ("feature/412-new-checkout", "Port 412 is closed."),
            ("feature/412-new-checkout", "We decided on Stripe for #4123."),
            ("tests", "The tests run on Linux."),
            ("main", "The main branch is protected."),
            ("release/1.2", "Version 1 has two pages."),
        ] {
            assert!(!mentioned(branch, text), "{branch}: {text}");
        }
    }

    #[test]
    fn the_branch_is_read_from_the_repository() {
        let desk = tempfile::tempdir().unwrap();
        let git = desk.path().join(".git");
        std::fs::create_dir_all(git.join("objects")).unwrap();
        for (head, expected) in [
            ("ref: refs/heads/feature/tea\n", Some("feature/tea")),
            ("ref: refs/heads/main\n", None),
            ("0123456789012345678901234567890123456789\n", None),
            ("", None),
        ] {
            std::fs::write(git.join("HEAD"), head).unwrap();
            assert_eq!(BranchNames::of(desk.path()).map(|branch| branch.name).as_deref(), expected, "{head:?}");
        }
    }
}
