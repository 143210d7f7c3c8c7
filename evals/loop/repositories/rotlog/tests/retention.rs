use rotlog::retention::{total_bytes, Archive};

#[test]
fn age_and_bytes() {
    let a = Archive { name: "x".into(), day: 20500, bytes: 10 };
    assert_eq!(a.age(20507), 7);
    assert_eq!(a.age(20499), 0);
    assert_eq!(total_bytes(&[a.clone(), a]), 20);
}
