//! `serve`: serves memories to agents, over standard input and output or over HTTP, and to a person in a browser.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, Partial};
use crate::serve::http::{self, API, HttpOptions};
use crate::serve::mcp::{MemoryServer, Profile, serve_stdio};
use crate::serve::page::{self, PageOptions};
use crate::serve::{MemoryPool, Served as ServedNamespaces};
use anyhow::Context as _;
use tempfile::NamedTempFile;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::{ExitStatus, asked_to_end};
use super::model::runtime;

/// Options about what is served.
#[derive(Debug, clap::Args)]
pub(crate) struct Served {
    /// Tools to offer: standard, basecoat, blockcell or full
    #[arg(long, value_name = "NAME", default_value_t = Profile::Standard)]
    profile: Profile,
    /// Serve the project of this folder [default: the working directory]
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Put all memories that agents store in the inbox, and do not let agents edit, forget or restore memories
    #[arg(long)]
    review: bool,
}

impl Served {
    /// Returns the server that the options define.
    pub(crate) fn server(&self, config: Config) -> anyhow::Result<MemoryServer> {
        let served = match (config.namespace(), &self.project) {
            (Some(namespace), None) => ServedNamespaces::Namespace(namespace),
            // A folder on the command line takes precedence over a namespace from the settings.
            (_, Some(folder)) => {
                super::args::must_be_folder("--project ", folder)?;
                ServedNamespaces::ProjectAt(std::path::absolute(folder).context("cannot read the working directory")?)
            }
            (None, None) => {
                ServedNamespaces::ProjectAt(std::env::current_dir().context("cannot read the working directory")?)
            }
        };
        Ok(MemoryServer::new(MemoryPool::new(config, served).reviewing_agents(self.review), self.profile))
    }
}

/// Runs a server until it ends or is interrupted.
///
/// Connections and threads that are still waiting, such as event streams or the thread that reads standard input, may
/// keep the process alive for `patience` at most.
fn serve(
    runtime: Runtime,
    patience: Duration,
    start: impl AsyncFnOnce(CancellationToken) -> anyhow::Result<()>,
) -> anyhow::Result<ExitStatus> {
    let outcome = runtime.block_on(async {
        let stop = CancellationToken::new();
        // The handler is installed before serving: from here on, an interrupt ends the server cleanly instead of
        // killing it.
        stop_on_signal(stop.clone())?;
        start(stop).await
    });
    runtime.shutdown_timeout(patience);
    outcome?;
    Ok(ExitStatus::Success)
}

pub(crate) fn mcp(served: &Served, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let server = served.server(context.settings()?)?;
    // This scheduler starts calls in the order in which they arrived. All work that takes a long time runs on other
    // threads.
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start")?;
    serve(runtime, Duration::from_millis(100), async |stop| Ok(serve_stdio(server, stop).await?))
}

/// Name of the variable with the token that clients must send.
const TOKEN: &str = "AFTERTHOUGHT_TOKEN";

/// Serve agents and programs over HTTP at /mcp and /api/v1
///
/// Clients need the token in AFTERTHOUGHT_TOKEN. If that variable is not set, the first start writes a token to a file
/// and prints the path of the file. By default, only this machine can connect; for other machines, set --addr and
/// AFTERTHOUGHT_TOKEN. Requests for other host names or from pages of other websites are rejected. Serves the same
/// namespaces as `serve mcp`; with --owner, /api/v1 serves all of them. Runs until it is interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought serve http --addr 127.0.0.1:8787")]
pub(crate) struct HttpArgs {
    /// Address to listen on; port 0 selects a free port, which is printed
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8787")]
    addr: SocketAddr,
    /// Accept requests for this host name; may be repeated
    #[arg(long = "allow-host", value_name = "NAME")]
    names: Vec<String>,
    /// Let clients of /api/v1 access all namespaces, the inbox, runs and conversations, without --review; do not give
    /// agents the token
    #[arg(long)]
    owner: bool,
    #[command(flatten)]
    served: Served,
    #[cfg(feature = "scale")]
    #[command(flatten)]
    shards: super::queue::ServedShards,
}

impl HttpArgs {
    /// Returns the server for agents, and the memories for programs of their owner.
    fn server(&self, context: &Context<'_>) -> anyhow::Result<(MemoryServer, Option<Arc<MemoryPool>>)> {
        #[cfg(feature = "scale")]
        if let Some(pool) = self.shards.pool(context)? {
            let server = MemoryServer::new(pool, self.served.profile);
            let owned = self.owner.then(|| server.pool());
            return Ok((server, owned));
        }
        let config = context.settings()?;
        let owned = self.owner.then(|| Arc::new(MemoryPool::new(config.clone(), ServedNamespaces::Everything)));
        Ok((self.served.server(config)?, owned))
    }
}

pub(crate) fn http(args: &HttpArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (server, owned) = args.server(context)?;
    let options = HttpOptions {
        address: args.addr,
        names: args.names.clone(),
        token: std::env::var(TOKEN).ok(),
        token_file: context.global.folders()?.state.join("http-token"),
        owned,
    };
    serve(runtime()?, Duration::from_secs(1), async |stop| {
        let listening = http::listen(server, options, stop).await?;
        if let Some(file) = &listening.new_token_file {
            let file = file.display();
            context.out.note(format_args!("clients must send the token in {file} as `Authorization: Bearer TOKEN`"));
        }
        // The address is printed only once the socket is listening: callers wait for this line, and the actual port for
        // port 0 is known only now.
        context.out.line(format_args!("http://{}/mcp", listening.address))?;
        // Callers that wait for the first line may not read the second.
        context.out.line(format_args!("http://{}{API}", listening.address)).ok();
        listening.serving.await;
        Ok(())
    })
}

/// Search, review and edit memories in a browser
///
/// Serves a page to this machine only, until it is interrupted. The printed address works once; after that, only the
/// browser that opened it has access.
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
    /// Folder with files that `eval --out` wrote [default: evals, next to the database]
    #[arg(long, value_name = "DIR")]
    evals: Option<PathBuf>,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
    /// Show the state of the queue in this PostgreSQL database, too
    #[cfg(feature = "scale")]
    #[arg(long, value_name = "ADDRESS")]
    queue: Option<String>,
}

pub(crate) fn ui(args: &UiArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, global) = (context.settings()?, context.global.clone());
    let options = PageOptions {
        address: args.addr,
        read_only: args.read_only,
        evals: args.evals.clone(),
        #[cfg(feature = "scale")]
        queue: args.queue.as_deref().map(super::queue::shown).transpose()?,
        settings_file: global.config.clone().map_or_else(|| global.folders().map(|folders| folders.user_file), Ok)?,
        reload: Box::new(move || global.settings(Partial::default()).ok()),
    };
    serve(runtime()?, Duration::from_secs(1), async |stop| {
        let (address, served) = page::listen(config, options, stop).await?;
        context.out.line(&address)?;
        // The file is kept until the server ends: a browser may take a long time to start.
        let _file = if args.no_open { None } else { open(&address) };
        served.await;
        Ok(())
    })
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

/// Cancels `stop` on the first termination signal. Once this function has returned, the signals no longer end the
/// process by themselves.
///
/// # Errors
/// If no signal handler can be installed.
fn stop_on_signal(stop: CancellationToken) -> anyhow::Result<()> {
    let asked = asked_to_end().context("cannot listen for signals")?;
    tokio::spawn(async move {
        asked.await;
        stop.cancel();
    });
    Ok(())
}
