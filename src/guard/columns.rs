//! Finds secrets in tables: values below a heading such as `password` in Markdown, CSV, database output and `INSERT`
//! statements.

use std::ops::Range;

use crate::guard::broken::after_line_end;
use crate::guard::values::{is_made_up, is_marked};

/// Headings of columns that contain secrets, in lower case.
#[rustfmt::skip]
const HEADINGS: &[&str] = &[
    "password", "passwd", "pass", "pwd", "pw", "passphrase", "passcode", "secret", "client_secret", "token", "access_token", "api_key", "api key", "apikey", "secret_key",
    "passwort", "kennwort", "contraseña", "clave", "mot de passe", "mdp", "senha", "wachtwoord", "hasło", "пароль", "密码", "口令", "パスワード", "비밀번호", "login_password",
];

/// Maximum number of rows that are read below a heading.
const MAX_ROWS: usize = 64;

/// Maximum length of a heading's line, in bytes.
const HEADING_BYTES: usize = 400;

/// The secrets below a line of headings, and where that line ends.
pub(super) struct Column {
    pub secrets: Vec<Range<usize>>,
    pub heading_end: usize,
}

/// Reads the column whose heading contains the word at `at`.
pub(super) fn below(text: &str, at: usize) -> Column {
    let from = text.floor_char_boundary(at.saturating_sub(HEADING_BYTES));
    let start = text[from..at].rfind('\n').map(|end| end + 1).max(text[from..at].rfind("\\n").map(|end| end + 2));
    let start = from + start.unwrap_or(0);
    let end = line_end(text, at);
    // In JSON, the first line of a text follows the name of the field.
    let opened = text[start..at].rfind(": \"").map(|open| start + open + 3);
    let start = opened.filter(|_| text[end..].starts_with('\\')).unwrap_or(start);
    let line = &text[start..end];
    let mut secrets = Vec::new();
    if start > from || from == 0 {
        for separator in ["|", "</", "\t", ";", ",", "  "] {
            if line.contains(separator) && secrets.is_empty() {
                secrets = in_rows(text, start..end, at, separator);
            }
        }
        if secrets.is_empty() {
            secrets = inserted(text, start, at, end);
        }
    }
    Column { secrets, heading_end: end }
}

/// Returns the end of the line that contains `at`, which may be escaped.
fn line_end(text: &str, at: usize) -> usize {
    let near = &text[at..text.floor_char_boundary(at + HEADING_BYTES)];
    let end = near.find('\n').into_iter().chain(near.find("\\n")).min();
    at + end.unwrap_or(near.len())
}

fn in_rows(text: &str, heading: Range<usize>, at: usize, separator: &str) -> Vec<Range<usize>> {
    let headings = cells(text, heading.clone(), separator);
    let Some(column) = headings.iter().position(|cell| cell.start <= at && at < cell.end) else { return Vec::new() };
    let is_named = |cell: &Range<usize>| text[cell.clone()].starts_with(char::is_alphabetic);
    let names = headings.iter().filter(|cell| is_named(cell)).count();
    // A row of a Markdown table begins and ends with a separator.
    let is_number = |cell: &Range<usize>| text[cell.clone()].bytes().all(|byte| byte.is_ascii_digit());
    let is_aside = |cell: &&Range<usize>| {
        cell.is_empty() && matches!(separator, "|" | "</") || cell == &&headings[0] && is_number(cell)
    };
    let is_header = names >= 2 && headings.iter().all(|cell| is_aside(&cell) || is_named(cell));
    if !is_header || !is_heading(&text[headings[column].clone()]) {
        return Vec::new();
    }
    let (mut secrets, mut end) = (Vec::new(), heading.end);
    for _ in 0..MAX_ROWS {
        let Some(start) = after_line_end(&text[end..]).map(|rest| text.len() - rest.len()) else { break };
        end = line_end(text, start);
        let row = &text[start..end];
        if row.contains(|c: char| c.is_alphanumeric()) {
            let row = cells(text, start..end, separator);
            // Fields at the end of a row may be missing where spaces separate them.
            let is_row = row.len() == headings.len() || separator == "  " && row.len() > column;
            if !is_row {
                break;
            }
            let cell = row[column].clone();
            let value = &text[cell.clone()];
            if (is_marked(value) || is_made_up(value)) && !value.contains(char::is_whitespace) {
                secrets.push(cell);
            }
        } else if row.trim_matches(['>', ' ']).is_empty() {
            break;
        }
    }
    secrets
}

fn is_heading(cell: &str) -> bool {
    let lower = cell.trim_end_matches(':').to_lowercase();
    HEADINGS.contains(&lower.as_str())
        || lower.rsplit([' ', '_', '-', '.']).next().is_some_and(|last| HEADINGS.contains(&last) && lower.len() < 32)
}

/// Returns the cells of a line without the spaces and quotes around them.
fn cells(text: &str, line: Range<usize>, separator: &str) -> Vec<Range<usize>> {
    let (mut cells, mut start, mut quote) = (Vec::new(), line.start, None);
    let mut at = line.start;
    while at < line.end {
        let rest = &text[at..line.end];
        let c = rest.chars().next().unwrap_or(' ');
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none()
            && matches!(c, '"' | '\'')
            && text[start..at].trim_matches([' ', '\\', '>']).is_empty()
        {
            quote = Some(c);
        } else if quote.is_none() && rest.starts_with(separator) {
            cells.push(trimmed(text, start..at));
            at += rest.len()
                - rest.trim_start_matches(if separator == "  " { " " } else { separator }).len().min(rest.len());
            if separator != "  " {
                at = line.end - rest.len() + separator.len();
            }
            start = at;
            continue;
        }
        at += c.len_utf8();
    }
    cells.push(trimmed(text, start..line.end));
    cells
}

fn trimmed(text: &str, cell: Range<usize>) -> Range<usize> {
    // In HTML, a tag precedes the content of a cell.
    let start = text[cell.clone()]
        .rfind('>')
        .filter(|_| text[cell.clone()].contains('<') || text[..cell.start].ends_with("</"));
    let cell = start.map_or(cell.clone(), |start| cell.start + start + 1..cell.end);
    let around = |c: char| c.is_whitespace() || "\"'`*\\>".contains(c);
    let left = text[cell.clone()].trim_start_matches(around);
    let start = cell.end - left.len();
    start..start + left.trim_end_matches(around).len()
}

/// Returns the values of an `INSERT` statement for the column at `at`.
fn inserted(text: &str, start: usize, at: usize, line_end: usize) -> Vec<Range<usize>> {
    let Some(open) = text[start..at].rfind('(').map(|open| start + open + 1) else { return Vec::new() };
    let Some(close) = text[at..line_end].find(')').map(|close| at + close) else { return Vec::new() };
    let columns = cells(text, open..close, ",");
    let Some(column) = columns.iter().position(|cell| cell.start <= at && at < cell.end) else { return Vec::new() };
    let near = text.floor_char_boundary(close + 4096);
    let after = &text[close + 1..near];
    if columns.len() < 2 || !is_heading(&text[columns[column].clone()]) {
        return Vec::new();
    }
    let begin = after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '\\' | 'n' | '>'));
    if !begin.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("values")) {
        return Vec::new();
    }
    let (mut secrets, mut end) = (Vec::new(), near - begin.len() + 6);
    for _ in 0..MAX_ROWS {
        let Some(open) = text[end..near].find('(').map(|open| end + open + 1) else { break };
        let Some(close) = text[open..near].find([')', ';']).map(|close| open + close) else { break };
        // A value may contain a bracket.
        let mut row = cells(text, open..close, ",");
        if row.len() < columns.len() {
            let line = text[open..near].find('\n').map_or(near, |line| open + line);
            row = cells(text, open..line, ",");
        }
        let value = row.get(column).filter(|cell| is_marked(&text[(*cell).clone()]));
        secrets.extend(value.cloned());
        end = close;
    }
    secrets
}
