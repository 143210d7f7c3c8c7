//! Packs: files of memories with a name, a version and a hash, which somebody may sign and others import.
//!
//! ```text
//! first line: name, version, template ─▶ a line for each memory ─▶ last line: hash of all before it, signature of the hash
//! ```
//!
//! A signature has the format of `ssh-keygen -Y sign`, so people can use the keys that they already have. This program
//! never reads a private key. Only Ed25519 keys can be checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256, Sha512};
use transcripts::{Head, hex};

use super::ExportedRelation;
use crate::memory::{Claim, MemoryId};

/// The newest version of the file's structure that this program can read.
const STRUCTURE: u32 = 1;
/// Maximum size of a pack, in bytes.
pub(crate) const MAX_PACK_BYTES: usize = 64 << 20;
/// Maximum length of the name of a pack, in characters.
const MAX_NAME: usize = 64;
/// The purpose stated in a signature, so that no signature for another purpose is accepted.
pub(crate) const SIGNED_FOR: &str = "afterthought-pack";

/// Reasons why a pack cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The file is larger than any pack.
    #[error("it is larger than {} MiB", MAX_PACK_BYTES >> 20)]
    TooLarge,
    /// The last line is missing.
    #[error("it is incomplete, because its last line is missing; get the file again")]
    Incomplete,
    /// The content does not have the hash in the last line.
    #[error("it was changed or damaged after it was written; get the file again")]
    Changed,
    /// A line cannot be read.
    #[error("line {line} {fault}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The fault.
        fault: String,
    },
    /// A newer version of the program wrote the file.
    #[error("a newer version of afterthought wrote it; update afterthought")]
    Newer,
    /// The name of the pack is not valid.
    #[error("its name {name:?} is not valid; use at most {MAX_NAME} letters from a to z, digits and hyphens")]
    Name {
        /// The name.
        name: String,
    },
    /// The version is not valid.
    #[error("the version {version:?} is not valid; write it like 1.2.0")]
    Version {
        /// The version.
        version: String,
    },
    /// The signature does not belong to the content, or cannot be checked.
    #[error("its signature {fault}")]
    Signature {
        /// The fault.
        fault: &'static str,
    },
    /// The content contradicts an earlier import of the pack.
    #[error("{reason}")]
    Conflict {
        /// The contradiction, and what to do.
        reason: String,
    },
}

/// The version of a pack: three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct PackVersion([u32; 3]);

impl FromStr for PackVersion {
    type Err = PackError;
    fn from_str(text: &str) -> Result<Self, PackError> {
        let wrong = || PackError::Version { version: text.chars().take(MAX_NAME).collect() };
        let numbers: Vec<u32> = text
            .split('.')
            .map(|part| part.parse().ok().filter(|number: &u32| number.to_string() == part))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        Ok(Self(numbers.try_into().map_err(|_| wrong())?))
    }
}

impl TryFrom<String> for PackVersion {
    type Error = PackError;
    fn try_from(text: String) -> Result<Self, PackError> {
        text.parse()
    }
}

impl From<PackVersion> for String {
    fn from(version: PackVersion) -> Self {
        version.to_string()
    }
}

impl fmt::Display for PackVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Settings suited to the memories of a pack: their categories, and the instructions for extracting such memories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PackTemplate {
    /// The setting `categories`.
    pub(crate) categories: Vec<String>,
    /// The setting `instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
}

/// The first line of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PackHead {
    /// The name.
    pub(crate) pack: String,
    /// The version.
    pub(crate) version: PackVersion,
    /// The version of the file's structure.
    structure: u32,
    /// When the pack was written.
    pub(crate) created: Timestamp,
    /// Number of memories.
    memories: usize,
    /// Settings that the pack suggests for its memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) template: Option<PackTemplate>,
}

/// A memory in a pack: its claim, without any trace of where it was learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PackMemory {
    /// The same id in all versions of the pack.
    pub(crate) id: MemoryId,
    /// The claim.
    #[serde(flatten)]
    pub(crate) claim: Claim,
    /// Links to other memories of the pack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) relations: Vec<ExportedRelation>,
}

/// The last line of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PackEnd {
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// A pack that was read and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pack {
    pub(crate) head: PackHead,
    pub(crate) memories: Vec<PackMemory>,
    /// The hash of the content.
    pub(crate) sha256: String,
    /// The fingerprint of the key with which the pack was signed.
    pub(crate) signer: Option<String>,
}

/// Whether a file starts like a pack.
pub(crate) fn is_pack(head: &Head<'_>) -> bool {
    let first: String = head.text.lines().next().unwrap_or_default().split_whitespace().collect();
    first.starts_with("{\"pack\":") && first.contains("\"structure\":")
}

/// Returns a name that is valid for a pack.
pub(crate) fn checked_name(name: &str) -> Result<String, PackError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_valid = !name.is_empty() && name.chars().count() <= MAX_NAME && name.chars().all(is_plain);
    if is_valid { Ok(name.to_owned()) } else { Err(PackError::Name { name: name.chars().take(MAX_NAME).collect() }) }
}

/// Returns the text of a pack without its last line.
pub(crate) fn written(
    name: &str,
    version: PackVersion,
    template: Option<PackTemplate>,
    memories: &[PackMemory],
    now: Timestamp,
) -> Result<String, PackError> {
    let head = PackHead {
        pack: checked_name(name)?,
        version,
        structure: STRUCTURE,
        created: now,
        memories: memories.len(),
        template,
    };
    let mut text = line(&head);
    memories.iter().for_each(|memory| text.push_str(&line(memory)));
    if text.len() > MAX_PACK_BYTES { Err(PackError::TooLarge) } else { Ok(text) }
}

/// Returns the last line of a pack.
pub(crate) fn end(text: &str, signature: Option<String>) -> String {
    line(&PackEnd { sha256: hash_of(text), signature })
}

/// Returns the hash that is signed.
pub(crate) fn hash_of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn line(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("the parts of a pack contain only values that JSON can represent");
    format!("{json}\n")
}

/// Reads a pack, and checks its hash and its signature.
pub(crate) fn read_pack(text: &str) -> Result<Pack, PackError> {
    let body = text.trim_end_matches(['\n', '\r', ' ']);
    let start = body.rfind('\n').map_or(0, |at| at + 1);
    let end: PackEnd = serde_json::from_str(&body[start..]).map_err(|_| PackError::Incomplete)?;
    let content = &body[..start];
    if hash_of(content) != end.sha256 {
        return Err(PackError::Changed);
    }
    let signer = end.signature.as_deref().map(|signature| signer_of(signature, &end.sha256)).transpose()?;
    let mut lines = (1..).zip(content.lines());
    let fault = |line: usize, fault: &str| PackError::Line { line, fault: fault.to_owned() };
    let first = lines.next().ok_or(PackError::Incomplete)?.1;
    let structure = serde_json::from_str::<serde_json::Value>(first).ok().and_then(|head| head["structure"].as_u64());
    if structure.is_some_and(|structure| structure > u64::from(STRUCTURE)) {
        return Err(PackError::Newer);
    }
    let head: PackHead =
        serde_json::from_str(first).map_err(|error| fault(1, &format!("is not the start of a pack: {error}")))?;
    checked_name(&head.pack)?;
    let (mut memories, mut places) = (Vec::new(), BTreeMap::new());
    for (number, line) in lines {
        let memory: PackMemory =
            serde_json::from_str(line).map_err(|error| fault(number, &format!("is not a memory: {error}")))?;
        if let Some(other) = places.insert(memory.id.clone(), number) {
            return Err(fault(number, &format!("has the same id as line {other}")));
        }
        memories.push(memory);
    }
    if memories.len() != head.memories {
        return Err(fault(1, &format!("declares {} memories, but there are {}", head.memories, memories.len())));
    }
    let ids: BTreeSet<&MemoryId> = places.keys().collect();
    for memory in &memories {
        if memory.relations.iter().any(|relation| !ids.contains(&relation.to)) {
            return Err(fault(places[&memory.id], "links to a memory that is not in the pack"));
        }
    }
    Ok(Pack { head, memories, sha256: end.sha256, signer })
}

/// Checks an SSH signature of `message`, and returns the fingerprint of its key as `ssh-keygen -l` prints it.
pub(crate) fn signer_of(armoured: &str, message: &str) -> Result<String, PackError> {
    let wrong = |fault| PackError::Signature { fault };
    let damaged = || wrong("is damaged");
    let encoded: String = armoured.lines().filter(|line| !line.starts_with("-----")).map(str::trim).collect();
    let blob = STANDARD.decode(encoded).map_err(|_| damaged())?;
    let rest = blob.strip_prefix(b"SSHSIG\x00\x00\x00\x01").ok_or_else(damaged)?;
    let (key, rest) = field(rest).ok_or_else(damaged)?;
    let (purpose, rest) = field(rest).ok_or_else(damaged)?;
    let (reserved, rest) = field(rest).ok_or_else(damaged)?;
    let (algorithm, rest) = field(rest).ok_or_else(damaged)?;
    let (signature, rest) = field(rest).ok_or_else(damaged)?;
    if !rest.is_empty() {
        return Err(damaged());
    }
    if purpose != SIGNED_FOR.as_bytes() {
        return Err(wrong("was made for another purpose"));
    }
    let of_ed25519 = |value| match field(value) {
        Some((b"ssh-ed25519", rest)) => field(rest).map(|(bytes, _)| bytes),
        Some(_) | None => None,
    };
    let (Some(public), Some(raw)) = (of_ed25519(key), of_ed25519(signature)) else {
        return Err(wrong("was not made with an Ed25519 key, and no other kind can be checked"));
    };
    let hash = match algorithm {
        b"sha512" => Sha512::digest(message.as_bytes()).to_vec(),
        b"sha256" => Sha256::digest(message.as_bytes()).to_vec(),
        _ => return Err(damaged()),
    };
    let mut signed = b"SSHSIG".to_vec();
    for part in [purpose, reserved, algorithm, &hash] {
        put_field(&mut signed, part);
    }
    let is_valid = UnparsedPublicKey::new(&ED25519, public).verify(&signed, raw).is_ok();
    if !is_valid {
        return Err(wrong("does not match its content"));
    }
    Ok(format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key))))
}

/// Splits off a part that follows its length, as in the format of SSH.
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn put_field(bytes: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).expect("the parts of a signature are short");
    bytes.extend(length.to_be_bytes());
    bytes.extend(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryType, RelationType};
    use ring::signature::{Ed25519KeyPair, KeyPair as _};

    fn memory(id: &str, content: &str) -> PackMemory {
        let claim = Claim::new(MemoryType::Semantic, "fact", "Title", content);
        PackMemory { id: MemoryId::from_stored(id), claim, relations: Vec::new() }
    }

    fn text(memories: &[PackMemory]) -> String {
        written("tea", "1.2.0".parse().unwrap(), None, memories, Timestamp::UNIX_EPOCH).unwrap()
    }

    /// Signs as `ssh-keygen` does.
    fn signature(message: &str, purpose: &str) -> String {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let part = |parts: &[&[u8]]| {
            let mut bytes = Vec::new();
            parts.iter().for_each(|part| put_field(&mut bytes, part));
            bytes
        };
        let key = part(&[b"ssh-ed25519", pair.public_key().as_ref()]);
        let hash = Sha512::digest(message.as_bytes()).to_vec();
        let signed = [b"SSHSIG".to_vec(), part(&[purpose.as_bytes(), b"", b"sha512", &hash])].concat();
        let raw = part(&[b"ssh-ed25519", pair.sign(&signed).as_ref()]);
        let blob =
            [b"SSHSIG\x00\x00\x00\x01".to_vec(), part(&[&key, purpose.as_bytes(), b"", b"sha512", &raw])].concat();
        format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", STANDARD.encode(blob))
    }

    #[test]
    fn a_pack_is_read_as_it_was_written_with_its_signer() {
        let mut two = [memory("a", "Tea is green."), memory("b", "Tea is black.")];
        two[0].relations = vec![ExportedRelation { to: two[1].id.clone(), relation_type: RelationType::Related }];
        let text = text(&two);
        let plain = read_pack(&format!("{text}{}", end(&text, None))).unwrap();
        assert_eq!((plain.head.pack.as_str(), plain.head.version.to_string().as_str()), ("tea", "1.2.0"));
        assert_eq!((plain.memories.as_slice(), plain.signer.as_deref()), (&two[..], None));
        let signed = end(&text, Some(signature(&hash_of(&text), SIGNED_FOR)));
        let signer = read_pack(&format!("{text}{signed}")).unwrap().signer.unwrap();
        assert!(signer.starts_with("SHA256:") && signer.len() == 50, "{signer}");
    }

    #[test]
    fn a_signature_for_other_content_or_another_purpose_is_refused() {
        let text = text(&[memory("a", "Tea is green.")]);
        let with = |signature: String| read_pack(&format!("{text}{}", end(&text, Some(signature)))).unwrap_err();
        assert!(with(signature("another message", SIGNED_FOR)).to_string().contains("does not match its content"));
        assert!(with(signature(&hash_of(&text), "git")).to_string().contains("made for another purpose"));
        let whole = signature(&hash_of(&text), SIGNED_FOR);
        for at in (30..whole.len() - 30).step_by(7) {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert!(matches!(with(String::from_utf8(bytes).unwrap()), PackError::Signature { .. }), "{at}");
        }
        for cut in [0, 40, 100, whole.len() - 40] {
            assert!(matches!(with(whole[..cut].to_owned()), PackError::Signature { .. }), "{cut}");
        }
    }

    #[test]
    fn a_bad_pack_is_refused_with_its_fault() {
        let good = text(&[memory("a", "Tea is green."), memory("b", "Tea is black.")]);
        let read = |text: &str| read_pack(&format!("{text}{}", end(text, None))).unwrap_err().to_string();
        // Cut off anywhere, it is never read as a smaller pack.
        let whole = format!("{good}{}", end(&good, None));
        for cut in 0..whole.trim_end().len() {
            assert!(read_pack(&whole[..cut]).is_err(), "{cut}");
        }
        assert_eq!(read_pack(&whole.replace("green", "white")), Err(PackError::Changed));
        assert!(read(&good.replace("\"id\":\"b\"", "\"id\":\"a\"")).contains("line 3 has the same id as line 2"));
        assert!(read(&good.replace("\"memories\":2", "\"memories\":3")).contains("declares 3 memories"));
        assert!(read(&good.replace("\"structure\":1", "\"structure\":2")).contains("newer version"));
        assert!(read(&good.replace("\"pack\":\"tea\"", "\"pack\":\"../tea\"")).contains("\"../tea\" is not valid"));
        for version in ["1.2", "1.2.0.1", "01.2.0", "1.2.x", "", "1.2.99999999999"] {
            assert!(read(&good.replace("1.2.0", version)).contains("write it like 1.2.0"), "{version}");
        }
        let mut astray = memory("a", "Tea is green.");
        let to = MemoryId::from_stored("elsewhere");
        astray.relations = vec![ExportedRelation { to, relation_type: RelationType::Related }];
        assert!(read(&text(&[astray])).contains("line 2 links to a memory that is not in the pack"));
        assert!(read("{\"pack\":1}\n").contains("line 1 is not the start of a pack"));
        assert!(
            read(&format!("{}nonsense\n", text(&[]).replace("\"memories\":0", "\"memories\":1")))
                .contains("line 2 is not a memory")
        );
    }
}
