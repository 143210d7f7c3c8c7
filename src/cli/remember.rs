//! `remember`: a memory by hand.

use afterthought::api::{Memories, Note};
use afterthought::consolidate::Plan;
use afterthought::memory::MemoryType;

use super::args::{Context, time};
use super::exit::ExitStatus;
use super::report::Told;

/// Store a memory
///
/// A memory that is already known is confirmed; one that it contradicts is superseded. Text that holds a secret is refused.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  afterthought remember 'The shop deploys with Nomad.' --namespace project/shop --tag deploy"
)]
pub struct RememberArgs {
    /// What to remember, as one self-contained sentence
    #[arg(required = true)]
    text: Vec<String>,
    /// semantic, episodic or procedural
    #[arg(long = "type", value_name = "TYPE", default_value = "semantic")]
    memory_type: MemoryType,
    /// One of the allowed categories
    #[arg(long, default_value = "fact")]
    category: String,
    /// A few words; the first ones of the text where none are given
    #[arg(long)]
    title: Option<String>,
    /// Topic tag
    #[arg(long)]
    subject: Option<String>,
    /// Attribute that it sets, e.g. user.residence
    #[arg(long, requires = "value")]
    key: Option<String>,
    /// Value of the attribute
    #[arg(long, requires = "key")]
    value: Option<String>,
    /// How much it matters, 0–1, or 2–10 for tenths
    #[arg(long, value_name = "N", default_value_t = 0.7, allow_negative_numbers = true)]
    importance: f64,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// When it stops being recalled, e.g. 2027-01-31 or 2027-01-31T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    expires: Option<jiff::Timestamp>,
}

pub fn run(args: &RememberArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let kept = Memories::open(context.settings()?)?.remember(&args.note())?;
    let mut told = Told::new(context.out, true);
    told.plan(&Plan { changes: vec![kept.change], ..Plan::default() });
    told.end()?;
    Ok(ExitStatus::Success)
}

impl RememberArgs {
    fn note(&self) -> Note {
        Note {
            memory_type: self.memory_type,
            category: self.category.clone(),
            title: self.title.clone(),
            subject: self.subject.clone(),
            key: self.key.clone(),
            value: self.value.clone(),
            importance: self.importance,
            tags: self.tags.clone(),
            expires_at: self.expires,
            ..Note::new(self.text.join(" "))
        }
    }
}
