//! `eval mine`: lets a person judge a random sample of their own memories, and reports the precision.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use afterthought_eval::wilson;
use anyhow::Context as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::api::{Memories, MemoryDetails, Order};
use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::list::Selection;
use crate::cli::printer::{BOLD, DIM, Printer, ask, counted, day, one_line};
use crate::memory::{ExtractionMethod, MemoryId};
use crate::private;

/// Judge a sample of your own memories
///
/// Draws extracted memories at random, shows each with its evidence, and asks whether it would help in a later
/// conversation, is worthless, or is wrong. At the end, shows the share of each answer with its 95 % confidence
/// interval, by kind and by extractor. Judgements are stored next to the database, with memory ids but without any
/// text. If you run the command again, it asks about other memories and counts all judgements. No data leaves the
/// machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought eval mine\n  afterthought eval mine -n 100 --namespace project/shop")]
pub(super) struct MineArgs {
    /// Draw this many memories
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    count: usize,
    /// Seed of the random sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    selection: Selection,
}

/// Number of memories that are read at a time while the sample is drawn.
const PAGE: usize = 1_000;

/// A judgement of one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Label {
    Helps,
    Worthless,
    Wrong,
}

impl Label {
    /// Reads the answer to a question, by its first letter or its word.
    fn read(answer: &str) -> Option<Self> {
        match answer {
            "h" | "helps" => Some(Self::Helps),
            "w" | "worthless" => Some(Self::Worthless),
            "x" | "wrong" => Some(Self::Wrong),
            _ => None,
        }
    }
}

/// One line of the file of judgements.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Judgement {
    memory: MemoryId,
    kind: String,
    extractor: String,
    label: Label,
    at: Timestamp,
}

pub(super) fn run(args: &MineArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let path = memories.config().db.value.with_added_extension("judgements.jsonl");
    let mut judgements = read(&path)?;
    let judged: BTreeSet<MemoryId> = judgements.iter().map(|one| one.memory.clone()).collect();
    let drawn = draw(&memories, args, context, &judged)?;
    if drawn.is_empty() && judgements.is_empty() {
        return Ok(context.out.nothing("no extracted memories to judge; run `afterthought run` to extract some"));
    }
    let mut file = private::append(&path).with_context(|| format!("cannot write {}", path.display()))?;
    for (number, id) in drawn.iter().enumerate() {
        let details = memories.details(&id.to_string())?;
        let kind = format!("{}/{}", details.memory.claim.memory_type, details.memory.claim.category);
        print_one(&details, &format!("{} of {}", number + 1, drawn.len()), context.out);
        let label = match answer()? {
            Answer::Label(label) => label,
            Answer::Skip => continue,
            Answer::Quit => break,
        };
        let extractor = extractor(&memories, &details);
        let judgement = Judgement { memory: id.clone(), kind, extractor, label, at: Timestamp::now() };
        // Each answer is written immediately, so that an interrupt loses none.
        writeln!(file, "{}", serde_json::to_string(&judgement)?)?;
        judgements.push(judgement);
    }
    report(&judgements, context.out)?;
    Ok(ExitStatus::Success)
}

/// Reads the judgements so far. If a memory was judged several times, the last judgement counts.
fn read(path: &Path) -> anyhow::Result<Vec<Judgement>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut by_memory = BTreeMap::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let wrong = || format!("{}:{}: this line is not a judgement; remove it", path.display(), number + 1);
        let judgement: Judgement = serde_json::from_str(&line?).with_context(wrong)?;
        by_memory.insert(judgement.memory.clone(), judgement);
    }
    Ok(by_memory.into_values().collect())
}

/// Draws memories that were extracted and not judged yet, each with equal probability.
fn draw(
    memories: &Memories,
    args: &MineArgs,
    context: &Context<'_>,
    judged: &BTreeSet<MemoryId>,
) -> anyhow::Result<Vec<MemoryId>> {
    let filter = args.selection.filter(context)?;
    // The memories with the smallest hashes are a random sample, and only those are kept in memory.
    let mut smallest: BinaryHeap<([u8; 32], MemoryId)> = BinaryHeap::new();
    for page in 0.. {
        let found = memories.list_memories(filter.clone(), Order::Created, PAGE, page * PAGE)?;
        let is_last = found.len() < PAGE;
        for memory in found {
            if memory.extraction_method != ExtractionMethod::Auto || judged.contains(&memory.id) {
                continue;
            }
            let hash: [u8; 32] = Sha256::digest(format!("{} {}", args.seed, memory.id)).into();
            smallest.push((hash, memory.id));
            if smallest.len() > args.count {
                smallest.pop();
            }
        }
        if is_last {
            break;
        }
    }
    Ok(smallest.into_sorted_vec().into_iter().map(|(_, id)| id).collect())
}

fn print_one(details: &MemoryDetails, position: &str, out: &Printer) {
    let memory = &details.memory;
    let claim = &memory.claim;
    let (kind, category) = (claim.memory_type, &claim.category);
    out.note("");
    out.note(format_args!("{DIM}{position}{DIM:#}  {BOLD}{}{BOLD:#}", one_line(&claim.content, 400)));
    let learnt = day(memory.created_at);
    out.note(format_args!(
        "  {DIM}{kind}/{category} · {} · learnt {learnt} · {}{DIM:#}",
        memory.namespace,
        memory.id.short()
    ));
    for piece in details.evidence.iter().take(3) {
        let who = piece.speaker.as_deref().unwrap_or("user");
        out.note(format_args!(
            "  “{}” {DIM}{who} · {}{DIM:#}",
            one_line(&piece.quote, 400),
            one_line(&piece.transcript, 80)
        ));
    }
}

/// An answer to the question about a memory.
enum Answer {
    Label(Label),
    Skip,
    Quit,
}

/// Repeats the question until there is an answer.
fn answer() -> anyhow::Result<Answer> {
    loop {
        let answer = ask("(h)elps, (w)orthless, (x) wrong, (s)kip, (q)uit?")?;
        match answer.as_str() {
            "" | "q" | "quit" => return Ok(Answer::Quit),
            "s" | "skip" => return Ok(Answer::Skip),
            _ => {}
        }
        if let Some(label) = Label::read(&answer) {
            return Ok(Answer::Label(label));
        }
    }
}

/// Returns the extractor of the run that added a memory.
fn extractor(memories: &Memories, details: &MemoryDetails) -> String {
    let run = details.history.first().and_then(|entry| entry.run.as_ref());
    let summary = run.and_then(|run| memories.run(&run.to_string()).ok()?.summary);
    let name = summary.as_ref().and_then(|summary| summary["extractor"].as_str());
    name.unwrap_or("unknown").to_owned()
}

/// The judgements of one group of memories.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Shares {
    judged: u32,
    helps: u32,
    worthless: u32,
    wrong: u32,
}

impl Shares {
    fn of<'j>(judgements: impl Iterator<Item = &'j Judgement>) -> Self {
        judgements.fold(Self::default(), |mut shares, one| {
            shares.judged += 1;
            *match one.label {
                Label::Helps => &mut shares.helps,
                Label::Worthless => &mut shares.worthless,
                Label::Wrong => &mut shares.wrong,
            } += 1;
            shares
        })
    }

    fn row(&self, name: &str) -> [String; 5] {
        let cell = |count| {
            let (low, high) = interval(count, self.judged);
            let percent = |share: f64| format!("{:.0}", share * 100.0);
            let share = percent(f64::from(count) / f64::from(self.judged.max(1)));
            format!("{share} % ({}–{})", percent(low), percent(high))
        };
        [name.to_owned(), self.judged.to_string(), cell(self.helps), cell(self.worthless), cell(self.wrong)]
    }
}

/// Returns the 95 % confidence interval of the share `count` of `total`.
fn interval(count: u32, total: u32) -> (f64, f64) {
    wilson(f64::from(count) / f64::from(total.max(1)), f64::from(total))
}

fn report(judgements: &[Judgement], out: &Printer) -> anyhow::Result<()> {
    if judgements.is_empty() {
        out.note("nothing was judged");
        return Ok(());
    }
    let by = |field: fn(&Judgement) -> &String| {
        let names: BTreeSet<&String> = judgements.iter().map(field).collect();
        let shares = |name: &String| Shares::of(judgements.iter().filter(|one| field(one) == name));
        names.into_iter().map(|name| (name.clone(), shares(name))).collect::<BTreeMap<_, _>>()
    };
    let all = Shares::of(judgements.iter());
    let (kinds, extractors) = (by(|one| &one.kind), by(|one| &one.extractor));
    let wrong: Vec<&MemoryId> =
        judgements.iter().filter(|one| one.label == Label::Wrong).map(|one| &one.memory).collect();
    if out.is_json() {
        let report = serde_json::json!({"all": all, "kinds": kinds, "extractors": extractors, "wrong": wrong});
        return Ok(out.json(&report)?);
    }
    let rows = [("all".to_owned(), all)].into_iter().chain(kinds).chain(extractors);
    let rows = rows.map(|(name, shares)| (shares.row(&name), shares)).collect::<Vec<_>>();
    // A category is mentioned only if even the upper end of the interval indicates that most of its memories do not
    // help.
    let poor: Vec<String> = rows
        .iter()
        .filter(|(_, shares)| interval(shares.helps, shares.judged).1 < 0.5)
        .filter_map(|(row, _)| row[0].split_once('/').map(|(_, category)| format!("`{category}`")))
        .collect();
    out.line("")?;
    let header = ["memories", "judged", "help", "are worthless", "are wrong"];
    out.table(header, rows.into_iter().map(|(row, _)| row))?;
    out.note(format_args!("{DIM}in brackets: the 95 % confidence interval, in per cent{DIM:#}"));
    if !wrong.is_empty() {
        let ids: Vec<&str> = wrong.iter().map(|id| id.short()).collect();
        out.note(format_args!(
            "{}; remove with `afterthought memory forget {}`",
            counted(wrong.len(), "wrong memory"),
            ids.join(" ")
        ));
    }
    if !poor.is_empty() {
        out.note(format_args!(
            "most memories of {} do not help; to turn a category off, omit it from the setting `categories`",
            poor.join(", ")
        ));
    }
    Ok(())
}
