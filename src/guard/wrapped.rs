//! Tokens that were broken over several lines, as a terminal does where a line is full.

/// Most lines that one token is read over.
const MAX_LINES: usize = 32;

/// Shortest rest of a token that is told from a word, in bytes.
const REST_BYTES: usize = 12;

/// Longest rest of a token in one line, in bytes.
const LINE_BYTES: usize = 1024;

/// Returns where the token that begins at `start` really ends, if its first line ends at `end`.
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
    let after = near.strip_prefix("\\r").unwrap_or(near);
    let after = after.strip_prefix('\r').unwrap_or(after);
    let line = after.strip_prefix('\n').or_else(|| after.strip_prefix("\\n"))?;
    let line = line.trim_start_matches([' ', '\t']);
    let run = line.len() - line.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-+/.".contains(c)).len();
    let run = line[..run].trim_end_matches('.').len();
    let padding = line[run..].len() - line[run..].trim_start_matches('=').len();
    let rest = &line[..run];
    let behind = &line[run + padding..];
    let stands_apart =
        padding <= 2 && behind.chars().next().is_none_or(|c| c.is_whitespace() || "\"'`\\,;.)]}|<".contains(c));
    let alone =
        behind.trim_start_matches(['"', '\'', '`', ',', ';', '\\']).starts_with(['\n', '\r']) || behind.is_empty();
    let goes_on = run >= REST_BYTES && stands_apart && continues(&text.as_bytes()[start..end], rest.as_bytes(), alone);
    goes_on.then(|| end + near.len() - line.len() + run + padding)
}

/// Whether `rest` is written in the letters of `token`, and is neither word, name, path nor checksum.
fn continues(token: &[u8], rest: &[u8], alone: bool) -> bool {
    let tail = &token[token.len().saturating_sub(12)..];
    let holds = |part: &[u8], class: fn(&u8) -> bool| part.iter().any(class);
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let turns = rest.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let longest = rest.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0);
    let mixed = |part: &[u8]| holds(part, u8::is_ascii_uppercase) && holds(part, u8::is_ascii_lowercase);
    if digits == 0 || longest < 6 {
        return false;
    }
    if mixed(tail) {
        return mixed(rest) && (alone || turns >= 3);
    }
    let checksum = matches!(rest.len(), 32 | 40 | 64);
    digits >= 2 && turns >= 4 && !mixed(rest) && longest == rest.len() && !checksum
}
