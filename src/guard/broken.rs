//! Tokens that a terminal or an editor has broken over several lines: where a token continues, and text that only looks
//! like its continuation.

use crate::text::script::is_wide;

/// Maximum number of lines that a single token may span.
pub(super) const MAX_LINES: usize = 32;

/// Minimum length, in bytes, at which a token's continuation can be distinguished from a word.
pub(super) const REST_BYTES: usize = 12;

/// Minimum length, in bytes, of a token's end on a separate line. A shorter end is not distinctive.
pub(super) const SHORT_REST_BYTES: usize = 8;

/// Maximum length of a token's continuation on one line, in bytes.
pub(super) const LINE_BYTES: usize = 1024;

/// Returns the position at which the next line begins after its indentation, quotation marks and number, if a line ends
/// at `end`.
pub(super) fn line_start(text: &str, end: usize) -> Option<usize> {
    let near = &text[end..text.floor_char_boundary(end + LINE_BYTES)];
    if let Some(next) = next_string(near) {
        return Some(end + near.len() - next.len());
    }
    let line = after_line_end(near)?;
    let line = line.trim_start_matches([' ', '\t', '>', '|', '│']);
    let line = without_line_mark(text, end, line);
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = numbered.strip_prefix(['→', '\t']).unwrap_or(line);
    Some(end + near.len() - line.len())
}

/// The marks with which every line of a comment or an addition begins. The marks of items in a list are left out, because
/// each item is a text of its own.
const LINE_MARKS: [&str; 5] = ["//", "#", "--", ";", "+"];

/// Returns `line` without the mark of a comment or a change, if the line before it, which ends at `end`, begins with the
/// same mark.
fn without_line_mark<'t>(text: &str, end: usize, line: &'t str) -> &'t str {
    let from = text.ceil_char_boundary(end.saturating_sub(LINE_BYTES));
    let before = text[from..end].rsplit('\n').next().unwrap_or_default().trim_start();
    let mark = LINE_MARKS.iter().find(|mark| before.starts_with(**mark) && line.starts_with(**mark));
    mark.map_or(line, |mark| line[mark.len()..].trim_start_matches([' ', '\t']))
}

/// Returns the text within the next string if `near` begins with the end of a string, and an operator or a line break is
/// between the two strings.
fn next_string(near: &str) -> Option<&str> {
    let quote = near.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n' | '\\');
    let operator = |c: char| matches!(c, '+' | '.' | '&');
    let between = near[1..].trim_start_matches(blank);
    let next = between.trim_start_matches(operator);
    let is_joined = next.len() < between.len() || near[1..near.len() - between.len()].contains('\n');
    let next = next.trim_start_matches(blank);
    let next = next.strip_prefix(['f', 'r', 'b']).unwrap_or(next);
    next.strip_prefix(quote).filter(|_| is_joined)
}

/// Returns the text after the line end with which `near` begins.
pub(super) fn after_line_end(near: &str) -> Option<&str> {
    // In quoted-printable, this character continues a line.
    let soft = near.strip_prefix('=').filter(|after| after.starts_with(['\n', '\r']));
    // Blanks at the end of a line, and the border of a box, do not belong to it.
    let near = soft.unwrap_or(near).trim_start_matches([' ', '\t', '│']);
    // A backslash at the end of a line in a shell continues the line.
    let continued = near.strip_prefix('\\').filter(|after| after.starts_with(['\n', '\r']));
    let near = continued.unwrap_or(near);
    let after = near.strip_prefix("\\r").unwrap_or(near);
    let after = after.strip_prefix('\r').unwrap_or(after);
    after.strip_prefix('\n').or_else(|| after.strip_prefix("\\n"))
}

/// Whether the token ends before `behind`. It does not end before a letter, or before a sign that may be part of it or of
/// an expression.
pub(super) fn stands_apart(behind: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() && !is_wide(c) || "_-+/=:~$%*([{^".contains(c);
    behind.chars().next().is_none_or(|c| !is_part(c))
}

/// Whether `behind` contains only punctuation before the end of the line.
pub(super) fn ends_line(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['"', '\'', '`', ',', ';']);
    behind.is_empty()
        || behind.starts_with("\\n")
        || behind.starts_with("\\r")
        || behind.trim_start_matches('\\').starts_with(['\n', '\r'])
}

/// Returns the actual end of the token that begins at `start`, if its first line ends at `end`.
pub(super) fn end_of_token(text: &str, start: usize, end: usize) -> usize {
    let mut end = end;
    for _ in 0..MAX_LINES {
        let Some(next) = rest_on_next_line(text, start, end) else { break };
        end = next;
    }
    end
}

fn rest_on_next_line(text: &str, start: usize, end: usize) -> Option<usize> {
    let near = &text[end..text.floor_char_boundary(end + LINE_BYTES)];
    let line = after_line_end(near)?.trim_start_matches([' ', '\t']);
    let run = line.len() - line.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-+/.".contains(c)).len();
    let run = line[..run].trim_end_matches('.').len();
    let padding = line[run..].len() - line[run..].trim_start_matches('=').len();
    let (rest, behind) = (&line[..run], &line[run + padding..]);
    let token = &text.as_bytes()[start..end];
    let goes_on = run >= REST_BYTES && padding <= 2 && stands_apart(behind);
    (goes_on && continues(token, rest.as_bytes(), ends_line(behind)))
        .then(|| end + near.len() - line.len() + run + padding)
}

/// Whether `rest`, which is on a separate line, is the short end of `token` rather than a word.
pub(super) fn ends(token: &[u8], rest: &[u8]) -> bool {
    let tail = &token[token.len().saturating_sub(12)..];
    let is_odd = rest.iter().any(u8::is_ascii_digit)
        || rest.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let mixed = |part: &[u8]| part.iter().any(u8::is_ascii_uppercase) && part.iter().any(u8::is_ascii_lowercase);
    let digits = tail.iter().filter(|byte| byte.is_ascii_digit()).count();
    let turns = rest.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    is_odd && digits > 0 && (mixed(tail) == mixed(rest) || turns >= 3) && rest.iter().all(u8::is_ascii_alphanumeric)
}

/// Whether `rest` uses the same kind of characters as `token` and is not a word, a name, a path or a checksum.
pub(super) fn continues(token: &[u8], rest: &[u8], alone: bool) -> bool {
    let tail = &token[token.len().saturating_sub(12)..];
    let holds = |part: &[u8], class: fn(&u8) -> bool| part.iter().any(class);
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let turns = rest.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let longest = rest.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0);
    let mixed = |part: &[u8]| holds(part, u8::is_ascii_uppercase) && holds(part, u8::is_ascii_lowercase);
    if digits == 0 || longest < 6 {
        return false;
    }
    if mixed(tail) || mixed(token) && mixed(rest) {
        return mixed(rest) && (alone || turns >= 3);
    }
    // These are the lengths of MD5, SHA-1 and SHA-256 in hexadecimal, which logs print on separate lines.
    let checksum = matches!(rest.len(), 32 | 40 | 64);
    digits >= 2 && turns >= 4 && !mixed(rest) && longest == rest.len() && !checksum
}

#[cfg(test)]
mod tests {
    use crate::guard::Guard;

    fn redacted(text: &str) -> String {
        Guard::default().redact(text.to_owned()).0.into_inner()
    }

    #[test]
    fn a_token_in_several_strings_or_marked_lines_is_removed_whole() {
        let (start, end) = ("ghp_aB3dE6gH9aB3dE6g", "H9aB3dE6gH9aB3dE6gH9");
        for (before, between, after) in [
            ("k = \"", "\" + \"", "\""),
            ("k = '", "' . '", "';"),
            ("k = (\"", "\"\n     \"", "\")"),
            ("k = (f'", "'\n     f'", "')"),
            ("k = \"", "\" +\n    \"", "\""),
            ("k = \"", "\" \\\n  \"", "\""),
            ("it is ", "=\n", "\n"),
            ("it is ", "=\r\n", "\r\n"),
            ("// it is ", "\n// ", "\n// and so on"),
            ("# it is ", "\n# ", "\n"),
            ("+  value: ", "\n+    ", "\n+  other: 1"),
            ("│ it is ", " │\n│ ", " │"),
        ] {
            let text = format!("{before}{start}{between}{end}{after}");
            assert_eq!(redacted(&text), format!("{before}[redacted:github-token]{after}"), "{text}");
        }
    }

    #[test]
    fn an_address_with_a_password_in_two_lines_loses_it() {
        for gap in ["\n", "\r\n    ", "\n> ", "\\n"] {
            let text = format!("DB=postgres://app:wrNwXj75{gap}BKN4SyKX@db.internal:5432/shop");
            let clean = redacted(&text).replace("broken-url", "url");
            assert_eq!(clean, "DB=postgres://app:[redacted:url-password]@db.internal:5432/shop", "{text}");
        }
        let address = "see http://localhost:8080\nana@shop.example wrote it";
        assert_eq!(redacted(address), address);
    }

    #[test]
    fn lists_of_strings_are_not_joined() {
        let list = "names = [\"ghp_short\", \"H9aB3dE6gH9aB3dE6gH9aB3dE6gH9aB3dE6g\"]";
        assert!(redacted(list).contains("ghp_short"));
        assert_eq!(redacted("password = \"\"\"trustno1\"\"\""), "password = \"\"\"[redacted:password]\"\"\"");
        assert_eq!(redacted("password = f'correct-horse-battery9'"), "password = f'[redacted:password]'");
        assert_eq!(
            redacted("let password = Some(\"correct-horse-battery9\");"),
            "let password = Some(\"[redacted:password]\");"
        );
    }
}
