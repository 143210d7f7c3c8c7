use rotlog::retention::{expired, Archive};

#[test]
fn nothing_older_stays() {
    let a = |n: &str, day| Archive { name: n.into(), day, bytes: 1 };
    let mut got: Vec<String> = expired(&[a("a", 100), a("b", 120), a("c", 101)], 150, 30).into_iter().map(|a| a.name).collect();
    got.sort();
    assert_eq!(got, ["a", "c"]);
    assert_eq!(expired(&[a("a", 1), a("b", 2)], 150, 30).len(), 2);
    assert_eq!(expired(&[], 150, 30).len(), 0);
}
