//! Tests of false alarms of the guard in ordinary text: this project's own code, docs and fixtures, and the output of
//! tools.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::guard::{Guard, prose};

/// One false finding in this many bytes of ordinary text is tolerated.
const BYTES_PER_FALSE_FIND: usize = 100_000;

/// Files of this project that contain invented secrets on purpose.
const WITH_SECRETS: &[&str] =
    &["src/guard/", "evals/guard/", "tests/it/secrets.rs", "fixtures/", "fuzz/", "target/", ".git/"];

/// Secrets invented in this project's tests and recorded sessions, which are correctly found.
const MADE_UP: &[&str] =
    &["hunter2", "Maple9Syrup", "Tr0ub4dor", "Tern-4471", "abc123", "9c41f0aa", "f4kE0f4kE", "A1b2C3d4E5f6"];

pub(super) fn texts_below(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            texts_below(&path, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            found.push((path, text));
        }
    }
}

/// Returns what would be removed, with the row and the place of each finding.
fn finds(path: &Path, text: &str) -> Vec<String> {
    let mut found = Guard::default().find(text);
    found.extend(prose::find(text));
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let is_false =
        |found: &&crate::guard::scan::Found| !MADE_UP.iter().any(|made_up| text[found.range.clone()].contains(made_up));
    let reported = found.iter().filter(is_false).map(|found| {
        let (from, to) = (
            text.floor_char_boundary(found.range.start.saturating_sub(40)),
            text.floor_char_boundary(found.range.end.min(found.range.start + 80)),
        );
        format!("{} {}:{} {:?}", found.name, path.display(), line(found.range.start), &text[from..to])
    });
    reported.collect()
}

/// A generator with a fixed seed, so that the text is the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn of(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(alphabet[(self.next() >> 20) as usize % alphabet.len()])).collect()
    }
}

const HEX: &[u8] = b"0123456789abcdef";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORDS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// What tools print and files contain in addition to words: checksums, ids, pictures in base64, minified scripts,
/// paths, times.
fn machine_text(bytes: usize) -> String {
    let (mut random, mut out) = (Numbers(0x9E37_79B9_7F4A_7C15), String::new());
    while out.len() < bytes {
        let (short, sha, sum) = (random.of(HEX, 7), random.of(HEX, 40), random.of(HEX, 64));
        let (base, name) = (random.of(BASE64, 86), random.of(WORDS, 8));
        let ids = [8, 4, 4, 4, 12].map(|length| random.of(HEX, length)).join("-");
        let (number, small) = (random.next() % 1_000_000, random.next() % 60);
        let picture: String = (0..6).map(|_| random.of(BASE64, 76) + "\n").collect();
        writeln!(
            out,
            "[[package]]\nname = \"{name}\"\nversion = \"{small}.{}.{}\"\nchecksum = \"{sum}\"\n\n\
             \"node_modules/{name}\": {{ \"resolved\": \"https://registry.npmjs.org/{name}/-/{name}-1.2.{small}.tgz\", \"integrity\": \"sha512-{base}==\" }},\n\
             github.com/{name}/{name} v1.{small}.0 h1:{}=\n{sum}  {name}-{number}.tar.gz\n\
             commit {sha}\nMerge: {short} {}\nDate:   Mon Mar {} 10:{small:02}:00 2026 +0100\n\nindex {short}..{} 100644\n\
             image: registry.local/{name}@sha256:{sum}\nrequest_id={ids} trace={} user={ids} took {number}us\n\
             <img src=\"data:image/png;base64,{picture}\">\n\
             !function(e,t){{var n=e.{name},r=t[{small}];n.key=r.token,n.password=t.password||\"\",e.exports={{{name}:{number},a{short}:!0}}}}(this,{{}});\n\
             /home/ana/.cache/{name}/{sha}/target/debug/deps/lib{name}-{}.rlib\n\
             integrity=\"sha384-{}\" etag: W/\"{}\" Bearer realm=\"{name}\"\n\
             2026-03-01T10:{small:02}:00.{number:06}Z INFO {name}::token_bucket: refilled tokens={number} key={name}:{number}\n\
             order 2026-{number:06}, invoice RE-{number}, tracking 1Z{}, isbn 978-3-16-148410-{}, build 20260301.{small}\n",
            small + 1,
            small + 2,
            random.of(BASE64, 43),
            random.of(HEX, 7),
            small % 28 + 1,
            random.of(HEX, 7),
            random.of(HEX, 32),
            random.of(HEX, 16),
            random.of(BASE64, 64),
            random.of(HEX, 20),
            random.of(b"0123456789", 16),
            small % 10,
        )
        .expect("writing to a String cannot fail");
    }
    out
}

fn report(finds: &[String], bytes: usize) -> String {
    let thousandths = finds.len() * BYTES_PER_FALSE_FIND * 1000 / bytes.max(1);
    let per = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    format!("{} finds in {bytes} bytes of ordinary text, {per} in 100 KB\n{}", finds.len(), finds.join("\n"))
}

/// `ORDINARY_TEXT` may specify an additional folder, such as the sources of crates that Cargo stores, to measure text
/// that others wrote. A person has to decide how many of the findings there are real secrets.
#[test]
fn ordinary_text_passes_but_for_one_find_in_a_hundred_kilobytes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in ["src", "docs", "tests", "benches", "prompts", "evals", "fixtures"] {
        texts_below(&root.join(folder), &mut texts);
    }
    for file in ["README.md", "CHANGELOG.md", "Cargo.lock", "Cargo.toml", "justfile", "build.rs"] {
        texts.push((root.join(file), std::fs::read_to_string(root.join(file)).unwrap()));
    }
    if let Ok(folder) = std::env::var("ORDINARY_TEXT") {
        texts_below(Path::new(&folder), &mut texts);
    }
    let is_ordinary = |path: &Path| {
        let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        !WITH_SECRETS.iter().any(|part| path.starts_with(part))
    };
    texts.retain(|(path, _)| is_ordinary(path));
    let whole: usize = texts.iter().map(|(_, text)| text.len()).sum();
    texts.push((PathBuf::from("machine text"), machine_text(2_200_000_usize.saturating_sub(whole).max(200_000))));
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    let finds: Vec<String> = texts.iter().flat_map(|(path, text)| finds(path, text)).collect();
    println!("{}", report(&finds, bytes));
    assert!(bytes >= 2_000_000, "{bytes}");
    assert!(finds.len() * BYTES_PER_FALSE_FIND <= bytes, "{}", report(&finds, bytes));
}
