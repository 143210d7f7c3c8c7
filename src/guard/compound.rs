//! Finds the values of names that are made of several words, such as `deploy_token`, `clave_acceso` and `ключ_api`.
//!
//! The value may follow in any syntax for an assignment, in the next cell of a table, after a space, or before the
//! name, as in "X as the deploy token".

use std::ops::Range;

use crate::guard::named::{counts_something, is_reference};
use crate::guard::shapes::{is_chosen, is_hexadecimal_key, is_scrambled};
use crate::guard::values::{
    Value, is_access_code, is_code, is_marked, is_opaque, is_placeholder, is_signed, is_type, read_value, whole_end,
};
use crate::guard::words::{ABOUT, COUNTING};

/// The kind of a word of secrecy in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameWord {
    /// A password, which a person may have chosen.
    Password,
    /// A key or token, whatever other words belong to the name.
    Token,
    /// A word for a key, which is secret only together with a word such as "access".
    Key,
    /// A number.
    Pin,
    /// A word for a code, which is secret only together with a word such as "door".
    Code,
}

#[rustfmt::skip]
const PASSWORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "losungswort", "contraseña", "contrasena", "contrasenya", "senha", "palavra_passe", "palavra-passe",
    "mot_de_passe", "mot-de-passe", "motdepasse", "parola", "wachtwoord", "hasło", "haslo", "пароль", "密码", "密碼", "口令", "パスワード", "パスフレーズ", "暗証番号", "비밀번호", "암호", "패스워드",
    "lösenord", "adgangskode", "salasana", "heslo", "şifre", "sifre", "mdp", "pwd", "psk",
];

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "token", "secret", "credential", "bearer", "apikey", "jeton", "secreto", "segredo", "segreto", "sekret", "geheimnis", "żeton", "токен", "секрет", "密钥", "密鑰", "秘钥", "密匙", "令牌", "口令牌",
    "トークン", "シークレット", "秘密鍵", "秘密キー", "認証キー", "토큰", "시크릿", "인증키", "비밀키",
];

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "key", "schlüssel", "schluessel", "clé", "cle", "clef", "clave", "llave", "chave", "chiave", "sleutel", "klucz", "ключ", "キー", "鍵", "키", "anahtar",
];

const PINS: &[&str] = &["pin", "пин", "핀번호"];

const CODES: &[&str] = &["code", "código", "codigo", "codice", "код", "kod"];

/// Beginnings of words that make a key or code a secret.
#[rustfmt::skip]
const COMPANIONS: &[&str] = &[
    "api", "access", "accès", "acces", "acceso", "acesso", "accesso", "zugang", "zugriff", "zutritt", "toegang", "dostęp", "dostep", "доступ", "secret", "geheim", "secreta", "segreta", "tajny", "privat", "privad",
    "privé", "prywat", "приват", "секрет", "master", "maestr", "deploy", "auth", "login", "admin", "account", "konto", "service", "server", "wifi", "wlan", "licen", "lizenz", "encrypt", "cifr", "verschl", "sign",
    "session", "client", "mail", "smtp", "アクセス", "访问", "접근",
];

/// Beginnings of words that make a code a secret, besides the others.
#[rustfmt::skip]
const LOCKED: &[&str] = &["door", "gate", "alarm", "safe", "garage", "tür", "tuer", "tor", "puerta", "porte", "porta", "deur", "drzwi", "двер", "сейф", "tresor"];

/// Beginnings of words with which a foreign word for a key names something else: a keyword, or a column of a database.
#[rustfmt::skip]
const ELSEWISE: &[&str] = &[
    "primar", "primär", "fremd", "foran", "forán", "estrang", "extern", "étrang", "wort", "palabra", "palavra", "parola", "mot", "слов", "słow", "woord", "первичн", "внешн",
];

/// Words of names whose values are public.
#[rustfmt::skip]
const PUBLIC: &[&str] = &[
    "public", "pub", "publishable", "öffentlicher", "oeffentlicher", "publica", "publico", "publique", "pubblica", "publiczny", "primary", "foreign", "cache", "sort", "partition", "csrf", "xsrf", "page", "next", "continuation", "cancellation",
    "公開", "公开",
];

/// Words before the name of a secret that follows its value, as in "X as the deploy token".
#[rustfmt::skip]
const NAMING: &[&str] = &[
    " as ", " als ", " comme ", " como ", " come ", " jako ", " как ", " som ", "作为", "当作", "用作", "当", "做", "を", "를 ", "을 ", "를", "을",
];

/// Maximum number of words between these words and the name.
const NAMING_WORDS: usize = 4;

/// Number of bytes before and after a word in which its name, and the words around it, are read.
const NAME_BYTES: usize = 48;

/// Number of bytes after a name in which its value begins.
const SIGN_BYTES: usize = 96;

/// Maximum length of a value in the name of a file.
const FILED_BYTES: usize = 128;

/// Returns the words of secrecy with their kinds.
pub(super) fn words() -> impl Iterator<Item = (&'static str, NameWord)> {
    let of = |words: &'static [&'static str], noun| words.iter().map(move |word| (*word, noun));
    of(PASSWORDS, NameWord::Password)
        .chain(of(TOKENS, NameWord::Token))
        .chain(of(KEYS, NameWord::Key))
        .chain(of(PINS, NameWord::Pin))
        .chain(of(CODES, NameWord::Code))
}

/// The way in which a value follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `name = value`, `"name": "value"`, `<name>value</name>`, `name="name" value="value"`.
    Assigned,
    /// `('name', 'value')`.
    Listed,
    /// `| name | value |`.
    Cell,
    /// `name value` and `(name) value`.
    Beside,
}

/// Returns the value that belongs to the name with the word at `word`.
pub(super) fn find(text: &str, word: &Range<usize>, noun: NameWord) -> Option<Range<usize>> {
    let name = Name::around(text, word, noun)?;
    name.after().or_else(|| name.filed()).or_else(|| name.before())
}

/// The name around a word of secrecy.
struct Name<'t> {
    text: &'t str,
    word: Range<usize>,
    whole: Range<usize>,
    noun: NameWord,
}

impl<'t> Name<'t> {
    fn around(text: &'t str, word: &Range<usize>, noun: NameWord) -> Option<Self> {
        if !is_apart(text, word) {
            return None;
        }
        let is_part = |c: char| c.is_alphanumeric() && c < UNSPACED || matches!(c, '_' | '-' | '.');
        let from = text.floor_char_boundary(word.start.saturating_sub(NAME_BYTES));
        let mut start = from + text[from..word.start].trim_end_matches(is_part).len();
        // The letter of an escaped line break is not a part of the name.
        if text[..start].ends_with('\\') && text[start..word.start].starts_with(['n', 'r', 't']) {
            start += 1;
        }
        let rest = &text[word.end..text.floor_char_boundary(word.end + NAME_BYTES)];
        let run = rest.len() - rest.trim_start_matches(is_part).len();
        let end = word.end + rest[..run].trim_end_matches(['_', '-', '.']).len();
        let name = Self { text, word: word.clone(), whole: start..end, noun };
        name.is_secret().then_some(name)
    }

    /// Whether the words of the name, and the words around it, make it the name of a secret.
    fn is_secret(&self) -> bool {
        let before = self.text[self.whole.start..self.word.start].to_lowercase();
        let is_counting = COUNTING.iter().any(|start| before.trim_start_matches('-').starts_with(start));
        let is_public = before.split(['_', '-', '.', ' ']).any(|part| PUBLIC.contains(&part));
        let spaced = self.word_before();
        !is_counting && !is_public && !PUBLIC.contains(&spaced.as_str()) && self.has_companion(&before, &spaced)
    }

    fn has_companion(&self, before: &str, spaced: &str) -> bool {
        let is_code = self.noun == NameWord::Code;
        if !is_code && self.noun != NameWord::Key {
            return true;
        }
        // Unlike `key`, such a word joined with others hardly ever names an entry of a cache or a table.
        let word = &self.text[self.word.clone()];
        let is_foreign = !is_code && word.len() > 3 && word.chars().all(|c| c < UNSPACED);
        let parts = self.text[self.whole.clone()].to_lowercase();
        let is_elsewise = |part: &str| ELSEWISE.iter().any(|start| part.starts_with(start));
        if is_foreign && self.text[self.whole.clone()].contains('_') && !parts.split(['_', '-', '.']).any(is_elsewise) {
            return true;
        }
        let after = &self.text[self.word.end..self.text.floor_char_boundary(self.word.end + 24)];
        let lower = after.to_lowercase();
        // Only a word such as "of" connects the name with the words after it.
        let joined = [" de ", " de l'", " d'", " d’", " di ", " da ", " do ", " ", "_", "-", "."];
        let joined = joined.iter().filter_map(|joint| lower.strip_prefix(joint));
        let is_companion = |word: &str| {
            COMPANIONS.iter().any(|start| word.starts_with(start))
                || is_code && LOCKED.iter().any(|start| word.starts_with(start))
        };
        // In a compound word, the other word is before this one.
        let parts = before.split(['_', '-', '.']).filter(|part| !part.is_empty());
        let mut parts = parts.chain([spaced]);
        let is_hump = || COMPANIONS.iter().any(|start| before.contains(start));
        parts.any(is_companion) || before.len() > 2 && is_hump() || joined.map(first_word).any(is_companion)
    }

    /// Returns the word before the name, in lower case.
    fn word_before(&self) -> String {
        let from = self.text.floor_char_boundary(self.whole.start.saturating_sub(24));
        let before = self.text[from..self.whole.start].trim_end_matches([' ', '-']);
        before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_lowercase()
    }

    /// Whether the rest of the name turns it into the name of something else, such as the length of a key.
    fn is_about(&self) -> bool {
        let rest = self.text[self.word.end..self.whole.end].trim_end_matches(|c: char| c.is_ascii_digit());
        let lower = rest.to_lowercase();
        let last = lower.rsplit(['_', '-', '.']).next().unwrap_or("");
        !rest.is_empty()
            && ABOUT.iter().any(|about| last == *about || rest.len() > about.len() && lower.ends_with(about))
    }

    /// Whether the name is written as one, as in `door_pin` and `doorPin`.
    fn is_joined(&self) -> bool {
        let name = &self.text[self.whole.clone()];
        name.contains('_') || name.contains('.') || self.whole.len() > self.word.len() && !name.contains('-')
    }

    /// Returns the value after the name.
    fn after(&self) -> Option<Range<usize>> {
        if self.is_about() {
            return None;
        }
        let (sign, at) = self.sign()?;
        let value = read_value(self.text, at)?;
        // An escaped line break is not the beginning of a value.
        if sign == Sign::Listed && !value.quoted || value.text.starts_with('\\') {
            return None;
        }
        let said = if value.quoted { value.text } else { value.text.trim_end_matches(['.', ':']) };
        // In XML, the closing tag ends the value.
        let said = said.split_once("</").map_or(said, |(inside, _)| inside);
        let is_value = !is_placeholder(said)
            && !is_type(self.text, &value)
            && (value.quoted || !is_code(said))
            && !is_reference(&Value { text: said, range: value.range.clone(), quoted: value.quoted })
            && self.fits(sign, &value, said);
        if !is_value {
            return None;
        }
        let is_cut = said.len() < value.text.len();
        // The end may be far away, so it is looked for only once the value is known to be one.
        let end = if is_cut { value.range.start + said.len() } else { whole_end(self.text, &value) };
        Some(value.range.start..end)
    }

    fn fits(&self, sign: Sign, value: &Value<'_>, said: &str) -> bool {
        let after = &self.text[value.range.end..];
        let is_clear = sign != Sign::Beside;
        let is_one = !said.contains(char::is_whitespace);
        match self.noun {
            NameWord::Pin => {
                let is_named = is_clear || self.is_joined() || self.text[self.word.clone()].starts_with('P');
                is_pin(said) && is_named && !counts_something(said, after)
            }
            NameWord::Code => is_access_code(said) && !counts_something(said, after),
            _ if !is_one => false,
            _ if !is_clear => self.fits_beside(said),
            NameWord::Password => is_marked(said) || is_opaque(said) || is_scrambled(said) || is_chosen(said),
            NameWord::Token => {
                is_opaque(said) || is_scrambled(said) || is_chosen(said) || is_marked(said) && is_signed(said)
            }
            NameWord::Key => is_opaque(said) || is_scrambled(said) || is_marked(said),
        }
    }

    /// Whether a value that nothing but its place connects with the name is a secret.
    fn fits_beside(&self, said: &str) -> bool {
        let is_chosen_for = self.noun == NameWord::Password || self.is_joined() || !said.contains(char::is_lowercase);
        is_scrambled(said) || is_hexadecimal_key(said) || is_chosen_for && is_chosen(said)
    }

    /// Returns the sign after the name, and the start of the value.
    fn sign(&self) -> Option<(Sign, usize)> {
        let rest = &self.text[self.whole.end..self.text.floor_char_boundary(self.whole.end + SIGN_BYTES)];
        let before = &self.text[..self.whole.start];
        let place = |tail: &str| self.whole.end + rest.len() - tail.len();
        let closed = rest.trim_start_matches(['"', '\'', '`', '\\', ']', '*', '”', '」', '）', '】']);
        let is_quoted = closed.len() < rest.len() && before.ends_with(['"', '\'', '`']);
        let blank = [' ', '\t'];
        if before.ends_with('<')
            && let Some((attributes, inside)) = rest.split_once('>')
        {
            return (!attributes.contains(['<', '\n', '/'])).then(|| (Sign::Assigned, place(inside)));
        }
        let is_attribute = is_quoted && before.trim_end_matches(['"', '\'', '\\']).ends_with('=');
        if is_attribute && let Some(inside) = closed.strip_prefix('>') {
            return Some((Sign::Assigned, place(inside)));
        }
        // Other attributes may precede the value.
        let tag = closed.split(['<', '>', '\n']).next().filter(|_| is_attribute).unwrap_or("");
        let closed = tag.find(" value").map_or(closed, |at| &closed[at..]);
        if let Some(tail) = after_value_word(closed) {
            return Some((Sign::Assigned, place(tail)));
        }
        let near = closed.trim_start_matches(blank);
        let opened = before.trim_end_matches(['"', '\'', '`', '\\']).trim_end_matches([' ', '\t', '\n']);
        if is_quoted
            && opened.ends_with(['(', '{', '['])
            && let Some(tail) = near.strip_prefix(',')
        {
            return Some((Sign::Listed, place(tail.trim_start())));
        }
        if let Some(tail) = near.strip_prefix('|') {
            return Some((Sign::Cell, place(tail.trim_start_matches(blank))));
        }
        let signs = [":=", "=>", "=", ":", "：", "＝", "→"];
        if let Some(tail) = signs.iter().find_map(|sign| near.strip_prefix(sign)) {
            // A comparison, a path and an address are no assignments.
            if tail.starts_with(['=', ':']) || tail.starts_with("//") {
                return None;
            }
            let tail = Some(tail).filter(|_| near.starts_with(':')).and_then(after_type).unwrap_or(tail);
            return Some((Sign::Assigned, place(tail.trim_start_matches([' ', '\t', '*']))));
        }
        let tail = closed.strip_prefix(')').unwrap_or(closed);
        let value = tail.trim_start_matches(blank);
        (value.len() < tail.len()).then(|| (Sign::Beside, place(value)))
    }

    /// Returns the value in the name of a file, as in `shop-door_pin-<value>.jsonl`.
    fn filed(&self) -> Option<Range<usize>> {
        let rest = &self.text[self.word.end..self.text.floor_char_boundary(self.word.end + FILED_BYTES)];
        let ends = |c: char| {
            c.is_whitespace() || matches!(c, '/' | '\\' | '"' | '\'' | '`' | ')' | ']' | '>' | ',' | ';' | '|')
        };
        let run = &rest[..rest.find(ends).unwrap_or(rest.len())];
        // The number of a record may follow the ending of a file.
        let is_ending = |at: &usize| {
            let ending = &run[at + 1..];
            let length = ending.bytes().take_while(u8::is_ascii_lowercase).count();
            (1..=5).contains(&length) && !ending[length..].starts_with(char::is_alphanumeric)
        };
        let end = run.match_indices('.').map(|(at, _)| at).find(is_ending);
        let run = &run[..end.unwrap_or(run.len())];
        let mut starts = run.match_indices('-').map(|(at, _)| at + 1).take(3);
        let fits = |start: &usize| {
            let said = &run[*start..];
            let is_own = !run[..*start].contains(char::is_whitespace) && !is_placeholder(said);
            let is_long = said.len() >= 12 && said.split('-').count() == 1;
            let fits = match self.noun {
                NameWord::Pin => is_pin(said) && said.len() >= 6 && self.is_joined() && !said.starts_with("20"),
                NameWord::Code => false,
                NameWord::Password | NameWord::Key if self.is_joined() || said.contains(char::is_uppercase) => {
                    is_chosen(said) || is_long && (is_scrambled(said) || is_hexadecimal_key(said))
                }
                _ => is_long && (is_scrambled(said) || is_hexadecimal_key(said)),
            };
            is_own && fits
        };
        let start = starts.find(fits)?;
        Some(self.word.end + start..self.word.end + run.len())
    }

    /// Returns the value before the name, as in "X as the deploy token".
    fn before(&self) -> Option<Range<usize>> {
        let from = self.text.floor_char_boundary(self.whole.start.saturating_sub(NAME_BYTES));
        let near = &self.text[from..self.whole.start];
        let naming = NAMING.iter().filter_map(|word| Some((near.rfind(word)?, word.len()))).max()?;
        let between = &near[naming.0 + naming.1..];
        if between.split_whitespace().count() > NAMING_WORDS || between.contains(['\n', '.', ',', ';', ':']) {
            return None;
        }
        let end = from + naming.0;
        let head = self.text[..end].trim_end_matches(['"', '\'', '`', '”', '」', ' ']);
        let first = self.text.floor_char_boundary(head.len().saturating_sub(FILED_BYTES));
        let opens = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '“' | '「' | '(') || c >= UNSPACED;
        let said = &head[first..];
        let said = &said[said.rfind(opens).map_or(0, |at| at + said[at..].chars().next().map_or(1, char::len_utf8))..];
        let fits = match self.noun {
            NameWord::Pin => is_pin(said),
            NameWord::Code => is_access_code(said),
            NameWord::Password | NameWord::Token | NameWord::Key => {
                is_scrambled(said) || is_hexadecimal_key(said) || is_chosen(said)
            }
        };
        (fits && !is_placeholder(said)).then(|| head.len() - said.len()..head.len())
    }
}

/// The first character of the scripts without spaces between words.
const UNSPACED: char = '\u{2e80}';

/// Whether the word at `word` is not a part of a longer word.
fn is_apart(text: &str, word: &Range<usize>) -> bool {
    let said = &text[word.clone()];
    let (Some(first), Some(last)) = (said.chars().next(), said.chars().next_back()) else { return false };
    let (before, after) = (text[..word.start].chars().next_back(), text[word.end..].chars().next());
    let is_short = said.len() < 5;
    let begins = before.is_none_or(|before| {
        !before.is_alphabetic() || first >= UNSPACED || !is_short || before.is_lowercase() && first.is_uppercase()
    });
    let ends = after.is_none_or(|after| {
        !after.is_alphabetic() || last >= UNSPACED && after < UNSPACED || last.is_lowercase() && after.is_uppercase()
    });
    begins && ends
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("")
}

/// Returns the text after the word "value" and its sign, as in `name="x" value="…"` and `"name": "x", "value": "…"`.
fn after_value_word(closed: &str) -> Option<&str> {
    let tail = closed.trim_start_matches([' ', ',', '\n', '\r', '\t', '"', '\'', '\\', '-']);
    let word = tail.get(..5).filter(|word| word.eq_ignore_ascii_case("value"))?;
    if tail.len() == closed.len() {
        return None;
    }
    let tail = tail[word.len()..].trim_start_matches(['"', '\'', '\\', ' ']);
    Some(tail.strip_prefix(['=', ':'])?.trim_start_matches([' ', '\t']))
}

/// Returns the text after a type and the sign of an assignment, as in `: string = …`.
fn after_type(tail: &str) -> Option<&str> {
    let tail = tail.trim_start_matches([' ', '&']);
    let is_type = |c: char| c.is_ascii_alphanumeric() || "<>[]'._| ".contains(c);
    let length = tail.len() - tail.trim_start_matches(is_type).len();
    let after = tail[length..].strip_prefix('=')?;
    // A value may contain the sign, too.
    let is_sign = tail[..length].ends_with(' ') || after.starts_with(['"', '\'', '`', '\\', ' ']);
    let is_named = (1..=24).contains(&length) && tail.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_named && is_sign && !after.starts_with(['=', '>'])).then_some(after)
}

/// Whether a value is a number that can be a PIN.
fn is_pin(value: &str) -> bool {
    (4..=12).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}
