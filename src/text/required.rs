//! Finds literals that every match of a pattern contains, so that most texts need not be searched for the pattern.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassBracketed, ClassSet, ClassSetItem, RepetitionKind, RepetitionRange};

/// Maximum number of literals for one pattern.
const MAX_LITERALS: usize = 512;
/// Maximum number of texts that are joined from the texts of adjacent parts.
const MAX_JOINED: usize = 64;
/// Minimum length of a useful literal, in bytes.
const MIN_BYTES: usize = 2;

/// Returns literals, one of which every match of `pattern` contains, with ASCII letters in either case; `None` if there
/// are none of at least two bytes. The pattern may ignore case; the signs `ſ` and `K` for s and k are not considered.
pub(super) fn literals(pattern: &str) -> Option<Vec<String>> {
    let ast = Parser::new().parse(pattern).ok()?;
    Part::of(&ast).best()
}

/// The texts that a part of a pattern matches.
struct Part {
    /// All texts that the part matches, if they are few.
    whole: Option<Vec<String>>,
    /// Literals, one of which every match contains.
    required: Option<Vec<String>>,
}

impl Part {
    /// A part that matches unknown texts.
    const UNKNOWN: Self = Self { whole: None, required: None };

    fn exactly(text: String) -> Self {
        Self { whole: Some(vec![text]), required: None }
    }

    fn of(ast: &Ast) -> Self {
        match ast {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => Self::exactly(String::new()),
            Ast::Literal(literal) => Self { whole: plain(literal.c).map(|text| vec![text]), required: None },
            Ast::ClassBracketed(class) => Self { whole: signs(class), required: None },
            Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) => Self::UNKNOWN,
            Ast::Group(group) => Self::of(&group.ast),
            Ast::Repetition(repetition) => Self::of(&repetition.ast).repeated(&repetition.op.kind),
            Ast::Alternation(alternation) => Self::either(alternation.asts.iter().map(Self::of).collect()),
            Ast::Concat(concat) => Self::sequence(concat.asts.iter().map(Self::of)),
        }
    }

    fn repeated(self, kind: &RepetitionKind) -> Self {
        let least = match kind {
            RepetitionKind::ZeroOrOne => {
                let whole = self.whole.map(|texts| [vec![String::new()], texts].concat());
                return Self { whole, required: None };
            }
            RepetitionKind::ZeroOrMore => 0,
            RepetitionKind::OneOrMore => 1,
            RepetitionKind::Range(
                RepetitionRange::Exactly(least) | RepetitionRange::AtLeast(least) | RepetitionRange::Bounded(least, _),
            ) => *least,
        };
        if least == 0 { Self::UNKNOWN } else { Self { whole: None, required: self.best() } }
    }

    fn either(parts: Vec<Self>) -> Self {
        let whole: Option<Vec<_>> = parts.iter().map(|part| part.whole.clone()).collect();
        let whole = whole.map(|texts| texts.concat()).filter(|texts| texts.len() <= MAX_LITERALS);
        let required: Option<Vec<_>> = parts.into_iter().map(Self::best).collect();
        Self { whole, required: required.map(|texts| texts.concat()).filter(|texts| texts.len() <= MAX_LITERALS) }
    }

    fn sequence(parts: impl Iterator<Item = Self>) -> Self {
        let mut run = Self::exactly(String::new());
        let mut best: Option<Vec<String>> = None;
        let mut is_whole = true;
        for part in parts {
            let joined = run.whole.as_deref().zip(part.whole.as_deref()).and_then(|(a, b)| joined(a, b));
            if let Some(joined) = joined {
                run.whole = Some(joined);
                continue;
            }
            is_whole = false;
            best = better(best, run.best());
            // What follows a part with unknown texts begins a new run.
            run = if part.whole.is_some() {
                Self { required: None, ..part }
            } else {
                best = better(best, part.required);
                Self::exactly(String::new())
            };
        }
        if is_whole { run } else { Self { whole: None, required: better(best, run.best()) } }
    }

    /// Returns the most useful literals of the part.
    fn best(self) -> Option<Vec<String>> {
        let whole = self.whole.filter(|texts| length(texts) >= MIN_BYTES);
        better(whole, self.required)
    }
}

/// Returns a character as a literal, unless it is a letter outside ASCII whose case cannot be ignored without a table.
fn plain(c: char) -> Option<String> {
    let has_case = c.is_lowercase() || c.is_uppercase();
    (c.is_ascii() || !has_case).then(|| c.to_ascii_lowercase().to_string())
}

/// Returns the characters of a class that lists single characters.
fn signs(class: &ClassBracketed) -> Option<Vec<String>> {
    let sign = |item: &ClassSetItem| if let ClassSetItem::Literal(literal) = item { plain(literal.c) } else { None };
    match &class.kind {
        ClassSet::Item(ClassSetItem::Union(union)) if !class.negated => union.items.iter().map(sign).collect(),
        ClassSet::Item(item) if !class.negated => sign(item).map(|sign| vec![sign]),
        ClassSet::Item(_) | ClassSet::BinaryOp(_) => None,
    }
}

/// Returns each of `a` followed by each of `b`, unless there are too many.
fn joined(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let all = || a.iter().flat_map(|start| b.iter().map(move |end| format!("{start}{end}"))).collect();
    (a.len() * b.len() <= MAX_JOINED).then(all)
}

/// Returns the literals of which the shortest is longer, since a longer literal is rarer.
fn better(a: Option<Vec<String>>, b: Option<Vec<String>>) -> Option<Vec<String>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if length(&b) > length(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Returns the length of the shortest text in bytes. A sign alone, such as `?`, is as rare as two letters.
fn length(texts: &[String]) -> usize {
    let length = |text: &String| text.len() + usize::from(text.len() == 1 && text.starts_with(is_sign));
    texts.iter().map(length).min().unwrap_or(0)
}

const fn is_sign(c: char) -> bool {
    c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '\'' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_match_contains_one_of_the_literals() {
        for (pattern, expected) in [
            (r"(?i)^(?:I|we) \w+ (?:Moved|switched)", Some(vec![" moved", " switched"])),
            (r"\bno longer \w+", Some(vec!["no longer "])),
            (r"(?:off|on) \S+ and", Some(vec![" and"])),
            ("(?:ab){2,3}c?", Some(vec!["ab"])),
            ("colou?r", Some(vec!["color", "colour"])),
            ("für immer|我们", Some(vec!["r immer", "我们"])),
            (r"(?:moved|\w+)", None),
            ("[?？]|organi[sz]e", Some(vec!["?", "organise", "organize", "？"])),
            ("[^?]", None),
            ("(?:moved)?x", None),
            (r"\d{4}", None),
        ] {
            let mut found = literals(pattern);
            found.iter_mut().for_each(|literals| literals.sort_unstable());
            let expected = expected.map(|literals| literals.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{pattern}");
        }
    }
}
