//! Judging values: what stands behind `=`, `:` or `is`, and whether it is a secret or a word, a variable, a type.

use std::ops::Range;

/// What the name in front of a value promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// A password: short and made by a person.
    Password,
    /// A key or token: long and made by a machine.
    Key,
    /// A few digits.
    Pin,
}

/// Longest value that is judged, in bytes; what is taken out may be longer.
const JUDGED_BYTES: usize = 1024;

/// A value with the quotes around it left out.
struct Value<'t> {
    range: Range<usize>,
    text: &'t str,
    quoted: bool,
}

const QUOTES: &[(&str, &str)] =
    &[("\"", "\""), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("«", "»"), ("„", "“")];

/// Reads the value that begins at `at`: to its closing quote, or to the next space where it has none.
fn read(text: &str, at: usize) -> Option<Value<'_>> {
    let rest = &text[at..];
    let near = &rest[..rest.floor_char_boundary(JUDGED_BYTES)];
    let slashes = near.len() - near.trim_start_matches('\\').len();
    for (open, close) in QUOTES {
        let Some(inside) = near[slashes..].strip_prefix(open) else { continue };
        let closing = format!("{}{close}", &near[..slashes]);
        let end = inside.find(&closing).filter(|end| !inside[..*end].contains('\n'))?;
        let start = at + slashes + open.len();
        return Some(Value { range: start..start + end, text: &inside[..end], quoted: true });
    }
    let run = &near[..near.find(stops).unwrap_or(near.len())];
    let run = &run[..ascii_part(run)];
    let run = &run[..before_next_pair(run)];
    let run = run.trim_end_matches([',', ';', ')', '}', ']', '>', '*', ':', '.']);
    Some(Value { range: at..at + run.len(), text: run, quoted: false })
}

/// Where the value really ends that was judged by its first bytes; only asked of what goes, so that no stretch of text
/// is read again and again.
fn whole_end(text: &str, value: &Value<'_>) -> usize {
    let end = value.range.end;
    if value.quoted || value.text.len() + 4 <= JUDGED_BYTES {
        return end;
    }
    end + text[end..].find(stops).unwrap_or(text.len() - end)
}

/// Whether a value without quotes ends before `c`.
fn stops(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\"'`“”‘’「」『』«»，。；！？、（）…|".contains(c)
}

/// Where a value that began in ASCII goes over into another script, as in `密码是abc123然后`.
fn ascii_part(run: &str) -> usize {
    if run.starts_with(|c: char| c.is_ascii()) { run.find(|c| c >= '\u{2e80}').unwrap_or(run.len()) } else { run.len() }
}

/// Where `run` goes over into the next `name=value` of a list, or into an escape of the string it stands in.
fn before_next_pair(run: &str) -> usize {
    let bytes = run.as_bytes();
    (1..bytes.len())
        .find(|&at| match bytes[at] {
            b'&' | b';' | b',' => {
                let name = bytes[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                name > 0 && matches!(bytes.get(at + 1 + name), Some(b'=' | b':'))
            }
            b'\\' => matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't' | b'"') | None),
            _ => false,
        })
        .unwrap_or(bytes.len())
}

/// Returns the value assigned to the secret-named key whose name holds the word at `hint`.
///
/// `suffix` is what follows the word in the name, `sign` what stands between name and value, and `at` where the value
/// begins.
pub(super) fn assigned(
    text: &str,
    hint: usize,
    suffix: &str,
    sign: &str,
    at: usize,
    naming: Naming,
) -> Option<Range<usize>> {
    let name = Name::around(text, hint, suffix);
    if sign.trim().is_empty() && !name.is_flag || name.is_about_a_secret() {
        return None;
    }
    let value = read(text, at)?;
    let word = is_word(value.text);
    let holds = !is_placeholder(value.text)
        && !is_type(text, &value)
        && (value.quoted || !is_code(value.text))
        && match naming {
            Naming::Password | Naming::Pin if name.plural => has_letters_and_digits(value.text),
            Naming::Password | Naming::Pin if word => is_chosen_word(&value, &name, sign, text),
            Naming::Password | Naming::Pin => is_chosen(value.text) && !is_reference(&value),
            Naming::Key => {
                !is_reference(&value) && is_opaque(value.text)
                    || name.upper && sign.trim() == "=" && word && value.text.len() >= 12
            }
        };
    holds.then(|| value.range.start..whole_end(text, &value))
}

/// The name that a value is assigned to.
struct Name<'t> {
    before: &'t str,
    suffix: &'t str,
    upper: bool,
    is_flag: bool,
    plural: bool,
}

impl<'t> Name<'t> {
    fn around(text: &'t str, hint: usize, suffix: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut start = hint;
        while start > 0
            && hint - start < 40
            && (bytes[start - 1].is_ascii_alphanumeric() || b"_-.".contains(&bytes[start - 1]))
        {
            start -= 1;
        }
        let before = &text[start..hint];
        let word = text[hint..].chars().next().unwrap_or(' ');
        Self {
            before,
            suffix,
            upper: word.is_ascii_uppercase()
                && !before.contains(|c: char| c.is_ascii_lowercase())
                && !suffix.contains(|c: char| c.is_ascii_lowercase())
                && text[hint..].chars().nth(1).is_some_and(|c| c.is_ascii_uppercase()),
            is_flag: before.starts_with("--"),
            plural: suffix == "s" || suffix == "S",
        }
    }

    /// Whether it names something about a secret: its length, its file, its kind.
    fn is_about_a_secret(&self) -> bool {
        let suffix = self.suffix.trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(first) = suffix.chars().next() else { return is_counting(self.before) };
        let camel = first.is_ascii_uppercase() && !self.upper;
        if first.is_ascii_alphabetic() && !camel && !self.plural {
            return true;
        }
        let lower = suffix.to_ascii_lowercase();
        is_counting(self.before) || ABOUT.iter().any(|about| lower.ends_with(about))
    }
}

fn is_counting(before: &str) -> bool {
    let lower = before.to_ascii_lowercase();
    ["max_", "min_", "num_", "n_", "total_", "max-", "min-", "count_", "has_", "is_", "use_", "no-", "no_", "next_"]
        .iter()
        .any(|start| lower.trim_start_matches('-').starts_with(start))
}

/// Ends of names that hold no secret themselves.
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "hash",
    "hashed",
    "length",
    "len",
    "count",
    "type",
    "types",
    "limit",
    "budget",
    "url",
    "uri",
    "endpoint",
    "name",
    "id",
    "ids",
    "file",
    "path",
    "dir",
    "field",
    "label",
    "input",
    "policy",
    "expiry",
    "expires",
    "expires_in",
    "ttl",
    "min",
    "max",
    "usage",
    "used",
    "prompt",
    "hint",
    "reset",
    "change",
    "strength",
    "regex",
    "pattern",
    "placeholder",
    "error",
    "message",
    "msg",
    "required",
    "enabled",
    "visible",
    "manager",
    "provider",
    "store",
    "format",
    "header",
    "version",
    "algorithm",
    "class",
    "size",
    "index",
    "at",
    "text",
    "kind",
    "span",
    "tree",
    "ref",
    "env",
    "var",
    "location",
    "scope",
    "scopes",
];

/// Returns the value said in the sentence that goes on at `at`.
pub(super) fn spoken(text: &str, at: usize, naming: Naming) -> Option<Range<usize>> {
    let at = at + text[at..].len() - text[at..].trim_start_matches(['*', ' ']).len();
    let value = read(text, at)?;
    let end = value.range.end;
    let closes =
        value.quoted || text[end..].trim_start_matches([' ', '\t']).chars().next().is_none_or(|c| !c.is_alphanumeric());
    let said = value.text.trim_end_matches(['!', '?']);
    let holds = !is_placeholder(said)
        && !is_type(text, &value)
        && (value.quoted || !is_code(said))
        && match naming {
            Naming::Pin => {
                (4..=12).contains(&said.len())
                    && said.bytes().all(|b| b.is_ascii_digit() || b == b'-')
                    && !counts_something(said, &text[end..])
            }
            Naming::Password if is_word(said) => {
                is_alphabetic_script(said) && closes && said.len() >= 5 && (value.quoted || !is_common(said))
            }
            Naming::Password => is_chosen(said) && !counts_something(said, &text[end..]) && !said.contains("://"),
            Naming::Key => is_opaque(said) && !said.contains('/'),
        };
    holds.then(|| value.range.start..value.range.start + said.len())
}

/// Returns the words up to the end of the sentence that goes on at `at`, if they can be a passphrase.
pub(super) fn phrase(text: &str, at: usize) -> Option<Range<usize>> {
    let near = &text[at..text.floor_char_boundary((at + 400).min(text.len()))];
    let start = near.len() - near.trim_start_matches(['"', '\'', '`', '“', '「', ' ', '*']).len();
    let words = &near[start..];
    let words = &words
        [..words.find(['.', '\n', '"', '`', '”', '」', '!', '?', ',', ';', '。', '，', '\\']).unwrap_or(words.len())];
    let words = words.trim_end_matches(['\'', ' ', '*']);
    let count = words.split_whitespace().count();
    let plain = words.split_whitespace().all(|word| word.chars().all(|c| c.is_alphanumeric() || c == '-'));
    let starts_plainly = words.split_whitespace().next().is_none_or(is_common);
    (plain
        && (3..=30).contains(&count)
        && words.len() >= 12
        && !starts_plainly
        && !words.split_whitespace().any(is_grammar))
    .then(|| at + start..at + start + words.len())
}

/// Whether a value only stands for one: `<your key>`, `${VAR}`, `xxxx`, `changeme`, a marker of ours.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let mut chars = lower.chars();
    let Some(first) = chars.next() else { return true };
    chars.all(|c| c == first)
        || ["<", "${", "$(", "{{", "%(", "[redacted", "[private", "...", "…", "***", "•", "={", "{", "["]
            .iter()
            .any(|start| lower.starts_with(start))
        || first == '$'
            && lower[1..].starts_with(|c: char| c.is_alphabetic() || c == '_')
            && lower[1..].chars().all(|c| c.is_alphanumeric() || c == '_')
        || first == '%' && lower.ends_with('%')
        || [
            "your",
            "placeholder",
            "changeme",
            "change_me",
            "change-me",
            "replace",
            "redacted",
            "dummy",
            "xxxx",
            "todo",
            "insert",
            "example",
            "****",
            "....",
            "…",
            "[redacted:",
        ]
        .iter()
        .any(|part| lower.contains(part))
        || PLAIN.contains(&lower.as_str())
}

/// Words that stand where a value would, in code and in prose.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "text",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "float",
    "required",
    "optional",
    "any",
    "object",
    "array",
    "bytes",
    "varchar",
    "char",
    "secret",
    "password",
    "passwd",
    "pass",
    "token",
    "key",
    "user",
    "username",
    "value",
    "self",
    "this",
    "hidden",
    "prompt",
    "never",
    "empty",
    "missing",
    "unknown",
    "invalid",
    "valid",
    "incorrect",
    "wrong",
    "correct",
    "test",
    "default",
    "enabled",
    "disabled",
    "bearer",
    "basic",
    "oauth",
    "oauth2",
    "base64",
    "sha256",
    "sha512",
    "md5",
    "utf-8",
    "utf8",
    "bcrypt",
    "argon2",
    "argon2id",
    "scrypt",
    "pbkdf2",
    "jwt",
    "rs256",
    "hs256",
    "int32",
    "int64",
    "uint8",
    "u8",
    "u32",
    "u64",
    "usize",
    "i32",
    "i64",
    "f64",
    "vec<u8>",
    "1password",
    "keepass2",
    "env",
    "stdin",
    "public",
    "private",
    "anonymous",
];

/// Words that say something about a secret in a sentence, instead of being it.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "a",
    "an",
    "the",
    "in",
    "on",
    "at",
    "of",
    "to",
    "too",
    "not",
    "no",
    "now",
    "here",
    "there",
    "below",
    "above",
    "still",
    "also",
    "always",
    "never",
    "only",
    "just",
    "already",
    "being",
    "safe",
    "secure",
    "insecure",
    "weak",
    "strong",
    "short",
    "long",
    "blank",
    "fine",
    "good",
    "bad",
    "okay",
    "gone",
    "lost",
    "right",
    "case",
    "so",
    "that",
    "this",
    "what",
    "where",
    "which",
    "when",
    "how",
    "my",
    "your",
    "our",
    "his",
    "her",
    "their",
    "its",
    "it",
    "stale",
    "unset",
    "leaked",
    "like",
    "used",
    "kept",
    "sensitive",
    "different",
    "same",
    "unique",
    "public",
    "private",
    "visible",
    "available",
    "impossible",
    "important",
    "necessary",
    "mandatory",
    "shown",
    "sent",
    "known",
    "unclear",
    "easy",
    "hard",
    "simple",
    "ready",
    "done",
    "set",
    "read",
    "written",
    "broken",
    "over",
    "under",
    "out",
    "one",
    "two",
    "up",
    "from",
    "with",
    "plaintext",
    "cleartext",
    "confidential",
    "temporary",
    "permanent",
    "falsch",
    "richtig",
    "nicht",
    "zu",
    "sicher",
    "leer",
    "incorrecta",
    "correcta",
    "segura",
    "obligatoria",
    "incorrect",
    "trop",
    "faible",
    "obligatoire",
    "errada",
    "correta",
    "fraca",
    "forte",
    "mnemonic",
    "passphrase",
    "nothing",
    "something",
    "everything",
    "enough",
    "authentication",
];

fn is_common(word: &str) -> bool {
    let lower = word.to_lowercase();
    COMMON.contains(&lower.as_str()) || lower.ends_with("ed") || lower.ends_with("ing") || lower.ends_with("able")
}

fn is_grammar(word: &str) -> bool {
    [
        "is", "are", "was", "be", "must", "should", "the", "and", "or", "it", "you", "i", "we", "with", "for", "to",
        "not", "that", "which",
    ]
    .contains(&word.to_lowercase().as_str())
}

/// Whether it is letters, `_` and `-` only, as words and names are.
fn is_word(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-')
}

/// Whether a word is in a script with spaces between words; in the others a run of letters is half a sentence.
fn is_alphabetic_script(word: &str) -> bool {
    word.chars().all(|c| c < '\u{2e80}')
}

/// Whether an unquoted value is an expression.
fn is_code(value: &str) -> bool {
    let dotted = value.contains('.')
        && value.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || "_[]?()".contains(c))
        })
        && !value.chars().any(|c| c.is_ascii_digit());
    let opening = value.find(['(', '[', '{', '<']);
    let called =
        opening.is_some_and(|at| at > 0 && value[..at].chars().all(|c| c.is_alphanumeric() || "_.:!?&".contains(c)));
    let environment = [
        "process.env",
        "os.environ",
        "env.",
        "env::",
        "import.meta",
        "ENV[",
        "secrets.",
        "vars.",
        "config.",
        "settings.",
        "self.",
        "this.",
        "args.",
        "std::",
    ]
    .iter()
    .any(|start| value.starts_with(start));
    dotted
        || called
        || environment
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>")
        || value.starts_with(['=', ':', '&', '(', '|', '!', '?', '#', '@', '/', '.', ','])
}

/// Whether what was read is a type in code, or a number with one: `KEY: Name = …`, `*const u8`, `__u32`, `7i32`.
fn is_type(text: &str, value: &Value<'_>) -> bool {
    let word = value.text;
    let after = text[value.range.end..].trim_start_matches([' ', '\t']);
    let assigned = after.starts_with('=')
        && !after.starts_with("==")
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let suffixed = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').starts_with(['i', 'u', 'f'])
        && word.starts_with(|c: char| c.is_ascii_digit())
        && ["8", "16", "32", "64", "128", "size"].iter().any(|size| {
            word.ends_with(&format!("i{size}"))
                || word.ends_with(&format!("u{size}"))
                || word.ends_with(&format!("f{size}"))
        });
    !value.quoted
        && (assigned || suffixed || word.starts_with('_') || word.starts_with("*const") || word.starts_with("*mut"))
}

/// Whether the value points to where the secret is kept, or is a date, a version, a number of something.
fn is_reference(value: &Value<'_>) -> bool {
    let text = value.text;
    text.starts_with('/') && text[1..].contains('/')
        || text.starts_with("./")
        || text.starts_with("~/")
        || text.contains("://")
        || text.contains(' ') && !text.chars().any(|c| c.is_ascii_digit())
        || text.starts_with('$') && text.len() < 12
}

/// Whether a word behind a password's name was chosen as one: not a type, a variable or the start of a sentence.
fn is_chosen_word(value: &Value<'_>, name: &Name<'_>, sign: &str, text: &str) -> bool {
    let lower = value.text.to_lowercase();
    let says_secret =
        ["pass", "pwd", "secret", "token", "cred", "field", "input", "hash"].iter().any(|part| lower.contains(part));
    if value.text.len() < 6
        || !value.quoted && !is_alphabetic_script(value.text)
        || is_common(value.text)
        || says_secret && !name.upper
    {
        return false;
    }
    if value.quoted || name.upper || name.is_flag {
        return true;
    }
    let after = text[value.range.end..].trim_start_matches([' ', '\t', ',']);
    let ends_line = after.is_empty() || after.starts_with(['\n', '\r', '#', '"', '\\']);
    let type_like = value.text.starts_with(|c: char| c.is_uppercase());
    !value.text.contains('_') && ends_line && !(type_like && sign.contains(':'))
}

/// Whether a value that is more than a word can be a password.
fn is_chosen(value: &str) -> bool {
    let length = value.chars().count();
    length >= 4
        && value.chars().any(char::is_alphanumeric)
        && !value.starts_with(['\\', '('])
        && value.parse::<f64>().map_or(true, |_| length >= 4 && !value.contains('.'))
}

#[rustfmt::skip]
const UNITS: &[&str] = &[
    "char", "byte", "bit", "digit", "token", "day", "min", "hour", "month", "year", "word", "sec", "ms", "per", "of ",
    "or ", "个", "位", "Zeichen", "caract",
];

fn counts_something(value: &str, after: &str) -> bool {
    let after = after.trim_start_matches([' ', '-']);
    let unit = UNITS.iter().any(|unit| after.starts_with(unit));
    value.bytes().all(|b| b.is_ascii_digit()) && unit
}

/// Whether a value holds letters and digits both.
pub(super) fn has_letters_and_digits(value: &str) -> bool {
    value.chars().any(|c| c.is_ascii_digit()) && value.chars().any(char::is_alphabetic)
}

/// Whether a value given for a user's password can be one.
pub(super) fn is_credential_value(value: &str) -> bool {
    let length = value.chars().count();
    length >= 3 && !is_placeholder(value) && !(is_word(value) && length < 5)
}

/// Whether what stands behind `user:` on a command line is a password, and not a group as in `1000:1000`.
pub(super) fn is_user_password(value: &str) -> bool {
    is_credential_value(value) && !value.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a value looks machine-made: at least eight characters, letters and digits, no name of anything.
pub(super) fn is_opaque(value: &str) -> bool {
    let length = value.chars().count();
    let digits = value.chars().filter(char::is_ascii_digit).count();
    if length < 8 || value.contains(' ') || is_placeholder(value) || !value.chars().any(char::is_alphabetic) {
        return false;
    }
    let lower = value.to_lowercase();
    let named =
        ["token", "secret", "apikey", "api_key", "api-key", "password", "_key"].iter().any(|part| lower.contains(part))
            && digits <= 3;
    let mixed = value.chars().any(char::is_uppercase) && value.chars().any(char::is_lowercase);
    !named
        && (digits >= 2
            || digits == 1 && length >= 10
            || digits == 0 && mixed && length >= 24 && entropy(value) > 3.8 && !value.contains(['_', '-', '.', '/']))
}

/// Whether a long value that nothing names is random: not a hash of a commit, a UUID, a path or an identifier.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let upper = value.chars().filter(char::is_ascii_uppercase).count();
    let lower = value.chars().filter(char::is_ascii_lowercase).count();
    let words = value.split(['_', '-', '/', '=']).map(str::len).max().unwrap_or(0);
    digits >= 3 && upper >= 3 && lower >= 3 && words >= 16 && entropy(value) > 4.0 && !is_placeholder(value)
}

/// Returns the bits a character that `value` carries by the frequency of its own characters.
fn entropy(value: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    value.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let total = f64::from(counts.values().sum::<u32>());
    counts.values().map(|&count| f64::from(count) / total).map(|share| -share * share.log2()).sum()
}
