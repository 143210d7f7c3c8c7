//! The words used in comparisons, in English, Chinese, Japanese, Korean, Spanish and German.

use serde::Deserialize;

/// The meaning of a cue for the claim that contains it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cue {
    /// A phrase that looks like another cue but is not one.
    Neutral,
    /// Negates the claim.
    Negate,
    /// Negates the claim and states that this is always so.
    Never,
    /// Negates the claim and has the meaning of the given positive word.
    Against(String),
    /// Has the meaning of the given word.
    Means(String),
    /// The claim is about a single event.
    Once,
    /// The claim is usually true.
    Habit,
    /// The claim is true, with some exceptions.
    Except,
    /// The claim is intended but not yet true.
    Planned,
    /// The facts have changed.
    Changed,
    /// The facts have changed, and the claim is negated: `no longer`.
    Ended,
    /// The earlier statement was never true.
    Corrected,
    /// The earlier statement was never true, unless other words say that it changed.
    Actually,
    /// A person other than the user.
    Person(String),
    /// The following words are a reason.
    Reason,
    /// The thing exists alongside others of its kind.
    Also,
    /// A circumstance that distinguishes cases.
    Setting(String),
    /// A number or a day that is written as a word.
    Figure(String),
}

/// Returns the cues of `lexicon.toml`, each with a word or phrase that has this meaning.
pub(super) fn cues() -> impl Iterator<Item = (Cue, String)> {
    #[derive(Deserialize)]
    struct Lexicon {
        cues: Vec<(Cue, String)>,
    }
    let lexicon: Lexicon = toml::from_str(include_str!("lexicon.toml")).expect("the lexicon is a constant");
    lexicon
        .cues
        .into_iter()
        .flat_map(|(cue, texts)| texts.split('|').map(|text| (cue.clone(), text.to_owned())).collect::<Vec<_>>())
}
