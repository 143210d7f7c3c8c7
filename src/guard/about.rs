//! What tells about a password without telling it: the program that keeps it, its length, what became of it.
//!
//! Only words are judged so. What holds a digit or a sign goes, whatever stands before it.

use std::ops::Range;

/// Words that, behind the name of a secret, make it the name of something else: "password manager".
#[rustfmt::skip]
const MATTERS: &[&str] = &[
    "manager", "vault", "generator", "app", "tool", "policy", "rule", "rules", "requirement", "requirements", "length", "strength", "hint", "field", "column",
    "input", "prompt", "dialog", "form", "box", "format", "checker", "rotation", "expiry", "history", "screen", "page", "type", "manager's",
];
/// The same in Chinese, where nothing stands between the two.
const HAN_MATTERS: &[&str] = &[
    "管理",
    "生成",
    "长度",
    "策略",
    "规则",
    "要求",
    "提示",
    "框",
    "输入框",
    "字段",
    "强度",
    "有效期",
    "找回",
    "重置",
    "格式",
    "类型",
];
/// Words that stand before the name: "la longitud de la contraseña".
#[rustfmt::skip]
const OF: &[&str] = &[
    "gestor", "administrador", "generador", "política", "longitud", "campo", "pista", "historial", "caducidad", "formato", "fortaleza", "manager", "length",
    "strength", "länge", "stärke", "richtlinie", "verwaltung", "gestión",
];
/// What joins them.
const JOINTS: &[&str] =
    &["de", "la", "las", "una", "of", "the", "a", "your", "my", "der", "des", "für", "das", "von", "tu", "mi", "su"];
/// Most words between them.
const MAX_JOINTS: usize = 2;
/// Bytes before the name that are looked at.
const BEFORE: usize = 48;

/// What becomes of passwords.
#[rustfmt::skip]
const STATES: &[&str] = &[
    "abgelaufen", "dasselbe", "derselbe", "geheim", "ungültig", "gültig", "streng", "lang", "kurz", "wichtig", "fällig", "weg", "überall", "immer", "noch", "schon",
    "jetzt", "leicht", "schwer", "schwach", "stark", "einfach", "kompliziert", "demasiado", "siempre", "secreta", "fuerte", "débil", "larga", "corta", "igual", "misma",
    "distinta", "única", "personal", "importante", "opcional", "nueva", "vieja", "fácil", "difícil", "expired", "same", "secret",
    "gesperrt", "unbekannt", "verschlüsselt", "gespeichert", "geändert", "zurückgesetzt", "hinterlegt", "vergessen", "erforderlich", "obligatoria", "compartida",
    "desconocida", "caducada", "cifrada", "guardada", "bloqueada", "requerida",
];

/// Whether the words at `whole`, from the name of a secret to where a value begins, tell of something about it.
pub(super) fn is_matter(text: &str, whole: &Range<usize>) -> bool {
    let said = text[whole.clone()].to_lowercase();
    let name_end = said.find(|c: char| !c.is_alphabetic() || c >= '\u{2e80}').unwrap_or(said.len());
    let next = said[name_end..].split(|c: char| !(c.is_alphabetic() || c == '\'')).find(|word| !word.is_empty());
    let is_han = said.contains(|c: char| c >= '\u{2e80}');
    next.is_some_and(|next| MATTERS.contains(&next))
        || (is_han && HAN_MATTERS.iter().any(|matter| said.contains(matter)))
        || is_of(&text[text.ceil_char_boundary(whole.start.saturating_sub(BEFORE))..whole.start])
}

/// Whether `before` ends in "the length of the".
fn is_of(before: &str) -> bool {
    let before = before.to_lowercase();
    let mut words = before.split(|c: char| !c.is_alphabetic()).rev().filter(|word| !word.is_empty());
    for count in 0..=MAX_JOINTS {
        match words.next() {
            Some(word) if JOINTS.contains(&word) => {}
            Some(word) => return count > 0 && OF.contains(&word),
            None => return false,
        }
    }
    words.next().is_some_and(|word| OF.contains(&word))
}

/// Whether `word` says what became of a password. No ending tells: passwords are words, too.
pub(super) fn is_state(word: &str) -> bool {
    STATES.contains(&word.to_lowercase().as_str())
}
