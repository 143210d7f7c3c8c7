//! `batches`: what is out with a provider.

use anyhow::bail;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::counted;

/// List open batches of requests at a provider, oldest first
///
/// `run --batch-api` over the same logs collects their replies. The provider is not contacted; the status is that of the last
/// run. Exits 1 when there are none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought runs batches\n  afterthought runs batches --give-up batch_6745e1")]
pub struct BatchesArgs {
    /// Give up a lost batch; its requests will be paid for again
    #[arg(long, value_name = "ID")]
    give_up: Option<String>,
}

pub fn run(args: &BatchesArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if let Some(id) = &args.give_up {
        return give_up(id, context);
    }
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let open = store.open_batches()?;
    if context.out.is_json() {
        for batch in &open {
            context.out.json(batch)?;
        }
    } else {
        let rows = open.iter().map(|batch| {
            [
                batch.remote_id.clone().unwrap_or_else(|| batch.id.clone()),
                batch.created_at.strftime("%Y-%m-%d %H:%M").to_string(),
                batch.remote_status.clone().unwrap_or_else(|| batch.stage.as_str().to_owned()),
                batch.waiting.to_string(),
                batch.model.clone(),
                batch.endpoint.clone(),
            ]
        });
        context.out.table(["batch", "made", "status", "requests", "model", "server"], rows.collect())?;
    }
    if open.is_empty() {
        return Ok(context.out.nothing("no open batches; `afterthought run PATH --batch-api` submits some"));
    }
    Ok(ExitStatus::Success)
}

fn give_up(id: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let store = context.store()?;
    let mut open = store.open_batches()?;
    open.retain(|batch| batch.id == id || batch.remote_id.as_deref() == Some(id));
    let Some(batch) = open.pop() else {
        bail!("no open batch has the id {id}; see `afterthought runs batches`");
    };
    store.end_batch(&batch.id, "given_up", &[], now())?;
    let requests = counted(batch.waiting, "request");
    context.out.line(format_args!("gave up {requests}; the next `run` asks them again"))?;
    Ok(ExitStatus::Success)
}
