//! What went wrong, case by case, the worst first.

use afterthought::eval::{CaseReport, Entry, Report, Standing};
use anstyle::Style;

use crate::cli::printer::{BOLD, CHANGED, DIM, Printer, REMOVED, one_line};

/// Cases that are told of unless all are asked for.
const CASES: usize = 10;
/// Lines of one case unless all are asked for.
const LINES: usize = 14;
/// Longest text that is told on one line, in characters.
const WIDTH: usize = 220;

pub(super) fn tell(report: &Report, out: &Printer) -> anyhow::Result<()> {
    for case in &report.cases {
        for flaw in &case.flaws {
            out.warn(format_args!("{}: {flaw}", case.case));
        }
        for note in &case.notes {
            out.warn(format_args!("{}: {note}", case.case));
        }
    }
    let mut told: Vec<(usize, &CaseReport)> = report.cases.iter().map(|case| (faults(case), case)).collect();
    told.retain(|(faults, _)| *faults > 0);
    told.sort_by_key(|(faults, _)| std::cmp::Reverse(*faults));
    let all = told.len();
    told.truncate(if out.is_verbose() { all } else { CASES });
    for (_, case) in &told {
        one(case, out)?;
    }
    if all > told.len() {
        out.note(format_args!("{} more cases have faults; -v tells all", all - told.len()));
    }
    Ok(())
}

/// Returns how many things went wrong, of those that count for recall or precision.
fn faults(case: &CaseReport) -> usize {
    case.missed.len() + case.memories.iter().filter(|entry| counts_against(entry)).count()
}

fn counts_against(entry: &Entry) -> bool {
    !matches!(entry.standing, Standing::Right | Standing::Optional) && entry.complaint().is_some()
}

fn one(case: &CaseReport, out: &Printer) -> anyhow::Result<()> {
    out.line("")?;
    out.line(format_args!("{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", case.case, one_line(&case.about, WIDTH)))?;
    let mut lines: Vec<(Standing, String)> = Vec::new();
    for missed in &case.missed {
        let text = one_line(&missed.text, WIDTH);
        lines.push((
            Standing::Distorted,
            format!("{CHANGED}missed{CHANGED:#} {} {}: {text}", missed.id, missed.importance),
        ));
    }
    for entry in &case.memories {
        if let Some(complaint) = entry.complaint() {
            let style = if counts_against(entry) { REMOVED } else { Style::new().dimmed() };
            let text = one_line(&entry.content, WIDTH);
            lines.push((entry.standing, format!("{style}{complaint}{style:#}: {text}{}", quote(entry))));
        }
    }
    lines.sort_by_key(|(standing, _)| *standing);
    let all = lines.len();
    let shown = if out.is_verbose() { all } else { LINES };
    for (_, line) in lines.into_iter().take(shown) {
        out.line(format_args!("  {line}"))?;
    }
    if all > shown {
        out.line(format_args!("  {DIM}and {} more; -v tells all{DIM:#}", all - shown))?;
    }
    Ok(())
}

fn quote(entry: &Entry) -> String {
    let said = entry.evidence.first().filter(|cited| cited.quote != entry.content);
    said.map_or_else(String::new, |cited| format!(" {DIM}“{}”{DIM:#}", one_line(&cited.quote, WIDTH / 2)))
}
