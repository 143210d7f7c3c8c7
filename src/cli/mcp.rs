//! `mcp`: serves memories to an agent over standard input and output.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::Config;
use crate::serve::mcp::{MemoryServer, Profile, serve_stdio};
use crate::serve::{MemoryPool, Served as ServedNamespaces};
use anyhow::Context as _;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::ExitStatus;

/// Serve an agent over standard input and output
///
/// Serves the project of the working directory and the global namespace, or only --namespace; a client cannot access
/// any other namespace. Exits when the input ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  claude mcp add afterthought -- afterthought serve mcp")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    served: Served,
}

/// Options about what is served.
#[derive(Debug, clap::Args)]
pub(crate) struct Served {
    /// Tools to offer: standard, basecoat, blockcell or full
    #[arg(long, value_name = "NAME", default_value_t = Profile::Standard)]
    profile: Profile,
    /// Serve the project of this folder [default: the working directory]
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
}

impl Served {
    /// Returns the server that the options define.
    pub(crate) fn server(&self, config: Config) -> anyhow::Result<MemoryServer> {
        let served = match (config.namespace(), &self.project) {
            (Some(namespace), None) => ServedNamespaces::Namespace(namespace),
            // A folder on the command line takes precedence over a namespace from the settings.
            (_, Some(folder)) => {
                super::args::must_be_folder(folder)?;
                ServedNamespaces::ProjectAt(std::path::absolute(folder).context("cannot read the working directory")?)
            }
            (None, None) => {
                ServedNamespaces::ProjectAt(std::env::current_dir().context("cannot read the working directory")?)
            }
        };
        Ok(MemoryServer::new(MemoryPool::new(config, served), self.profile))
    }
}

pub(crate) fn run(args: &McpArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let server = args.served.server(context.settings()?)?;
    // This scheduler starts calls in the order in which they arrived. All work that takes long runs on other threads.
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let outcome = runtime.block_on(async {
        let stop = CancellationToken::new();
        // The handler is installed before serving: from here on, an interrupt ends the session cleanly and does not
        // kill it.
        stop_on_signal(stop.clone())?;
        anyhow::Ok(serve_stdio(server, stop).await?)
    });
    // The thread that reads standard input cannot be interrupted; dropping the runtime would wait for it for ever.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome?;
    Ok(ExitStatus::Success)
}

/// Cancels `stop` on the first interrupt or termination signal. Once this function has returned, neither signal ends
/// the process by itself.
///
/// # Errors
/// If no signal handler can be installed.
#[cfg(unix)]
pub(crate) fn stop_on_signal(stop: CancellationToken) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let hear = |kind| signal(kind).context("cannot listen for signals");
    let (mut interrupt, mut terminate) = (hear(SignalKind::interrupt())?, hear(SignalKind::terminate())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

/// Cancels `stop` on the first interrupt.
///
/// # Errors
/// Never on this platform.
#[cfg(not(unix))]
pub(crate) fn stop_on_signal(stop: CancellationToken) -> anyhow::Result<()> {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    Ok(())
}
