//! The `afterthought` command: arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    afterthought::cli::main()
}
