//! One opened log: decompressed, decoded lazily, with the little that is known of it from outside.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::archive::Archive;
use super::encoding;
use super::folder::Folder;
use crate::IngestError;

/// Bytes of a file that detection sees.
const HEAD_BYTES: usize = 256 << 10;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// An opened log.
pub struct Input {
    /// The path as given, or `-`; of a file in an archive, the archive's path with the file's name behind it.
    pub path: PathBuf,
    /// When the file was last changed; `None` for standard input.
    pub modified: Option<Timestamp>,
    reader: Box<dyn BufRead + Send>,
    head: Vec<u8>,
    /// The archive it stands in, and its name there.
    inside: Option<(Folder, String)>,
}

/// Opens `path`, or standard input for `-`, and looks at its first bytes.
///
/// Zstandard and gzip are decompressed; a UTF-8 byte-order mark is dropped and UTF-16 with a mark is converted.
///
/// # Errors
/// [`IngestError::Read`] if it cannot be opened, [`IngestError::Empty`] if there is nothing but white space in it.
pub fn open(path: &Path) -> Result<Input, IngestError> {
    let failed = |source| IngestError::Read { path: path.to_owned(), source };
    let (raw, modified): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path).map_err(failed)?;
        let modified = file.metadata().ok().and_then(|data| data.modified().ok());
        (Box::new(file), modified.and_then(|time| Timestamp::try_from(time).ok()))
    };
    start(path.to_owned(), raw, modified, None)
}

/// Opens the file called `name` in `archive`, which is what `folder` stands for.
pub(super) fn open_in_archive(folder: &Folder, archive: &Archive, name: &str) -> Result<Input, IngestError> {
    let path = folder.path().join(name);
    let (raw, modified) = archive.read(name).map_err(|source| IngestError::Read { path: path.clone(), source })?;
    start(path, raw, modified, Some((folder.clone(), name.to_owned())))
}

fn start(
    path: PathBuf,
    raw: Box<dyn Read + Send>,
    modified: Option<Timestamp>,
    inside: Option<(Folder, String)>,
) -> Result<Input, IngestError> {
    let mut decoded = decode(raw).and_then(|(mut reader, head)| {
        reader.fill_buf()?;
        Ok((reader, head))
    });
    match decoded.as_mut() {
        Ok((_, head)) if head.iter().all(u8::is_ascii_whitespace) && head.len() < HEAD_BYTES => {
            Err(IngestError::Empty { path })
        }
        _ => match decoded {
            Ok((reader, head)) => Ok(Input { path, modified, reader, head, inside }),
            Err(source) => Err(IngestError::Read { path, source }),
        },
    }
}

type Decoded = (Box<dyn BufRead + Send>, Vec<u8>);

fn decode(mut raw: Box<dyn Read + Send>) -> io::Result<Decoded> {
    let magic = take(&mut raw, 4)?;
    let (is_zstandard, is_gzip) = (magic == ZSTD_MAGIC, magic.starts_with(&GZIP_MAGIC));
    let raw = Cursor::new(magic).chain(raw);
    let mut plain: Box<dyn Read + Send> = if is_zstandard {
        Box::new(zstd::stream::read::Decoder::new(raw)?)
    } else if is_gzip {
        Box::new(flate2::read::MultiGzDecoder::new(raw))
    } else {
        Box::new(raw)
    };
    let mut head = take(&mut plain, HEAD_BYTES)?;
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        let mut rest = head;
        plain.read_to_end(&mut rest)?;
        let text = utf16(&rest).into_bytes();
        let head = text[..text.len().min(HEAD_BYTES)].to_vec();
        return Ok((Box::new(Cursor::new(text)), head));
    }
    if head.starts_with(BOM) {
        head.drain(..BOM.len());
    }
    Ok((buffered(head.clone(), plain), head))
}

fn buffered(head: Vec<u8>, rest: Box<dyn Read + Send>) -> Box<dyn BufRead + Send> {
    let chained: Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read + Send>>> =
        Cursor::new(head).chain(BufReader::with_capacity(64 << 10, rest));
    Box::new(chained)
}

fn take(reader: &mut dyn Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn utf16(bytes: &[u8]) -> String {
    let unit = if bytes[0] == 0xFF { u16::from_le_bytes } else { u16::from_be_bytes };
    let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

impl Input {
    /// Returns an input over `text`, as if it stood in a file called `name`.
    #[must_use]
    pub fn from_text(name: &str, text: &str) -> Self {
        let (reader, head) = decode(Box::new(Cursor::new(text.as_bytes().to_vec()))).expect("memory can be read");
        Self { path: name.into(), modified: None, reader, head, inside: None }
    }

    /// Returns an input over `bytes`, which may be compressed, as if they stood in a file called `name`.
    ///
    /// # Errors
    /// As [`open`].
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, IngestError> {
        start(name.into(), Box::new(Cursor::new(bytes)), None, None)
    }

    /// Opens the file called `name` in the same directory or archive, e.g. one that holds the title; `None` if there
    /// is none.
    #[must_use]
    pub fn sibling(&self, name: &str) -> Option<Self> {
        match &self.inside {
            Some((folder, own)) => {
                let beside =
                    own.rsplit_once('/').map_or_else(|| name.to_owned(), |(parent, _)| format!("{parent}/{name}"));
                folder.open(&beside).ok()
            }
            None => Folder::directory(self.path.parent()?).open(name).ok(),
        }
    }

    /// Returns the directory or archive in which it stands, and what stands before its own name there: nothing, or
    /// folders and a `/`. `None` for standard input.
    #[must_use]
    pub fn place(&self) -> Option<(Folder, String)> {
        match &self.inside {
            Some((folder, own)) => {
                let parent = own.rfind('/').map_or("", |end| &own[..=end]);
                Some((folder.clone(), parent.to_owned()))
            }
            None if self.path == Path::new("-") => None,
            None => {
                let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
                Some((Folder::directory(parent.unwrap_or(Path::new("."))), String::new()))
            }
        }
    }

    /// Returns the names of all files in the folder called `name` beside this file, e.g. one that holds newer logs.
    #[must_use]
    pub fn names_beside(&self, name: &str) -> Vec<String> {
        let Some((folder, parent)) = self.place() else { return Vec::new() };
        if !self.is_in_archive() {
            return Folder::directory(&folder.path().join(name)).all_files();
        }
        let prefix = format!("{parent}{name}/");
        folder.all_files().iter().filter_map(|file| Some(file.strip_prefix(&prefix)?.to_owned())).collect()
    }

    /// Returns the names of the other files in the same directory or archive, sorted; none for standard input.
    #[must_use]
    pub fn siblings(&self) -> Vec<String> {
        let own = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((folder, parent)) = self.place() else { return Vec::new() };
        let names = folder.files(parent.trim_end_matches('/')).into_iter();
        names.filter_map(|name| name.rsplit('/').next().map(str::to_owned)).filter(|name| *name != own).collect()
    }

    /// Whether it stands in an archive, so that no path leads to it.
    #[must_use]
    pub fn is_in_archive(&self) -> bool {
        self.inside.is_some()
    }

    /// Returns the decoded start of the file, up to 256 KiB; invalid UTF-8 becomes U+FFFD.
    #[must_use]
    pub fn head(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.head)
    }

    /// Whether [`Input::head`] is the whole file.
    #[must_use]
    pub fn head_is_all(&self) -> bool {
        self.head.len() < HEAD_BYTES - BOM.len()
    }

    /// Returns the file's name without folders and extension, for identities and titles.
    #[must_use]
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the bytes, decompressed and without byte-order mark.
    #[must_use]
    pub fn into_reader(self) -> Box<dyn BufRead + Send> {
        self.reader
    }

    /// Reads everything as text, at most `limit` bytes; `None` if there is more than that.
    ///
    /// For formats in which nothing can be said before the end is seen; lines end in `\n` alone afterwards.
    /// Text that is no UTF-8 at all is taken for Windows-1252.
    ///
    /// # Errors
    /// [`IngestError::Read`].
    pub fn into_text(self, limit: usize) -> Result<Option<String>, IngestError> {
        let mut bytes = Vec::new();
        let path = self.path;
        self.reader
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| IngestError::Read { path, source })?;
        if bytes.len() > limit {
            return Ok(None);
        }
        Ok(Some(encoding::decoded(bytes).replace("\r\n", "\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn compressed_files_read_like_plain_ones() {
        let folder = tempfile::tempdir().unwrap();
        let text = "{\"a\":1}\n".repeat(9);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        let forms = [
            ("a.jsonl", text.clone().into_bytes()),
            ("a.jsonl.gz", gzip.finish().unwrap()),
            ("a.jsonl.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ];
        for (name, bytes) in forms {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(open(&path).unwrap().into_text(1_000).unwrap(), Some(text.clone()), "{name}");
        }
    }
}
