//! The `afterthought` command, which parses arguments and returns an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    afterthought::cli::main()
}
