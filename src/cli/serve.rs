//! `serve`: serves memories to agents over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use crate::serve::http::{HttpOptions, listen};
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::ExitStatus;
use super::mcp::{Served, stop_on_signal};
use super::model::runtime;

/// Name of the variable with the token that clients must send.
const TOKEN: &str = "AFTERTHOUGHT_TOKEN";

/// Serve agents over HTTP at /mcp
///
/// Clients need the token in AFTERTHOUGHT_TOKEN. If that variable is not set, the first start writes a token to a file
/// and prints the path of the file. By default, only this machine can connect; for other machines, set --addr and
/// AFTERTHOUGHT_TOKEN. Requests for other host names and from pages of other websites are rejected. Serves the same
/// namespaces as `serve mcp`. Runs until it is interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought serve http --addr 127.0.0.1:8787")]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 selects a free port and prints it
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8787")]
    addr: SocketAddr,
    /// Accept requests for this host name; may be repeated
    #[arg(long = "allow-host", value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    served: Served,
}

pub(crate) fn run(args: &ServeArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let server = args.served.server(context.settings()?)?;
    let listening = HttpOptions {
        address: args.addr,
        names: args.names.clone(),
        token: std::env::var(TOKEN).ok(),
        token_file: context.global.folders()?.state.join("http-token"),
    };
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let stop = CancellationToken::new();
        stop_on_signal(stop.clone())?;
        let listening = listen(server, &listening, stop).await?;
        if let Some(file) = &listening.new_token_file {
            let file = file.display();
            context.out.note(format_args!("clients must send the token in {file} as `Authorization: Bearer TOKEN`"));
        }
        // The address is printed only once the socket listens: callers wait for this line, and the actual port for port
        // 0 is known only now.
        context.out.line(format_args!("http://{}/mcp", listening.address))?;
        listening.serving.await;
        anyhow::Ok(())
    });
    // Connections that are still open, such as event streams, must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome?;
    Ok(ExitStatus::Success)
}
