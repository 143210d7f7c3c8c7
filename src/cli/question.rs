//! Questions to the person at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::printer::painted;

/// Whether a person can be asked: input and standard error are terminals.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question, and returns the answer in lower case, or an empty string if there is no answer.
pub(crate) fn ask(question: &str) -> io::Result<String> {
    // The question is printed on standard error, since standard output may be redirected to a file.
    let mut out = anstream::stderr().lock();
    write!(out, "{} ", painted(question))?;
    out.flush()?;
    let mut answer = String::new();
    // At the end of input nothing is read, and an empty answer declines.
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_lowercase())
}

/// Asks a yes-or-no question; any answer except yes means no.
pub(crate) fn is_yes(question: &str) -> io::Result<bool> {
    Ok(matches!(ask(&format!("{question} [y/N]"))?.as_str(), "y" | "yes"))
}
