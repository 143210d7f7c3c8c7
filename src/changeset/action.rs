//! Names of the actions on a memory, as the history stores them.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        /// The effect of a change, under its name in the history.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Action {
            $($(#[doc = $doc])+ $name,)+
            /// An action written by another version of the program.
            #[serde(other)]
            Other,
        }

        impl Action {
            /// Returns the spelling used in the database and in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                    Self::Other => "other",
                }
            }
        }

        impl FromStr for Action {
            type Err = Infallible;
            fn from_str(text: &str) -> Result<Self, Infallible> {
                Ok(match text {
                    $($word => Self::$name,)+
                    // A newer program may have written other actions, and its history must stay readable.
                    _ => Self::Other,
                })
            }
        }
    };
}

actions! {
    /// A memory was added.
    Add = "add",
    /// A memory gained a piece of evidence.
    Evidence = "evidence",
    /// A memory was edited.
    Update = "update",
    /// A memory was updated by an import.
    Import = "import",
    /// An incoming memory was already known, or had been rejected before.
    Skip = "skip",
    /// A memory adopted the more detailed wording of another.
    Merge = "merge",
    /// A memory was superseded by one with more detail.
    Refine = "refine",
    /// A memory was superseded by one that contradicts it.
    Contradict = "contradict",
    /// A memory was confirmed.
    Support = "support",
    /// A memory was superseded by another.
    Supersede = "supersede",
    /// Two memories were linked.
    Relate = "relate",
    /// A link was removed.
    Unrelate = "unrelate",
    /// A memory moved to another namespace.
    Move = "move",
    /// A memory was pinned.
    Pin = "pin",
    /// A memory was unpinned.
    Unpin = "unpin",
    /// A memory was forgotten.
    Forget = "forget",
    /// A value was rejected.
    Reject = "reject",
    /// A rejection was lifted.
    Admit = "admit",
    /// A memory became active again.
    Restore = "restore",
    /// A pending memory was accepted.
    Accept = "accept",
    /// What a conversation said was withdrawn, because it was erased or has another speaker.
    Withdraw = "withdraw",
    /// A memory expired.
    Expire = "expire",
    /// The confidence of a memory fell too low.
    Fade = "fade",
    /// A memory was retired.
    Retire = "retire",
    /// A memory was superseded by one with the same words.
    Unite = "unite",
    /// A memory moved up in the hierarchy.
    Promote = "promote",
    /// A memory moved down in the hierarchy.
    Demote = "demote",
    /// The confidence of a memory decreased.
    Decay = "decay",
    /// A task ended or was completed.
    TaskClosed = "task_closed",
    /// Of two memories with the same meaning, one was kept with the evidence of both.
    Duplicate = "duplicate",
    /// A memory was superseded by one that states the same in more detail.
    Refined = "refined",
    /// Of two memories that cannot both be true, the one that became true later was kept.
    Contradicted = "contradicted",
    /// Of two memories that cannot both be true, the later one was moved to the inbox.
    Conflict = "conflict",
    /// Values of one attribute were joined into a list.
    Listed = "listed",
    /// A memory was derived from episodes that repeat.
    Derived = "derived",
    /// A derived memory was updated.
    Recounted = "recounted",
    /// Memories about the same topic were linked.
    Linked = "linked",
    /// A repair found a row that its history does not explain.
    Repair = "repair",
    /// A change was undone.
    Undo = "undo",
}

impl Action {
    /// Returns whether the action is the result of comparing memories with each other.
    pub(crate) const fn is_consolidation(self) -> bool {
        matches!(
            self,
            Self::Merge
                | Self::Refine
                | Self::Contradict
                | Self::Support
                | Self::Supersede
                | Self::Unite
                | Self::Duplicate
                | Self::Refined
                | Self::Contradicted
                | Self::Listed
                | Self::Derived
                | Self::Recounted
        )
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
