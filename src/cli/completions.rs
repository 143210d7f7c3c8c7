//! `config completions`: prints a completion script for a shell.

use clap_complete::Shell;

use super::exit::ExitStatus;
use super::printer::Printer;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought config completions bash > ~/.afterthought-completions.bash")]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, out: &Printer) -> anyhow::Result<ExitStatus> {
    // The script is written to memory first, because `generate` panics if it cannot write, for example to a closed
    // pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "afterthought", &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitStatus::Success)
}
