//! `serve ui`: shows memories in a browser.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::config::Partial;
use crate::serve::page::{PageOptions, listen};
use anyhow::Context as _;
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::ExitStatus;
use super::mcp::stop_on_signal;
use super::model::runtime;

/// Search, review and edit memories in a browser
///
/// Serves a page to this machine only, until interrupted. The printed address works once; after that, only the browser
/// that opened it has access.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought serve ui\n  afterthought serve ui --no-open --addr 127.0.0.1:8788\n  afterthought serve ui --read-only"
)]
pub(crate) struct UiArgs {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    addr: SocketAddr,
    /// Reject all changes
    #[arg(long)]
    read_only: bool,
    /// Folder with files that `eval --out` wrote [default: evals, beside the database]
    #[arg(long, value_name = "DIR")]
    evals: Option<PathBuf>,
    /// Only print the address, and do not open a browser
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn run(args: &UiArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, global) = (context.settings()?, context.global.clone());
    let options = PageOptions {
        address: args.addr,
        read_only: args.read_only,
        evals: args.evals.clone(),
        settings_file: global.config.clone().map_or_else(|| global.folders().map(|folders| folders.user_file), Ok)?,
        reload: Box::new(move || global.settings(Partial::default()).ok()),
    };
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let stop = CancellationToken::new();
        stop_on_signal(stop.clone())?;
        let (address, served) = listen(config, options, stop).await?;
        context.out.line(&address)?;
        // The file is kept until the server ends: a browser may take long to start.
        let _file = if args.no_open { None } else { open(&address) };
        served.await;
        anyhow::Ok(())
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome?;
    Ok(ExitStatus::Success)
}

/// Opens the default browser, if there is one, and returns the file that redirects the browser to `address`.
fn open(address: &str) -> Option<NamedTempFile> {
    let opened = write_redirect(address).and_then(|file| {
        let program = match std::env::consts::OS {
            "macos" => "open",
            "windows" => "explorer",
            _ => "xdg-open",
        };
        let mut command = Command::new(program);
        command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().context("cannot start the browser")?;
        Ok(file)
    });
    opened.map_err(|error| tracing::warn!("cannot open a browser; use the printed address: {error:#}")).ok()
}

/// Writes a file that only this user can read: everybody can read the arguments of a process, and they would contain the
/// token.
fn write_redirect(address: &str) -> anyhow::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("afterthought-").suffix(".html").tempfile()?;
    write!(file, "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={address}\">")?;
    file.flush()?;
    Ok(file)
}
