//! Uses memories in a program: learns from a conversation, adds a memory by hand, searches, and builds a prompt.
//!
//! `cargo run --example library` needs no key and no file: the offline rules extract the memories, which are discarded
//! at the end.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use afterthought::api::{Author, ExtractionContext, Memories, MemoryChange, MemoryDraft, RetrievalOptions};
use afterthought::config::{Config, ExtractorChoice, Folders, Partial};
use afterthought::memory::Namespace;
use afterthought::search::brief::Format;
use afterthought::store::Filter;
use transcripts::Message;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    // `memory:` stores nothing permanently; a path, `sqlite:PATH` or `file:PATH` stores everything in one file.
    let folders = Folders { user_file: "settings.toml".into(), default_db: "memory:".into(), state: "state".into() };
    let flags = Partial { extractor: Some(ExtractorChoice::Rules), ..Partial::default() };
    let config = Config::load(&folders, Path::new("."), None, &|name| std::env::var(name).ok(), flags)?;
    let memories = Memories::builder().config(config).open()?;
    let shop: Namespace = "project/shop".parse()?;

    let conversation = vec![
        Message::user("I prefer tabs over spaces in all my code."),
        Message::assistant("Noted."),
        Message::user("We decided to use PostgreSQL for the shop. We always deploy on Mondays."),
    ];
    let context = ExtractionContext {
        namespace: Some(shop.clone()),
        conversation_id: Some("2026-03-01".to_owned()),
        ..ExtractionContext::default()
    };
    let learnt = memories.extract_memories(conversation, &context).await?;
    writeln!(out, "learnt {} memories:", learnt.memories.len())?;
    for memory in &learnt.memories {
        writeln!(out, "  {}/{}: {}", memory.claim.memory_type, memory.claim.category, memory.claim.content)?;
    }

    // A memory is added by hand; adding the same text again would only confirm it.
    let draft =
        MemoryDraft { category: "convention".to_owned(), ..MemoryDraft::new("Releases of the shop need two reviews.") };
    let kept = memories.remember(&draft)?;
    let id = kept.memory.map(|memory| memory.id).ok_or("it was rejected before")?;
    let change = MemoryChange {
        content: Some("Releases of the shop need three reviews.".to_owned()),
        ..MemoryChange::default()
    };
    memories.update_memory(id.as_str(), &change, Author::Person)?;

    let found = memories.retrieve_memories("how many reviews does a release need?", &RetrievalOptions::default())?;
    writeln!(out, "\nfound:")?;
    for hit in &found {
        writeln!(out, "  {:.2} {}", hit.score, hit.memory.claim.content)?;
    }

    let told = memories.memories_for_prompt(&shop, &RetrievalOptions::default())?;
    writeln!(out, "\n{}", memories.build_memory_prompt(&told, Format::Compact))?;

    let summary = memories.run_consolidation(Some(shop)).await?;
    writeln!(out, "consolidated {} memories by {}", summary.total.memories, summary.extractor)?;
    memories.delete_memories(std::slice::from_ref(&id))?;
    writeln!(out, "{} are left after one was forgotten", memories.count_memories(Filter::default())?)?;
    Ok(())
}
