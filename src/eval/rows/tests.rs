//! The form of the file.

use super::*;
use crate::eval::EvalError;

fn results() -> Results {
    let measures = vec![Defined::new("extraction", "recall", "what is there", Better::Higher, RowUnit::Share)];
    let row = Row {
        suite: "smoke".into(),
        kind: "extraction".into(),
        case: "smoke/a".into(),
        repeat: 1,
        measures: [("recall".to_owned(), Ratio::of(3, 4))].into(),
        cost: Spent { calls: 1, money: Some(0.5), ..Spent::default() },
        ..Row::default()
    };
    Results::new(Manifest::default(), measures, vec![row])
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/results.json");
    results().write(&file).unwrap();
    assert_eq!(Results::read(&file).unwrap(), results());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"numerator\": 3,"), "{text}");
}

#[test]
fn other_files_are_told_from_broken_and_later_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.json");
    let told = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let EvalError::Results { reason, .. } = Results::read(&file).unwrap_err() else { panic!("another error") };
        reason
    };
    assert!(told("not json").starts_with("it is no file of results"));
    assert!(told("{}").starts_with("it is no file of results; `afterthought eval SUITE --out FILE`"));
    let later = results().text().replace("\"version\": 1", "\"version\": 99");
    assert_eq!(told(&later), "it is of version 99, and this program knows 1; update afterthought");
    let mut undefined = results();
    undefined.rows[0].measures.insert("luck".into(), Ratio::of(1, 1));
    assert_eq!(told(&undefined.text()), "smoke/a carries the measure \"luck\", which the file does not define");
}

#[test]
fn values_follow_their_unit() {
    assert_eq!(Ratio::of(3, 4).plus(Ratio::of(1, 4)).value(RowUnit::Share), Some(0.5));
    assert_eq!(Ratio::of(3, 4).value(RowUnit::Count), Some(3.0));
    assert_eq!(Ratio::of(0, 0).value(RowUnit::Count), None);
    assert_eq!((harmonic(Some(0.5), Some(0.5)), harmonic(Some(0.0), Some(0.0))), (Some(0.5), Some(0.0)));
    assert_eq!(harmonic(None, Some(1.0)), None);
}

#[test]
fn money_that_is_not_known_stays_unknown() {
    let known = Spent { calls: 1, money: Some(1.0), ..Spent::default() };
    let unknown = Spent { calls: 1, ..Spent::default() };
    assert_eq!(known.plus(known).money, Some(2.0));
    assert_eq!(known.plus(unknown).money, None);
    assert_eq!(known.plus(Spent::default()).money, Some(1.0));
}
