//! Asking the person before something is done.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// Whether there is somebody to ask.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, and returns what was answered, in small letters; empty where nothing was.
pub fn ask(question: &str) -> io::Result<String> {
    let mut out = anstream::stderr().lock();
    write!(out, "{question} ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_lowercase())
}

/// Asks for a yes; anything else is a no.
pub fn is_yes(question: &str) -> io::Result<bool> {
    Ok(matches!(ask(&format!("{question} [y/N]"))?.as_str(), "y" | "yes"))
}
