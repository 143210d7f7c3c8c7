//! A claim made ready for comparing.

use std::collections::BTreeSet;

use crate::memory::{Claim, Evidence};

use super::features::Features;
use super::key::attribute;
use super::language::{Language, language};
use super::text::normalise;
use super::words::Words;

/// How much of the shorter claim the other must share before one may take the other's place without a common key.
pub const RETIRE_OVERLAP: f64 = 0.5;

/// A claim made ready for comparing.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What its content says.
    pub features: Features,
    /// Its attribute, see [`attribute`].
    pub key: Option<String>,
    /// Its subject, normalised.
    pub subject: Option<String>,
    pub(in crate::consolidate) speakers: BTreeSet<String>,
    /// Conversations that it rests on.
    pub(in crate::consolidate) places: BTreeSet<&'a str>,
    pub(in crate::consolidate) about: About,
    pub(in crate::consolidate) language: Option<Language>,
}

/// Whom or what a claim speaks about, by its first words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::consolidate) enum About {
    User,
    Project,
    Other(String),
}

impl<'a> View<'a> {
    /// Returns `claim` with what the guards look at.
    #[must_use]
    pub fn of(claim: &'a Claim, evidence: &'a [Evidence]) -> Self {
        let key = claim.key.as_deref().and_then(attribute);
        let mut features = Features::of(&claim.content);
        if let Some(key) = &key {
            features.people.extend(Features::of(&key.replace(['.', '_'], " ")).people);
        }
        let speakers = evidence.iter().filter_map(|piece| piece.speaker.as_deref()).map(normalise);
        Self {
            claim,
            about: about(&features),
            places: evidence.iter().map(|piece| piece.transcript.as_str()).collect(),
            language: language(&claim.content),
            features,
            key,
            subject: claim.subject.as_deref().map(normalise).filter(|subject| !subject.is_empty()),
            speakers: speakers.filter(|name| !matches!(name.as_str(), "" | "user" | "human" | "you" | "me")).collect(),
        }
    }

    /// Whether both name one attribute.
    #[must_use]
    pub fn same_key(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (&self.key, &other.key) else { return false };
        // `flour.supplier` is `supplier.flour`.
        a == b || a.split_once('.').zip(b.rsplit_once('.')).is_some_and(|((x, y), (v, w))| x == w && y == v)
    }

    /// Whether one may take the other's place at all: the same attribute, or the same subject in much the same words.
    #[must_use]
    pub fn may_retire(&self, other: &Self) -> bool {
        let same_subject = self.subject.is_some() && self.subject == other.subject;
        let attribute_open = self.key.is_none() || other.key.is_none();
        self.same_key(other) || (same_subject && attribute_open && Words::of(self, other).overlap() >= RETIRE_OVERLAP)
    }
}

impl View<'_> {
    /// Whether the words say that a name or number of `other` was left behind, as in `moved from 9 to 10`.
    pub(in crate::consolidate) fn leaves_what_names(&self, other: &Self) -> bool {
        if self.features.cue.is_none() {
            return false;
        }
        let text = format!(" {} ", self.features.text);
        let left = |name: &str| {
            text.match_indices(name).any(|(at, _)| {
                let (before, after) = (&text[..at], &text[at + name.len()..]);
                is_after_leaving(before) || LEFT_AFTER.split('|').any(|word| after.starts_with(word))
            })
        };
        let value = other.claim.value.as_deref().map(normalise).filter(|value| value.chars().count() > 1);
        let wide = other.features.tokens.iter().filter(|token| !token.is_ascii() && token.chars().count() == 2);
        let named = other.features.entities.iter().chain(&other.features.figures).chain(&value).chain(wide);
        named.into_iter().any(|name| left(name))
            || other.features.text.split([' ', ',']).any(|word| word.chars().count() > 2 && left(word))
    }
}

/// Whether a text ends with words of leaving, small words after them left aside: `instead of in the`.
fn is_after_leaving(text: &str) -> bool {
    const SMALL: &[&str] = &[
        "the", "a", "in", "on", "with", "at", "to", "der", "die", "das", "dem", "den", "auf", "mit", "bei", "aus",
        "el", "la", "los", "las", "en", "con", "del",
    ];
    let mut rest = text;
    for _ in 0..3 {
        if LEFT_BEFORE.split('|').any(|word| rest.ends_with(word)) {
            return true;
        }
        let trimmed = rest.trim_end();
        let last = trimmed.rsplit(' ').next().unwrap_or_default();
        if !SMALL.contains(&last) {
            return false;
        }
        rest = &trimmed[..trimmed.len() - last.len()];
    }
    false
}

/// What stands before the name of what is left behind.
const LEFT_BEFORE: &str = " from | left | quit | instead of | replaced | away from | off | rather than | no longer | no longer on | no longer with | \
     not | never | not from | was never |从|由|离开|告别|辞去|不再用|不再是|不是| von | statt | anstatt | nicht mehr | nicht mehr mit | nicht mehr bei | nicht mehr auf | \
     nicht aus | nicht in | de | desde | en lugar de | en vez de | en lugar del | ya no con | ya no con el | ya no con la | ya no en | ya no usa ";

/// What stands after it.
const LEFT_AFTER: &str =
    "から|の代わり|ではなく|をやめ|에서| 대신|换成|改成|改为|搬到|迁到|改用|跳槽|を辞め|を離れ|를 떠나|을 떠나";

fn about(features: &Features) -> About {
    const USER: &str = "user user's users usuario usuaria nutzer benutzer nutzerin i my";
    const PROJECT: &str = "project project's proyecto projekt repository repo app";
    const BARE_USER: &[&str] = &["用户", "使用者", "我", "ユーザー", "ユーザ", "사용자", "私"];
    const BARE_PROJECT: &[&str] = &["项目", "本项目", "该项目", "プロジェクト", "프로젝트"];
    let mut words = features.text.split(' ').filter(|word| {
        !matches!(
            *word,
            "the" | "el" | "la" | "los" | "las" | "der" | "die" | "das" | "dem" | "den" | "des" | "am" | "im"
        )
    });
    let first = words.next().unwrap_or_default();
    let is = |list: &str, bare: &[&str]| {
        list.split(' ').any(|word| word == first) || bare.iter().any(|word| first.starts_with(word))
    };
    if is(USER, BARE_USER) {
        About::User
    } else if is(PROJECT, BARE_PROJECT) {
        About::Project
    } else {
        About::Other(first.chars().take(40).collect())
    }
}
