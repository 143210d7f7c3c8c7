//! Invented memories to bury a case among: the same kinds of sentences, about people and components that no case knows.

use jiff::{Timestamp, ToSpan as _};

use crate::eval::interval::SplitMix;
use crate::guard::Guard;
use crate::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryType, Namespace};
use crate::store::{Store, StoreError};
use transcripts::MessageTime;

/// Where distractors come from.
pub const SOURCE: &str = "eval:distractor";

/// Makes the distractors the same in every run.
const SEED: u64 = 0x0dd5_eed5_0fd1_57ac;

/// Invented names are put together from these.
const FIRST: &[&str] = &["Zor", "Quen", "Vax", "Myr", "Thul", "Jex", "Wob", "Yss", "Krel", "Ombr", "Fiz", "Ghal"];
const SECOND: &[&str] = &["ava", "imu", "ode", "uki", "eshi", "ora", "ylo", "anto", "ibe", "umbo"];
const THIRD: &[&str] = &["x", "dur", "lith", "nok", "rax", "vent", "zim", "pha", "quil", "tross", "mek", "gorn"];

/// A kind of sentence: `{}` is the name, `#` a number, `@` one of the values.
struct Kind {
    text: &'static str,
    category: &'static str,
    memory_type: MemoryType,
    /// Last part of the key, where it has one.
    key: Option<&'static str>,
    values: &'static [&'static str],
}

const fn fact(text: &'static str, key: Option<&'static str>, values: &'static [&'static str]) -> Kind {
    Kind { text, category: "fact", memory_type: MemoryType::Semantic, key, values }
}

const fn other(
    text: &'static str,
    category: &'static str,
    memory_type: MemoryType,
    values: &'static [&'static str],
) -> Kind {
    Kind { text, category, memory_type, key: None, values }
}

const TOWNS: &[&str] = &["Tarvelo", "Ostrimont", "Belquay", "Nordhaven-on-Lisk", "Pelagra", "Quisto", "Marrowdale"];
const DAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
const TOOLS: &[&str] = &["Wexler", "Pomdrift", "Calyx", "Trunnion", "Skarn", "Ferrule"];

/// What distractors say.
const KINDS: &[Kind] = &[
    fact("{} lives in @.", Some("residence"), TOWNS),
    fact("The service {} listens on port #.", Some("port"), &[]),
    fact("The nightly job {} keeps its backups for # days.", None, &[]),
    fact("{} meets the harbour choir on @ evenings.", Some("rehearsal"), DAYS),
    other("{} prefers @ to spreadsheets.", "preference", MemoryType::Semantic, TOOLS),
    other("The team behind {} decided to build with @.", "decision", MemoryType::Semantic, TOOLS),
    other(
        "To restart {}, drain the queue, wait # seconds and run its health check.",
        "workflow",
        MemoryType::Procedural,
        &[],
    ),
    other("On a visit to @ {} repaired # lanterns.", "note", MemoryType::Episodic, TOWNS),
    fact("{} 住在 @。", Some("residence"), &["青柘镇", "临洙", "北菏湾", "望岚坡", "石楠里"]),
    fact("服务 {} 使用端口 #。", Some("port"), &[]),
    other("{} 更喜欢用 @ 记笔记。", "preference", MemoryType::Semantic, TOOLS),
    other("{} 团队决定每周@发布。", "decision", MemoryType::Semantic, &["一", "二", "三", "四"]),
    fact("{} vive en @.", Some("residence"), &["Valdoria", "Puerto Brezo", "Almendral de Isca", "Ribera Honda"]),
    fact("El servicio {} guarda sus copias # días.", None, &[]),
    other("{} prefiere trabajar con @.", "preference", MemoryType::Semantic, TOOLS),
    fact("{} wohnt in @.", Some("residence"), &["Brunnfelden", "Ostersiel", "Kaltenmoor", "Wiesenquell"]),
    fact("Der Dienst {} lauscht auf Port #.", Some("port"), &[]),
    other("Das Team von {} hat sich für @ entschieden.", "decision", MemoryType::Semantic, TOOLS),
    fact("{}は@に住んでいる。", Some("residence"), &["碧ノ浦", "霧沢町", "北楢原"]),
    fact("{} 서비스는 포트 #번을 사용한다.", Some("port"), &[]),
];

/// Writes `count` distractors into `namespace`, all learnt and said at `at` or in the hours after it.
///
/// The same count always gives the same memories, and no two are about the same thing.
///
/// # Errors
/// [`StoreError`] if they cannot be written.
pub fn fill(store: &Store, namespace: &Namespace, count: usize, at: Timestamp) -> Result<(), StoreError> {
    if count == 0 {
        return Ok(());
    }
    let guard = Guard::default();
    let mut random = SplitMix::new(SEED);
    store.write(None, at, |writer| {
        for (index, hour) in (0..count).zip((0..8_000).cycle()) {
            let (claim, quote) = claim(index, &mut random);
            let said = at.checked_add(hour.hours()).unwrap_or(at);
            let evidence = Evidence {
                transcript: format!("{SOURCE}/{index}"),
                messages: vec!["1".to_owned()],
                content_hash: format!("{SOURCE}/{index}"),
                quote,
                speaker: None,
                said_at: Some(MessageTime::logged(said)),
            };
            let memory = Memory::new(claim, namespace.clone(), SOURCE, ExtractionMethod::Auto, at);
            writer.insert(&guard.redact(memory).0, &guard.redact(vec![evidence]).0)?;
        }
        Ok(())
    })
}

fn claim(index: usize, random: &mut SplitMix) -> (Claim, String) {
    let kind = &KINDS[index % KINDS.len()];
    let name = name(index);
    let number = (1_000 + random.below(60_000)).to_string();
    let value = if kind.values.is_empty() { "" } else { kind.values[random.below(kind.values.len())] };
    let content = kind.text.replace("{}", &name).replace('#', &number).replace('@', value);
    let mut claim = Claim::new(kind.memory_type, kind.category, &name, &content);
    claim.confidence = 0.85;
    if let Some(key) = kind.key {
        claim.subject = Some(name.to_lowercase());
        claim.key = Some(format!("{}.{key}", name.to_lowercase()));
        claim.value = Some(if value.is_empty() { number } else { value.to_owned() });
    }
    (claim, content)
}

/// Returns a name for each number; those beyond all combinations are numbered.
fn name(index: usize) -> String {
    let (rest, third) = (index / THIRD.len(), THIRD[index % THIRD.len()]);
    let (rest, second) = (rest / SECOND.len(), SECOND[rest % SECOND.len()]);
    let (rest, first) = (rest / FIRST.len(), FIRST[rest % FIRST.len()]);
    match rest {
        0 => format!("{first}{second}{third}"),
        more => {
            let tail = SECOND[more % SECOND.len()];
            let turn = more / SECOND.len();
            let last = if turn == 0 { String::new() } else { turn.to_string() };
            format!("{first}{second}{third}{tail}{last}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::{Filter, Order};

    #[test]
    fn distractors_are_the_same_each_time_and_none_is_told_twice() {
        let told = || {
            let store = Store::in_memory().unwrap();
            fill(&store, &Namespace::global(), 300, Timestamp::UNIX_EPOCH).unwrap();
            let all = store.list(&Filter::default(), Order::Id, 1_000, 0).unwrap();
            all.into_iter().map(|memory| memory.claim.content).collect::<Vec<_>>()
        };
        let once = told();
        assert_eq!(once, told());
        assert_eq!(once.iter().collect::<BTreeSet<_>>().len(), 300);
        assert_eq!((0..40_000).map(name).collect::<BTreeSet<_>>().len(), 40_000);
    }
}
