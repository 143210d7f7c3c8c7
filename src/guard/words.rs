//! Words used to judge values and the names before them.

/// Endings of names whose values are not secrets.
#[rustfmt::skip]
pub(super) const ABOUT: &[&str] = &[
    "hash", "hashed", "length", "len", "count", "type", "types", "limit", "budget", "url", "uri", "endpoint", "name",
    "id", "ids", "file", "path", "dir", "field", "label", "input", "policy", "expiry", "expires", "expires_in",
    "ttl", "min", "max", "usage", "used", "prompt", "hint", "reset", "change", "strength", "regex", "pattern",
    "placeholder", "error", "message", "msg", "required", "enabled", "visible", "manager", "provider", "store",
    "format", "header", "version", "algorithm", "class", "size", "index", "at", "text", "kind", "span", "tree",
    "ref", "env", "var", "location", "scope", "scopes",
];

/// Beginnings of names of counts or conditions, as in `max_tokens`.
#[rustfmt::skip]
pub(super) const COUNTING: &[&str] = &[
    "max_", "min_", "num_", "n_", "total_", "max-", "min-", "count_", "has_", "is_", "use_", "no-", "no_", "next_",
];

/// Beginnings of placeholders.
#[rustfmt::skip]
pub(super) const STANDING_STARTS: &[&str] = &[
    "<", "${", "$(", "{{", "%(", "[redacted", "[private", "...", "…", "***", "•", "={", "{", "[",
];

/// Parts of placeholders.
#[rustfmt::skip]
pub(super) const STANDING_PARTS: &[&str] = &[
    "your", "placeholder", "changeme", "change_me", "change-me", "replace", "redacted", "dummy", "xxxx", "todo",
    "insert", "example", "****", "....", "…", "[redacted:",
];

/// Words that occur in place of a value, in code and in prose.
#[rustfmt::skip]
pub(super) const PLAIN: &[&str] = &[
    "none", "null", "nil", "true", "false", "undefined", "string", "str", "text", "bool", "boolean", "int",
    "integer", "number", "float", "required", "optional", "any", "object", "array", "bytes", "varchar", "char",
    "secret", "password", "passwd", "pass", "token", "key", "user", "username", "value", "self", "this", "hidden",
    "prompt", "never", "empty", "missing", "unknown", "invalid", "valid", "incorrect", "wrong", "correct", "test",
    "default", "enabled", "disabled", "bearer", "basic", "oauth", "oauth2", "base64", "sha256", "sha512", "md5",
    "utf-8", "utf8", "bcrypt", "argon2", "argon2id", "scrypt", "pbkdf2", "jwt", "rs256", "hs256", "int32", "int64",
    "uint8", "u8", "u32", "u64", "usize", "i32", "i64", "f64", "vec<u8>", "1password", "keepass2", "env", "stdin",
    "public", "private", "anonymous", "ssh-ed25519", "ssh-rsa",
];

/// Beginnings of expressions that read a value from its storage.
#[rustfmt::skip]
pub(super) const CODE_STARTS: &[&str] = &[
    "process.env", "os.environ", "env.", "env::", "import.meta", "ENV[", "secrets.", "vars.", "config.", "settings.",
    "self.", "this.", "args.", "std::",
];

/// Words that describe a secret in a sentence and are not secrets themselves.
#[rustfmt::skip]
pub(super) const COMMON: &[&str] = &[
    "a", "an", "the", "in", "on", "at", "of", "to", "too", "not", "no", "now", "here", "there", "below", "above",
    "still", "also", "always", "never", "only", "just", "already", "being", "safe", "secure", "insecure", "weak",
    "strong", "short", "long", "blank", "fine", "good", "bad", "okay", "gone", "lost", "right", "case", "so", "that",
    "this", "what", "where", "which", "when", "how", "my", "your", "our", "his", "her", "their", "its", "it",
    "stale", "unset", "leaked", "like", "used", "kept", "sensitive", "different", "same", "unique", "public",
    "private", "visible", "available", "impossible", "important", "necessary", "mandatory", "shown", "sent", "known",
    "unclear", "easy", "hard", "simple", "ready", "done", "set", "read", "written", "broken", "over", "under", "out",
    "one", "two", "up", "from", "with", "plaintext", "cleartext", "confidential", "temporary", "permanent", "falsch",
    "richtig", "nicht", "zu", "sicher", "leer", "incorrecta", "correcta", "segura", "obligatoria", "incorrect",
    "trop", "faible", "obligatoire", "errada", "correta", "fraca", "forte", "mnemonic", "passphrase", "nothing",
    "something", "everything", "enough", "authentication",
];

/// Endings of participles and adjectives: "the password is expired", "… è scaduta", "… est oubliée".
pub(super) const PARTICIPLES: &[&str] =
    &["ed", "ing", "able", "ato", "ata", "uto", "uta", "ito", "ita", "bile", "ible", "ée", "ét", "ный", "ана", "ено"];

/// Grammatical words, which occur in sentences but not in passphrases.
#[rustfmt::skip]
pub(super) const GRAMMAR: &[&str] = &[
    "is", "are", "was", "be", "must", "should", "the", "and", "or", "it", "you", "i", "we", "with", "for", "to",
    "not", "that", "which", "que", "las", "los", "del", "una", "por", "der", "das", "und", "nicht", "ein", "les", "pour",
    "dans",
];

/// Beginnings of words for the things that a preceding number counts.
#[rustfmt::skip]
pub(super) const UNITS: &[&str] = &[
    "char", "byte", "bit", "digit", "token", "day", "min", "hour", "month", "year", "word", "sec", "ms", "per",
    "of ", "or ", "line", "possible", "个", "位", "次", "Zeichen", "Ziffer", "Stelle", "Zeile", "caract", "dígito", "cifra",
    "línea",
];
