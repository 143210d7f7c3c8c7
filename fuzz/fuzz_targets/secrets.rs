//! A secret inside arbitrary text: the secret is removed, and no remaining text is recognised as a secret again.
#![no_main]

use std::sync::LazyLock;

use afterthought::guard::Guard;
use libfuzzer_sys::fuzz_target;

static GUARD: LazyLock<Guard> = LazyLock::new(Guard::default);
/// Invented secrets, generated at run time so that secret scanners do not find them in this file.
static SECRETS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tail = |length: usize| "aB3dE5gH7jK9mN2pQ4rS6tV8wXyZ".chars().cycle().take(length).collect::<String>();
    let hex: String = "0123456789abcdef".chars().cycle().skip(3).take(40).collect();
    vec![
        format!("{}_{}", "ghp", tail(36)),
        format!("{}-{}", "glpat", tail(20)),
        format!("{}-ant-api03-{}AA", "sk", tail(93)),
        format!("{}-proj-{}", "sk", tail(74)),
        format!("{}_{hex}", "sbp"),
        format!("{}_{}", "npm", tail(36)),
        format!("{}_{}", "hf", tail(34)),
    ]
});

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let secret = &SECRETS[usize::from(*choice) % SECRETS.len()];
    let middle = text.floor_char_boundary(text.len() / 2);
    let (before, after) = text.split_at(middle);
    let whole = format!("{before} {secret} {after}");
    let (clean, found) = GUARD.redact(whole.clone());
    let clean = clean.into_inner();
    assert!(!clean.contains(secret.as_str()), "{found:?}");
    assert!(found.values().sum::<usize>() > 0, "what is taken out is counted");
    assert!(clean.len() <= 40 * whole.len() + 1_000, "{} of {} bytes", clean.len(), whole.len());
    let (again, _) = GUARD.redact(clean.clone());
    assert!(!again.into_inner().contains(secret.as_str()));
});
