//! The structure of a row in the tables of secrets.

use crate::guard::values::NameStrength;

/// One kind of secret.
#[derive(Debug)]
pub(super) struct Secret {
    /// Name in kebab-case. A secret of this kind is replaced with `[redacted:<name>]`.
    pub name: &'static str,
    /// Literals, matched in any case. Every match of the pattern contains one of them, and the pattern is tried only
    /// where a literal is found.
    pub hints: &'static [&'static str],
    /// The pattern, tried from the start of the hint, or from up to `reach` bytes before it.
    pub pattern: &'static str,
    /// Maximum number of bytes between the start of a match and its hint. With 0, a match begins with the hint.
    pub reach: usize,
    /// The part of a match that is the secret.
    pub part: Part,
    /// An example of text with a secret of this kind. `{a36}` represents 36 invented letters and digits, `{h…}`
    /// hexadecimal digits, `{d…}` digits, `{u…}` capitals and digits, `{w…}` lower-case letters, and `{U}` a UUID.
    pub example: &'static str,
}

/// The part of a match that is the secret.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The whole match, if it is separate from the letters and digits around it.
    Whole,
    /// The group `secret`, if the function accepts it.
    Group(fn(&str) -> bool),
    /// The same as [`Part::Group`], if the match is at the start of a word.
    Apart(fn(&str) -> bool),
    /// The value after the match, as in `PASSWORD=…`.
    Assigned(NameStrength),
    /// The value after the match in a sentence, as in `the password is …`.
    Spoken(NameStrength),
    /// The words between the match and the end of the sentence, as in `my passphrase is …`.
    Phrase,
    /// The same as [`Part::Phrase`] after the name of a password, which ordinary sentences contain as well.
    Words,
}

pub(super) const fn token(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
) -> Secret {
    Secret { name, hints, pattern, reach: 0, part: Part::Whole, example }
}

pub(super) const fn inner(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
) -> Secret {
    Secret { name, hints, pattern, reach: 0, part: Part::Group(anything), example }
}

pub(super) const fn anything(_: &str) -> bool {
    true
}

impl Secret {
    pub(super) const fn reaching(mut self, bytes: usize) -> Self {
        self.reach = bytes;
        self
    }

    pub(super) const fn taking(mut self, part: Part) -> Self {
        self.part = part;
        self
    }
}
