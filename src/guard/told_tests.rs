//! Measures how many secrets the guard removes from texts by authors who knew neither the rules nor their tests, although the
//! classifier of secrets in sentences was trained on them.
//!
//! `cargo test --lib -- guard::told_tests --nocapture` prints the figures.

use std::path::Path;

use serde_json::Value;

use crate::guard::Guard;
use crate::guard::ordinary_tests::texts_below;

#[test]
fn secrets_told_by_other_authors_are_removed_as_often_as_before() {
    let mut files = Vec::new();
    texts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/guard/secrets"), &mut files);
    // A published package has no evaluations.
    if files.is_empty() {
        return;
    }
    let guard = Guard::default();
    let (mut removed, mut secrets, mut changed, mut others) = (0, 0, 0, 0);
    for line in files.iter().flat_map(|(_, text)| text.lines()) {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = line["text"].as_str().unwrap();
        let plain = text.replace(['⟦', '⟧'], "");
        let redacted = guard.redact(plain.clone()).0.into_inner();
        if let Some((start, end)) = text.find('⟦').zip(text.find('⟧')) {
            secrets += 1;
            let secret: Vec<char> = text[start + '⟦'.len_utf8()..end].chars().collect();
            // Eight characters in a row tell too much of a longer secret.
            let parts = secret.windows(secret.len().clamp(1, 8));
            removed += usize::from(!parts.map(String::from_iter).any(|part| redacted.contains(&part)));
        } else {
            others += 1;
            changed += usize::from(redacted != plain);
        }
    }
    println!("removed {removed} of {secrets} secrets, changed {changed} of {others} texts without one");
    assert!(secrets > 8_000 && others > 6_400);
    assert!(removed * 100 >= secrets * 65 && changed * 100 <= others, "{removed} of {secrets}, {changed} of {others}");
}
