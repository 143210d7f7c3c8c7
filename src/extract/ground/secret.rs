//! Memories of which nothing is left once their secrets are taken out.

use std::sync::LazyLock;

use regex::Regex;

use super::super::quote::units;

/// Whether a text says nothing once the placeholders of secrets are taken out of it.
pub(in super::super) fn is_only_secret(content: &str, quote: &str, value: Option<&str>) -> bool {
    let blank = |text: &str| PLACEHOLDER.replace_all(text, " ").chars().all(|c| !c.is_alphanumeric());
    // A placeholder inside a word, as in an address, leaves the rest telling; one that stands alone is the point.
    let is_point = ALONE.is_match(content) && units(&PLACEHOLDER.replace_all(content, " ")).len() < 8;
    blank(content) || blank(quote) || value.is_some_and(|value| PLACEHOLDER.is_match(value) && blank(value)) || is_point
}

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[\[<{«]{1,2}(?:redacted|private|secret)[^\]>}»\n]{0,80}[\]>}»]{1,2}")
        .expect("the pattern is constant and a test compiles it")
});

static ALONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[\s'\x22`“:是为：])[\[<{«]{1,2}(?:redacted|private|secret)[^\]>}»\n]{0,80}[\]>}»]{1,2}(?:$|[\s'\x22`”.,;!?。，])")
        .expect("the pattern is constant and a test compiles it")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_that_is_only_a_secret_says_nothing() {
        let hidden = |name: &str| format!("[REDACTED:{name}]");
        for content in
            [hidden("x"), format!("The user's API key is {}.", hidden("key")), format!("密码是{}", hidden("k"))]
        {
            assert!(is_only_secret(&content, "the key is", None), "{content}");
        }
        assert!(is_only_secret("The key rotates.", &hidden("k"), None));
        assert!(is_only_secret("The key rotates.", "rotates", Some(&hidden("k"))));
        let address = format!("The staging database is postgres://app:{}@db.internal/shop.", hidden("password"));
        assert!(!is_only_secret(&address, "staging database", Some(&address)));
        assert!(!is_only_secret("Secrets live in Vault (secret store).", "in Vault", Some("Vault")));
    }
}
