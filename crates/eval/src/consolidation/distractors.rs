//! Invented memories to hide a case among: the usual kinds of sentences, about people and services that no case mentions.

use crate::tally::SplitMix;
use crate::vocabulary::MemoryType;

/// An invented memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distractor {
    /// Its type.
    pub memory_type: MemoryType,
    /// Its category.
    pub category: &'static str,
    /// The invented name that it is about.
    pub name: String,
    /// Its content.
    pub content: String,
    /// Its subject, key and value, if it has a key.
    pub attribute: Option<(String, String, String)>,
}

/// Seed that makes the distractors the same in every run.
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

/// Returns `count` distractors. The same count always yields the same ones, and no two are about the same name.
#[must_use]
pub fn distractors(count: usize) -> Vec<Distractor> {
    let mut random = SplitMix::new(SEED);
    (0..count).map(|index| distractor(index, &mut random)).collect()
}

fn distractor(index: usize, random: &mut SplitMix) -> Distractor {
    let kind = &KINDS[index % KINDS.len()];
    let name = name(index);
    let number = (1_000 + random.below(60_000)).to_string();
    let value = if kind.values.is_empty() { "" } else { kind.values[random.below(kind.values.len())] };
    let content = kind.text.replace("{}", &name).replace('#', &number).replace('@', value);
    let attribute = kind.key.map(|key| {
        let subject = name.to_lowercase();
        let key = format!("{subject}.{key}");
        (subject, key, if value.is_empty() { number } else { value.to_owned() })
    });
    Distractor { memory_type: kind.memory_type, category: kind.category, name, content, attribute }
}

/// Returns a name for each number; names beyond all combinations are numbered.
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

    #[test]
    fn distractors_are_the_same_each_time_and_all_different() {
        let once = distractors(300);
        assert_eq!(once, distractors(300));
        assert_eq!(once.iter().map(|one| &one.content).collect::<BTreeSet<_>>().len(), 300);
        assert_eq!((0..40_000).map(name).collect::<BTreeSet<_>>().len(), 40_000);
    }
}
