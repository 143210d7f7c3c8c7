//! `remember`: a memory by hand.

use afterthought::consolidate::{self, Incoming};
use afterthought::guard::Guard;
use afterthought::memory::{Audience, Candidate, Claim, ExtractionMethod, MemoryType, Namespace};
use anyhow::bail;

use super::args::{Context, now, time};
use super::edit::unit_importance;
use super::exit::ExitStatus;
use super::report::Told;

/// Remember something now
///
/// What is known already is confirmed; what it contradicts is superseded. A text that holds a secret is refused.
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
    let config = context.settings()?;
    if !config.categories.value.contains(&args.category) {
        bail!("{:?} is no category; use one of {}", args.category, config.categories.value.join(", "));
    }
    let guard = Guard::default();
    let (claim, findings) = guard.redact(args.claim()?);
    if let Some(name) = findings.keys().next() {
        bail!("the text holds a secret ({name}), which is never kept; leave it out");
    }
    let namespace = config.namespace.value.clone().unwrap_or_else(Namespace::global);
    let candidate = Candidate {
        claim: claim.into_inner(),
        audience: Audience::Project,
        evidence: Vec::new(),
        replaces: None,
        is_pasted: false,
    };
    let incoming = Incoming { candidate, namespace, source: "remember".to_owned(), method: ExtractionMethod::Manual };
    let store = context.store()?;
    let plan = consolidate::settle_by_rules(&store, &guard, &[incoming], None, now())?;
    let mut told = Told::new(context.out, true);
    told.plan(&plan);
    told.end()?;
    Ok(ExitStatus::Success)
}

impl RememberArgs {
    fn claim(&self) -> anyhow::Result<Claim> {
        let text = self.text.join(" ").trim().to_owned();
        if text.is_empty() {
            bail!("there is nothing to remember; give a sentence");
        }
        let first_words = text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        Ok(Claim {
            subject: self.subject.clone(),
            key: self.key.clone(),
            value: self.value.clone(),
            importance: unit_importance(self.importance)?,
            tags: self.tags.clone(),
            expires_at: self.expires,
            valid_from: Some(now()),
            ..Claim::new(self.memory_type, &self.category, self.title.clone().unwrap_or(first_words), text)
        })
    }
}
