//! The settings file of a repository, as far as its remotes go.
//!
//! Files that it includes and addresses that the person's own settings rewrite are not followed.

/// Returns the address of the remote `origin`, or of the only remote there is.
pub(super) fn origin(settings: &str) -> Option<String> {
    let mut remotes: Vec<(String, String)> = Vec::new();
    let mut remote: Option<String> = None;
    let joined = settings.replace("\\\r\n", "").replace("\\\n", "");
    for line in joined.lines().map(str::trim) {
        let mut setting = line;
        if let Some(header) = line.strip_prefix('[') {
            let (section, rest) = header_and_rest(header);
            remote = remote_name(section);
            setting = rest.trim();
        }
        let Some((key, value)) = setting.split_once('=') else { continue };
        let Some(name) = remote.as_ref().filter(|_| key.trim().eq_ignore_ascii_case("url")) else { continue };
        // The first one is where git fetches from.
        if !remotes.iter().any(|(known, _)| known == name) {
            remotes.push((name.clone(), plain(value.trim())));
        }
    }
    let at = remotes.iter().position(|(name, _)| name == "origin");
    let at = at.or_else(|| (remotes.len() == 1).then_some(0))?;
    Some(remotes.swap_remove(at).1).filter(|address| !address.is_empty())
}

/// Splits what follows `[` at the bracket that closes it outside of quotes.
fn header_and_rest(header: &str) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in header.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return (&header[..at], &header[at + 1..]),
            _ => {}
        }
    }
    (header, "")
}

/// Returns the name in `remote "name"`.
fn remote_name(section: &str) -> Option<String> {
    let (kind, name) = section.split_once('"')?;
    let is_remote = kind.trim().eq_ignore_ascii_case("remote");
    let name = name.trim_end().strip_suffix('"')?;
    is_remote.then(|| name.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// Returns a value without its quotes, escapes and comment.
fn plain(value: &str) -> String {
    let (mut text, mut quoted) = (String::new(), false);
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => text.extend(letters.next()),
            '#' | ';' if !quoted => break,
            letter => text.push(letter),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn the_address_of_origin_is_found_as_git_spells_it() {
        let table = [
            ("[remote \"origin\"]\n\turl = git@host:ana/shop.git\n\tfetch = +refs/*", Some("git@host:ana/shop.git")),
            ("[Remote \"origin\"]\r\n\tURL=\"https://host/a b\" ; mine\r\n", Some("https://host/a b")),
            ("[remote \"origin\"] url = https://host/x # comment", Some("https://host/x")),
            ("[remote \"origin\"]\nurl = https://ho\\\nst/x", Some("https://host/x")),
            ("[remote \"a\"]\nurl = x:a\n[remote \"origin\"]\nurl = x:o\nurl = x:p", Some("x:o")),
            ("[remote \"upstream\"]\nurl = x:u\npushurl = x:v", Some("x:u")),
            ("[remote \"a]b\"]\nurl = x:a", Some("x:a")),
            ("[remote \"a\"]\nurl = x:a\n[remote \"b\"]\nurl = x:b", None),
            ("[branch \"origin\"]\nurl = x:a\n[remote]\nurl = x:b", None),
            ("[remote \"Origin\"]\nurl = x:a\n[remote \"b\"]\nurl = x:b", None),
            ("[remote \"origin\"]\npushurl = x:a\n# url = x:b\nurl\nurl =", None),
            ("[remote \"origin\nurl = x", None),
            ("", None),
            ("\u{0}[[[\"\\", None),
        ];
        for (settings, expected) in table {
            assert_eq!(origin(settings).as_deref(), expected, "{settings:?}");
        }
    }
}
