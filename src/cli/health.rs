//! How the work goes, for `stats` and `doctor`: backlog, failures, the last success, spending, and the remedy.

use afterthought::config::Config;
use afterthought::store::{Database, Health, days_before};
use jiff::{Timestamp, Zoned};
use serde::Serialize;

use super::args::Context;
use super::printer::{DIM, counted};
use super::spend::{known_cost, prices};

/// Days over which spending is told.
const DAYS: u32 = 30;

/// What was spent, as far as prices are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spending {
    /// Dollars of today.
    pub today: f64,
    /// Dollars of the last thirty days, today included.
    pub thirty_days: f64,
    /// Calls of those days.
    pub calls: u64,
    /// Whether some of them were of models without a price.
    pub is_partial: bool,
}

/// Returns what was spent lately, by the prices in force.
pub fn spending(store: &Database, config: &Config) -> anyhow::Result<Spending> {
    let (prices, now) = (prices(config)?, Zoned::now());
    let spent = store.spending(days_before(now.date(), DAYS), now.time_zone())?;
    let of_today: Vec<_> = spent.iter().filter(|one| one.day == now.date()).cloned().collect();
    let (thirty_days, is_partial) = known_cost(&prices, &spent);
    let calls = spent.iter().map(|one| one.calls).sum();
    Ok(Spending { today: known_cost(&prices, &of_today).0, thirty_days, calls, is_partial })
}

impl Spending {
    pub fn spelled(&self) -> String {
        let partial = if self.is_partial { ", without the models that have no price" } else { "" };
        format!(
            "${:.4} today, ${:.4} in {DAYS} days for {}{partial}",
            self.today,
            self.thirty_days,
            counted(self.calls, "call")
        )
    }
}

/// Returns what has yet to be done, and what does it.
pub fn backlog(health: &Health) -> String {
    let parts = [
        (health.jobs_waiting, "waiting"),
        (health.jobs_running, "under way"),
        (health.windows_open, "begun"),
        (health.windows_unwritten, "to be written"),
    ];
    if health.backlog() == 0 {
        return "nothing".to_owned();
    }
    let word = |place: usize| if place < 2 { "job" } else { "window" };
    let told = parts.into_iter().enumerate().filter(|(_, (count, _))| *count > 0);
    let told: Vec<String> =
        told.map(|(place, (count, what))| format!("{} {what}", counted(count, word(place)))).collect();
    let mut remedies = Vec::new();
    if health.jobs_waiting > 0 {
        remedies.push("`afterthought runs work` does them now");
    }
    if health.windows_open + health.windows_unwritten > 0 {
        remedies.push("the next `run` over their logs goes on with them");
    }
    [vec![told.join(", ")], remedies.into_iter().map(str::to_owned).collect()].concat().join("; ")
}

/// Returns what failed, and the remedy.
pub fn failures(health: &Health) -> String {
    let mut told = Vec::new();
    if health.windows_failed > 0 {
        told.push(counted(health.windows_failed, "window"));
    }
    if health.jobs_failed > 0 {
        told.push(counted(health.jobs_failed, "job"));
    }
    let halted = health.halted.as_ref().map(|why| format!("; the last run stopped asking: {why}"));
    if told.is_empty() {
        return format!("none{}", halted.unwrap_or_default());
    }
    let remedy = "`afterthought runs queue` tells why, `afterthought runs retry` tries again";
    format!("{} failed; {remedy}{}", told.join(" and "), halted.unwrap_or_default())
}

/// Returns when a run last came to its end, and whether one failed since.
pub fn last_run(health: &Health, now: Timestamp) -> String {
    match (health.last_success, health.last_failure) {
        (None, None) => "none has ended yet; `afterthought run PATH`".to_owned(),
        (None, Some(failed)) => format!("none has ended well, the last failure was {} ago", age(failed, now)),
        (Some(good), Some(failed)) if failed > good => {
            format!("ended well {} ago, something failed {} ago", age(good, now), age(failed, now))
        }
        (Some(good), _) => format!("ended well {} ago", age(good, now)),
    }
}

/// Spells a time that has passed, in the unit that fits.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Prints how the work goes.
pub fn print(health: &Health, spending: Spending, context: &Context<'_>, now: Timestamp) -> anyhow::Result<()> {
    let lines = [
        ("backlog", backlog(health)),
        ("failures", failures(health)),
        ("last run", last_run(health, now)),
        ("spent", spending.spelled()),
    ];
    for (name, said) in lines {
        context.out.line(format_args!("{DIM}{name:>10}{DIM:#}  {said}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_unit_that_fits() {
        let at = |seconds| age(Timestamp::UNIX_EPOCH, Timestamp::from_second(seconds).unwrap());
        assert_eq!([at(5), at(600), at(7_200), at(900_000)], ["5 s", "10 min", "2 h", "10 d"]);
    }

    #[test]
    fn each_finding_comes_with_its_remedy() {
        let health = Health {
            jobs_waiting: 2,
            jobs_running: 1,
            jobs_failed: 1,
            windows_open: 1,
            windows_unwritten: 3,
            windows_failed: 2,
            last_success: Some(Timestamp::UNIX_EPOCH),
            last_failure: Timestamp::from_second(100).ok(),
            halted: Some("the key is not valid".into()),
        };
        assert_eq!(
            backlog(&health),
            "2 jobs waiting, 1 job under way, 1 window begun, 3 windows to be written; `afterthought runs work` does them \
             now; the next `run` over their logs goes on with them"
        );
        assert_eq!(
            failures(&health),
            "2 windows and 1 job failed; `afterthought runs queue` tells why, `afterthought runs retry` tries again; the \
             last run stopped asking: the key is not valid"
        );
        let now = Timestamp::from_second(300).unwrap();
        assert_eq!(last_run(&health, now), "ended well 5 min ago, something failed 3 min ago");
        let quiet = Health::default();
        assert_eq!([backlog(&quiet), failures(&quiet)], ["nothing", "none"]);
        assert_eq!(last_run(&quiet, now), "none has ended yet; `afterthought run PATH`");
    }
}
