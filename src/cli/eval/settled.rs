//! What came of consolidation cases, on a terminal.

use std::fmt::Write as _;

use afterthought::consolidate::Decision;
use afterthought::eval::Measured;
use afterthought::eval::consolidation::{Good, Group, MEASURES, PairReport, Report, StreamReport};
use anstyle::Style;

use crate::cli::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted, one_line};

/// Cases with faults that are told of unless all are asked for.
const CASES: usize = 12;
/// Longest text that is told on one line, in characters.
const WIDTH: usize = 240;
/// What the tables of groups show.
const COLUMNS: [&str; 7] = ["accuracy", "all right", "false merges", "missed", "lost facts", "streams", "misplaced"];

pub(super) fn tell(report: &Report, out: &Printer) -> anyhow::Result<()> {
    let counts = &report.overall.counts;
    let among = match report.distractors {
        0 => String::new(),
        number => format!(", each among {}", counted(number as u64, "distractor")),
    };
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}: {} and {}{among}",
        report.extractor,
        counted(counts.pairs, "pair"),
        counted(counts.streams, "stream")
    ))?;
    cost(report, out)?;
    for split in &report.splits {
        out.line("")?;
        out.line(format_args!(
            "{BOLD}{}{BOLD:#}: {}, {}",
            split.name,
            counted(split.counts.pairs, "pair"),
            counted(split.counts.streams, "stream")
        ))?;
        measures(split, out)?;
        confusion(split, out)?;
    }
    for (name, groups) in
        [("language", &report.languages), ("hard kind", &report.hard), ("phenomenon", &report.phenomena)]
    {
        if name != "phenomenon" || out.is_verbose() {
            self::groups(name, groups, out)?;
        }
    }
    faults(report, out)
}

fn cost(report: &Report, out: &Printer) -> anyhow::Result<()> {
    let used = report.usage;
    if used.calls + used.failed_calls > 0 {
        let money = report.cost.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
        let each =
            report.calls_an_incoming().map_or_else(String::new, |each| format!(" ({each:.3} an incoming memory)"));
        out.line(format_args!(
            "{}{each}, {} prompt tokens, {} completion tokens{money}; {} failed",
            counted(used.calls, "call"),
            used.prompt_tokens,
            used.completion_tokens,
            report.failed_calls
        ))?;
    }
    let counts = &report.overall.counts;
    let retired = match report.distractors_retired {
        0 => String::new(),
        number => format!("; {REMOVED}{}{REMOVED:#} retired", counted(number, "distractor")),
    };
    let again = if counts.streams == 0 {
        String::new()
    } else {
        format!(
            "; a second run of the streams makes {} memories, changes {} and asks {} times",
            counts.growth, counts.changed_again, report.asked_again
        )
    };
    Ok(out.line(format_args!("{} arrived in {:.1} s{again}{retired}", report.incoming, report.seconds))?)
}

fn measures(split: &Group, out: &Printer) -> anyhow::Result<()> {
    for (measure, measured) in MEASURES.iter().zip(&split.measures) {
        let Some(found) = measured.value else { continue };
        let (value, style) = (number(measured, measure.good), style(found, measure.good));
        let bounds =
            measured.interval.map_or_else(String::new, |interval| format!("{:.3}–{:.3}", interval.low, interval.high));
        out.line(format_args!(
            "{:<18}{style}{value:>6}{style:#}  {DIM}{bounds:<15}{}{DIM:#}",
            measure.name, measure.about
        ))?;
    }
    Ok(())
}

fn number(measured: &Measured, good: Good) -> String {
    match (measured.value, good) {
        (None, _) => "–".to_owned(),
        (Some(value), Good::High | Good::Low) => format!("{value:.3}"),
        (Some(value), Good::None) => format!("{value:.0}"),
    }
}

fn style(value: f64, good: Good) -> Style {
    match good {
        Good::High if value >= 0.95 => ADDED,
        Good::High if value >= 0.8 => CHANGED,
        Good::Low if value <= 0.03 => ADDED,
        Good::Low if value <= 0.1 => CHANGED,
        Good::None if value < 0.5 => ADDED,
        Good::High | Good::Low | Good::None => REMOVED,
    }
}

fn confusion(split: &Group, out: &Printer) -> anyhow::Result<()> {
    if split.counts.confusion.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let names = Decision::ALL.iter().map(|decision| decision.as_str());
    let rows = split.counts.confusion.iter().map(|(expected, decided)| {
        let cells = names.clone().map(|name| decided.get(name).map_or_else(|| "·".to_owned(), u64::to_string));
        let mut row = vec![(*expected).to_owned()];
        row.extend(cells);
        row.try_into().unwrap_or_default()
    });
    let rows: Vec<[String; 7]> = rows.collect();
    Ok(out.table(["expected", "add", "skip", "merge", "refine", "contradict", "support"], rows)?)
}

fn groups(name: &str, groups: &[Group], out: &Printer) -> anyhow::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let cells = |group: &Group| {
        let mut row = vec![group.name.clone(), group.counts.pairs.to_string(), group.counts.streams.to_string()];
        row.extend(COLUMNS.iter().map(|column| {
            let measure = MEASURES.iter().zip(&group.measures).find(|(measure, _)| measure.name == *column);
            measure.map_or_else(String::new, |(measure, measured)| number(measured, measure.good))
        }));
        row.try_into().unwrap_or_default()
    };
    let [one, two, three, four, five, six, seven] = COLUMNS;
    let header = [name, "pairs", "streams", one, two, three, four, five, six, seven];
    let rows: Vec<[String; 10]> = groups.iter().map(cells).collect();
    Ok(out.table(header, rows)?)
}

/// Tells of cases in which something went wrong, the worst first.
fn faults(report: &Report, out: &Printer) -> anyhow::Result<()> {
    let mut pairs: Vec<&PairReport> = report.pairs.iter().filter(|pair| !pair.faults.is_empty()).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.faults.iter().max().copied()));
    let mut streams: Vec<&StreamReport> =
        report.streams.iter().filter(|stream| !stream.exact || stream.growth > 0).collect();
    streams.sort_by_key(|stream| std::cmp::Reverse(stream.faults.len()));
    let (all, shown) = (pairs.len() + streams.len(), if out.is_verbose() { usize::MAX } else { CASES });
    for pair in pairs.iter().take(shown) {
        tell_pair(pair, out)?;
    }
    for stream in streams.iter().take(shown) {
        tell_stream(stream, out)?;
    }
    let left = all - pairs.len().min(shown) - streams.len().min(shown);
    if left > 0 {
        out.note(format_args!("{left} more cases have faults; -v tells all"));
    }
    Ok(())
}

fn tell_pair(pair: &PairReport, out: &Printer) -> anyhow::Result<()> {
    let faults: Vec<&str> = pair.faults.iter().map(|fault| fault.as_str()).collect();
    out.line("")?;
    out.line(format_args!(
        "{BOLD}{}/{}{BOLD:#}  {REMOVED}{}{REMOVED:#}  {DIM}{}{DIM:#}",
        pair.split,
        pair.id,
        faults.join(", "),
        pair.phenomenon
    ))?;
    out.line(format_args!("  known     {}", one_line(&pair.known, WIDTH)))?;
    out.line(format_args!("  incoming  {}", one_line(&pair.incoming, WIDTH)))?;
    Ok(out.line(format_args!(
        "  expected {ADDED}{}{ADDED:#}, got {CHANGED}{}{CHANGED:#}: {}",
        pair.expected,
        pair.got,
        one_line(&pair.reason, WIDTH)
    ))?)
}

fn tell_stream(stream: &StreamReport, out: &Printer) -> anyhow::Result<()> {
    let mut faults = String::new();
    for one in &stream.faults {
        let mark = if faults.is_empty() { "" } else { ", " };
        write!(faults, "{mark}{} {}", one.event, one.fault.as_str())?;
    }
    if stream.growth > 0 {
        let mark = if faults.is_empty() { "" } else { ", " };
        write!(faults, "{mark}grows by {} in a second run", stream.growth)?;
    }
    out.line("")?;
    out.line(format_args!(
        "{BOLD}{}/{}{BOLD:#}  {REMOVED}{faults}{REMOVED:#}  {DIM}{}{DIM:#}",
        stream.split,
        stream.id,
        stream.phenomena.join(", ")
    ))?;
    for (id, said) in &stream.events {
        out.line(format_args!("  {id}: {}", one_line(said, WIDTH)))?;
    }
    out.line(format_args!("  expected {ADDED}{}{ADDED:#}, got {CHANGED}{}{CHANGED:#}", stream.expected, stream.got))?;
    for decided in &stream.decided {
        out.line(format_args!("  {DIM}{}{DIM:#}", one_line(decided, WIDTH)))?;
    }
    Ok(())
}
