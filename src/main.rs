//! The `afterthought` command: arguments in, exit code out.

#[expect(clippy::doc_markdown, reason = "the documentation of arguments is their help text")]
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
