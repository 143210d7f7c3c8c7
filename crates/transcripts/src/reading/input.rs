//! One opened log, which is decompressed and decoded lazily, with information from outside its content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde_json::Value;
use zip::{CompressionMethod, ZipArchive};

use crate::{IngestError, json};

/// Maximum length of a line or array element, in bytes; a longer one is skipped and reported.
// Tool output includes whole files, and records contain images as base64, so real records may be tens of megabytes
// long.
pub(crate) const MAX_RECORD_BYTES: usize = 64 << 20;
/// Number of bytes at the start of a file that detection examines.
// The first lines of an agent's log may contain a whole system prompt, and detection needs the lines after it.
const HEAD_BYTES: usize = 256 << 10;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// An opened log.
pub struct Input {
    /// The path as specified by the user, or `-`. For a file in an archive: the path of the archive, followed by the
    /// name of the file.
    pub path: PathBuf,
    /// Modification time of the file; `None` for standard input.
    pub modified: Option<Timestamp>,
    reader: Box<dyn BufRead + Send>,
    head: Vec<u8>,
    /// The archive that contains the file, and the file's name in the archive.
    inside: Option<(Folder, String)>,
}

/// Opens `path`, or standard input for `-`, and examines its first bytes.
///
/// Zstandard and gzip are decompressed; a UTF-8 byte-order mark is removed, and UTF-16 with a mark is converted.
///
/// # Errors
/// [`IngestError::Read`] if the file cannot be opened, or [`IngestError::Empty`] if it contains only white space.
pub fn open(path: &Path) -> Result<Input, IngestError> {
    let failed = |source| IngestError::Read { path: path.to_owned(), source };
    let (raw, modified): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        // This is checked first, because opening a pipe waits for its writer.
        let kind = std::fs::metadata(path).map_err(failed)?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(failed(io::Error::other("it is not a file; pass - to read a pipe")));
        }
        let file = File::open(path).map_err(failed)?;
        let modified = file.metadata().ok().and_then(|data| data.modified().ok());
        (Box::new(file), modified.and_then(|time| Timestamp::try_from(time).ok()))
    };
    start(path.to_owned(), raw, modified, None)
}

fn start(
    path: PathBuf,
    raw: Box<dyn Read + Send>,
    modified: Option<Timestamp>,
    inside: Option<(Folder, String)>,
) -> Result<Input, IngestError> {
    let failed = |source| IngestError::Read { path: path.clone(), source };
    let (mut reader, head) = decode(raw).map_err(failed)?;
    // Damage is more likely after the head than in the head, and opening must report it.
    reader.fill_buf().map_err(failed)?;
    // Only the start of a longer file has been examined, and there may be text after the white space.
    if head.len() < HEAD_BYTES && head.iter().all(u8::is_ascii_whitespace) {
        return Err(IngestError::Empty { path });
    }
    Ok(Input { path, modified, reader, head, inside })
}

type Decoded = (Box<dyn BufRead + Send>, Vec<u8>);

fn decode(mut raw: Box<dyn Read + Send>) -> io::Result<Decoded> {
    let magic = take(&mut raw, 4)?;
    let (is_zstandard, is_gzip) = (magic == ZSTD_MAGIC, magic.starts_with(&GZIP_MAGIC));
    let raw = Cursor::new(magic).chain(raw);
    let packed = Arc::new(AtomicU64::new(0));
    let counted = |raw| Counted { inner: raw, bytes: Arc::clone(&packed) };
    let mut plain: Box<dyn Read + Send> = if is_zstandard {
        Box::new(Unpacked::new(zstd::stream::read::Decoder::new(counted(raw))?, &packed))
    // A log that is rotated or appended to often consists of several gzip streams.
    } else if is_gzip {
        Box::new(Unpacked::new(flate2::read::MultiGzDecoder::new(counted(raw)), &packed))
    } else {
        Box::new(raw)
    };
    let mut head = take(&mut plain, HEAD_BYTES)?;
    // Windows tools save text in UTF-16; such files are small enough to be converted at once.
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        let mut rest = head;
        plain.take(MAX_UTF16_BYTES + 1).read_to_end(&mut rest)?;
        if rest.len() as u64 > MAX_UTF16_BYTES {
            return Err(io::Error::other("the text is UTF-16 and longer than 256 MiB; convert it to UTF-8"));
        }
        let text = utf16(&rest).into_bytes();
        let head = text[..text.len().min(HEAD_BYTES)].to_vec();
        return Ok((Box::new(Cursor::new(text)), head));
    }
    if head.starts_with(BOM) {
        head.drain(..BOM.len());
    }
    Ok((buffered(head.clone(), plain), head))
}

/// Maximum size of a text in UTF-16, in bytes.
const MAX_UTF16_BYTES: u64 = 256 << 20;
/// Maximum decompressed size of a compressed file, or of everything that is read from an archive, in bytes.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// The reason why a compressed file is not read to its end, and what to do.
const TOO_LARGE: &str = "it would unpack to over 200 times its size or to over 4 GiB, which logs hardly ever do; if it is \
                         a log, unpack it and pass the unpacked file";

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// An entry of an archive, which ends with an error once all entries together are far larger than any log.
struct Limited<R> {
    inner: R,
    total: Arc<AtomicU64>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let before = self.total.fetch_add(read as u64, Ordering::Relaxed);
        if before + read as u64 > MAX_UNPACKED_BYTES { Err(io::Error::other(TOO_LARGE)) } else { Ok(read) }
    }
}

/// A compressed stream, which ends with an error once it becomes far larger than any log.
struct Unpacked<R> {
    inner: R,
    packed: Arc<AtomicU64>,
    plain: u64,
}

impl<R> Unpacked<R> {
    fn new(inner: R, packed: &Arc<AtomicU64>) -> Self {
        Self { inner, packed: Arc::clone(packed), plain: 0 }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.plain += read as u64;
        let packed = self.packed.load(Ordering::Relaxed).max(1);
        let is_bomb = self.plain > RATIO_FREE_BYTES && self.plain / packed > MAX_RATIO;
        if is_bomb || self.plain > MAX_UNPACKED_BYTES {
            return Err(io::Error::other(TOO_LARGE));
        }
        Ok(read)
    }
}

fn buffered(head: Vec<u8>, rest: Box<dyn Read + Send>) -> Box<dyn BufRead + Send> {
    Box::new(Cursor::new(head).chain(BufReader::with_capacity(64 << 10, rest)))
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
    /// Returns an input that reads `text`, as if it were in a file called `name`.
    #[must_use]
    pub fn from_text(name: &str, text: &str) -> Self {
        let (reader, head) = decode(Box::new(Cursor::new(text.as_bytes().to_vec()))).expect("memory can be read");
        Self { path: name.into(), modified: None, reader, head, inside: None }
    }

    /// Returns an input that reads `bytes`, which may be compressed, as if they were in a file called `name`.
    ///
    /// # Errors
    /// The same errors as [`open`].
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, IngestError> {
        start(name.into(), Box::new(Cursor::new(bytes)), None, None)
    }

    /// Opens another file, called `name`, in the same directory or archive, for example to read a title; `None` if
    /// it does not exist.
    pub(crate) fn sibling(&self, name: &str) -> Option<Self> {
        let (folder, parent) = self.place()?;
        folder.open(&format!("{parent}{name}")).ok()
    }

    /// Returns the JSON document in the file called `name` in the same directory or archive; null if there is none.
    pub(crate) fn sibling_json(&self, name: &str) -> Value {
        let text = self.sibling(name).and_then(|input| input.into_text(MAX_RECORD_BYTES).ok()?);
        text.and_then(|text| Some(json::parse(&text).ok()?.0)).unwrap_or_default()
    }

    /// Returns the directory or archive that contains the file, and the prefix of its name there: empty, or folders
    /// followed by a `/`. `None` for standard input.
    pub(crate) fn place(&self) -> Option<(Folder, String)> {
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

    /// Returns the names of all files in the folder called `name` next to this file, such as a folder that contains
    /// newer logs.
    pub(crate) fn names_beside(&self, name: &str) -> Vec<String> {
        let Some((folder, parent)) = self.place() else { return Vec::new() };
        if !self.is_in_archive() {
            return Folder::directory(&folder.path().join(name)).all_files();
        }
        let prefix = format!("{parent}{name}/");
        folder.all_files().iter().filter_map(|file| Some(file.strip_prefix(&prefix)?.to_owned())).collect()
    }

    /// Returns the names of the other files in the same directory or archive, sorted; none for standard input.
    pub(crate) fn siblings(&self) -> Vec<String> {
        let own = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((folder, parent)) = self.place() else { return Vec::new() };
        let names = folder.files(parent.trim_end_matches('/')).into_iter();
        names.filter_map(|name| name.rsplit('/').next().map(str::to_owned)).filter(|name| *name != own).collect()
    }

    /// Returns whether the file is in an archive, and therefore has no separate path.
    #[must_use]
    pub fn is_in_archive(&self) -> bool {
        self.inside.is_some()
    }

    /// Returns the decoded start of the file, up to 256 KiB; invalid UTF-8 becomes U+FFFD.
    #[must_use]
    pub fn head(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.head)
    }

    /// Returns whether [`Input::head`] contains the whole file.
    pub(crate) fn head_is_all(&self) -> bool {
        // A complete head is shorter if a byte-order mark was removed from it.
        self.head.len() < HEAD_BYTES - BOM.len()
    }

    /// Returns the file's name without folders and extension, for identities and titles.
    #[must_use]
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the bytes, decompressed and without a byte-order mark.
    pub(crate) fn into_reader(self) -> Box<dyn BufRead + Send> {
        self.reader
    }

    /// Reads everything as text, up to `limit` bytes; `None` if there is more.
    ///
    /// For formats that cannot be interpreted until the whole file has been read. In the result, lines end with `\n`
    /// only. Text that is not UTF-8 at all is treated as Windows-1252.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file cannot be read to its end.
    pub fn into_text(self, limit: usize) -> Result<Option<String>, IngestError> {
        let mut bytes = Vec::new();
        let path = self.path;
        self.reader
            // Reading one byte more than the limit shows whether there is more text.
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| IngestError::Read { path, source })?;
        if bytes.len() > limit {
            return Ok(None);
        }
        Ok(Some(decoded(bytes).replace("\r\n", "\n")))
    }
}

// A directory or an archive, whose files may form a log only in combination.

/// A directory, or a zip file that is read like a directory. Names are relative, with `/` between their parts.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    archive: Option<Arc<Archive>>,
}

impl Folder {
    /// Returns the directory at `path`, which may not exist.
    #[must_use]
    pub fn directory(path: &Path) -> Self {
        Self { path: path.to_owned(), archive: None }
    }

    /// Opens the zip file at `path`.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the zip file is damaged.
    pub fn archive(path: &Path) -> Result<Self, IngestError> {
        Ok(Self { path: path.to_owned(), archive: Some(Arc::new(Archive::open(path)?)) })
    }

    /// Returns the path of the directory or zip file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether there is a file or a folder called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        match &self.archive {
            Some(archive) => {
                let is_there = |prefix: &str| archive.names_below(prefix).next();
                is_there(name) == Some(name) || is_there(&format!("{name}/")).is_some()
            }
            None => self.on_disk(name).is_some_and(|path| path.exists()),
        }
    }

    /// Returns the folders directly in `name`, or in the folder itself if `name` is empty, sorted.
    pub(crate) fn folders(&self, name: &str) -> Vec<String> {
        self.children(name, true)
    }

    /// Returns the files directly in `name`, or in the folder itself if `name` is empty, sorted.
    #[must_use]
    pub(crate) fn files(&self, name: &str) -> Vec<String> {
        self.children(name, false)
    }

    /// Returns all files, in folders of any depth, sorted.
    #[must_use]
    pub fn all_files(&self) -> Vec<String> {
        let Some(archive) = &self.archive else {
            // The files are sorted, because file systems list a directory in different orders.
            let walk = walkdir::WalkDir::new(&self.path).sort_by_file_name().into_iter().flatten();
            return walk
                .filter(|entry| entry.file_type().is_file())
                .filter_map(|entry| Some(slashed(entry.path().strip_prefix(&self.path).ok()?)))
                .collect();
        };
        archive.entries.iter().map(|entry| entry.name.clone()).collect()
    }

    /// Opens the file called `name`.
    ///
    /// # Errors
    /// The same errors as [`open`]; [`IngestError::Read`] if the name leads out of the folder.
    pub fn open(&self, name: &str) -> Result<Input, IngestError> {
        let failed = |source| IngestError::Read { path: self.path.join(name), source };
        if let Some(archive) = &self.archive {
            let (raw, modified) = archive.read(name).map_err(failed)?;
            return start(self.path.join(name), raw, modified, Some((self.clone(), name.to_owned())));
        }
        open(&self.on_disk(name).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?)
    }

    fn children(&self, parent: &str, are_folders: bool) -> Vec<String> {
        let prefix = if parent.is_empty() { String::new() } else { format!("{parent}/") };
        let mut names: Vec<String> = match &self.archive {
            Some(archive) => {
                let below = archive.names_below(&prefix).filter_map(|name| name.strip_prefix(&prefix));
                below
                    .filter_map(|rest| match rest.split_once('/') {
                        Some((folder, _)) => are_folders.then_some(folder),
                        None => (!are_folders).then_some(rest),
                    })
                    .map(|name| format!("{prefix}{name}"))
                    .collect()
            }
            None => self
                .on_disk(parent)
                .and_then(|path| std::fs::read_dir(path).ok())
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| {
                    entry.file_type().is_ok_and(|kind| if are_folders { kind.is_dir() } else { kind.is_file() })
                })
                .map(|entry| format!("{prefix}{}", entry.file_name().to_string_lossy()))
                .collect(),
        };
        names.sort();
        // An archive does not list folders, which are only part of the names of files.
        names.dedup();
        names
    }

    /// Returns the path of `name` on disk, unless it leads out of the folder.
    fn on_disk(&self, name: &str) -> Option<PathBuf> {
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        inside.then(|| if name.is_empty() { self.path.clone() } else { self.path.join(name) })
    }
}

fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

// The entries of a zip file, each of which is read like a file. Nothing is unpacked to disk.

/// Maximum number of entries that are examined.
const MAX_ENTRIES: usize = 200_000;
/// Size in bytes above which the compression ratio of an entry must not exceed [`MAX_RATIO`].
const RATIO_FREE_BYTES: u64 = 64 << 20;
/// Conversations are never compressed this much, unlike files that were made to exhaust memory.
const MAX_RATIO: u64 = 200;

/// A zip file whose list of entries has been read.
#[derive(Debug)]
struct Archive {
    path: PathBuf,
    entries: Vec<Entry>,
    /// Number of bytes that compressed entries were unpacked to.
    unpacked: Arc<AtomicU64>,
}

/// One file in the archive.
#[derive(Debug)]
struct Entry {
    name: String,
    start: u64,
    packed: u64,
    size: u64,
    crc: u32,
    method: CompressionMethod,
    is_encrypted: bool,
    modified: Option<Timestamp>,
}

impl Archive {
    /// Reads the list of entries of the zip file at `path`.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the zip file is damaged or contains too many entries.
    pub(crate) fn open(path: &Path) -> Result<Self, IngestError> {
        let failed = |source| IngestError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| failed(io::Error::other(error)))?;
        if zip.len() > MAX_ENTRIES {
            let source = io::Error::other(format!("{} entries are over the limit of {MAX_ENTRIES}", zip.len()));
            return Err(failed(source));
        }
        let entries = (0..zip.len()).map(|index| entry(&mut zip, index)).collect::<Result<Vec<_>, _>>();
        let mut entries: Vec<_> =
            entries.map_err(|error| failed(io::Error::other(error)))?.into_iter().flatten().collect();
        // Packing a folder adds the folder's name to every entry, whereas the names of logs on disk lack it.
        strip_common_folder(&mut entries);
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { path: path.to_owned(), entries, unpacked: Arc::default() })
    }

    /// Returns the names that begin with `prefix`, sorted, without examining the others.
    pub(crate) fn names_below(&self, prefix: &str) -> impl Iterator<Item = &str> {
        let start = self.entries.partition_point(|entry| entry.name.as_str() < prefix);
        self.entries[start..].iter().map(|entry| entry.name.as_str()).take_while(move |name| name.starts_with(prefix))
    }

    /// Opens the entry called `name` for reading, with the time of its last change.
    ///
    /// # Errors
    /// The error of the operating system, or an error that describes the fault in the entry.
    pub(crate) fn read(&self, name: &str) -> io::Result<(Box<dyn Read + Send>, Option<Timestamp>)> {
        let place = self.entries.partition_point(|entry| entry.name.as_str() < name);
        let entry = self.entries.get(place).filter(|entry| entry.name == name).ok_or(io::ErrorKind::NotFound)?;
        if entry.is_encrypted {
            return Err(io::Error::other(
                "the entry is encrypted; unpack the archive and pass the unpacked folder instead",
            ));
        }
        if entry.size > RATIO_FREE_BYTES && entry.size / entry.packed.max(1) > MAX_RATIO {
            return Err(io::Error::other(TOO_LARGE));
        }
        // Each entry gets a separate file handle, so that several can be read at the same time.
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(entry.start))?;
        let packed = BufReader::new(file.take(entry.packed));
        let plain: Box<dyn Read + Send> = match entry.method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::Deflated => {
                Box::new(Limited { inner: DeflateDecoder::new(packed), total: Arc::clone(&self.unpacked) })
            }
            other => return Err(io::Error::other(format!("the compression method {other} is not supported"))),
        };
        // One byte more than the stated size is read, so that an entry that is larger than stated is detected as
        // damaged.
        let checked = Checked { inner: plain.take(entry.size + 1), crc: Crc::new(), size: entry.size, sum: entry.crc };
        Ok((Box::new(checked), entry.modified))
    }
}

/// Returns entry `index` unless it is a folder or a file that a desktop environment added.
fn entry(zip: &mut ZipArchive<BufReader<File>>, index: usize) -> Result<Option<Entry>, zip::result::ZipError> {
    // The entry is read raw, so that encrypted or unusually compressed entries are also listed. Such an entry fails
    // only when it is read.
    let file = zip.by_index_raw(index)?;
    // Contrary to the standard, some Windows programs write backslashes.
    let name = file.name()?.replace('\\', "/");
    // macOS adds its own metadata files to archives.
    if file.is_dir() || name.starts_with("__MACOSX/") || name.ends_with(".DS_Store") {
        return Ok(None);
    }
    // Archives contain local times without an offset; if they are treated as UTC, the error is less than a day.
    let modified = file.last_modified().and_then(|at| Offset::UTC.to_timestamp(DateTime::try_from(at).ok()?).ok());
    Ok(Some(Entry {
        start: file.data_start().unwrap_or_default(),
        packed: file.compressed_size(),
        size: file.size(),
        crc: file.crc32(),
        method: file.compression(),
        is_encrypted: file.encrypted(),
        modified,
        name,
    }))
}

/// Removes a folder that contains all entries from the names of the entries; such a folder results from packing a
/// folder.
fn strip_common_folder(entries: &mut [Entry]) {
    let common = |entries: &[Entry]| {
        let (folder, _) = entries.first()?.name.split_once('/')?;
        let folder = format!("{folder}/");
        entries.iter().all(|entry| entry.name.starts_with(&folder)).then_some(folder)
    };
    if let Some(folder) = common(entries) {
        for entry in entries {
            entry.name.drain(..folder.len());
        }
    }
}

/// At the end of the data, compares its length and checksum with the values in the archive.
struct Checked<R> {
    inner: R,
    crc: Crc,
    size: u64,
    sum: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.crc.update(&buffer[..count]);
        let ended = count == 0 && !buffer.is_empty();
        #[expect(clippy::cast_possible_truncation, reason = "the archive stores the size modulo 2^32")]
        let is_whole = self.crc.amount() == self.size as u32 && self.crc.sum() == self.sum;
        if ended && !is_whole {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the entry of the archive is damaged"));
        }
        Ok(count)
    }
}

// Converts bytes to text, for files that do not declare their encoding.

/// Decodes `bytes` as UTF-8, or as Windows-1252 if they contain no valid UTF-8 character beyond ASCII.
///
/// Damaged UTF-8 text keeps its valid characters, and U+FFFD replaces the damaged parts.
fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.as_bytes();
        let is_cut = error.utf8_error().error_len().is_none();
        // Old exports of Windows programs are in the Windows code page and do not declare it.
        let is_western = !is_cut && bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii());
        if is_western {
            encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        }
    })
}

/// The type of log at a path.
pub enum Logs {
    /// A file.
    File(Box<Input>),
    /// A directory or an archive.
    Folder(Folder),
}

impl Logs {
    /// Opens the file, directory or archive at `path`, or standard input for `-`.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the path cannot be opened, or [`IngestError::Empty`] for a file without content.
    pub fn open(path: &Path) -> Result<Self, IngestError> {
        if path.is_dir() {
            return Ok(Self::Folder(Folder::directory(path)));
        }
        let input = crate::reading::input::open(path)?;
        if path != Path::new("-") && input.head().starts_with("PK\u{3}\u{4}") {
            return Folder::archive(path).map(Self::Folder);
        }
        Ok(Self::File(Box::new(input)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_stream_that_unpacks_to_far_more_than_a_log_ends_with_an_error() {
        let zeros = || io::repeat(b' ').take(RATIO_FREE_BYTES * 2);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        io::copy(&mut zeros(), &mut gzip).unwrap();
        for packed in [gzip.finish().unwrap(), zstd::encode_all(zeros(), 1).unwrap()] {
            let (mut reader, _) = decode(Box::new(Cursor::new(packed))).unwrap();
            let error = io::copy(&mut reader, &mut io::sink()).unwrap_err();
            assert!(error.to_string().contains("unpack it and pass the unpacked file"), "{error}");
        }
    }

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

#[cfg(test)]
mod folder_tests {
    use super::*;
    use std::io::Write as _;

    fn packed(path: &Path, files: &[(&str, &[u8])]) {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
        for (name, bytes) in files {
            let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
            zip.start_file(*name, options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn an_archive_reads_like_the_folder_that_was_packed() {
        let place = tempfile::tempdir().unwrap();
        let files: [(&str, &[u8]); 3] =
            [("a.json", b"[1]"), ("general/2026-01-02.json", "é".as_bytes()), ("general/x/y", b"z")];
        for (name, bytes) in files {
            let path = place.path().join("plain").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let zipped = place.path().join("packed.zip");
        packed(&zipped, &files.map(|(name, bytes)| (name, bytes)));
        for folder in [Folder::directory(&place.path().join("plain")), Folder::archive(&zipped).unwrap()] {
            assert_eq!(folder.all_files(), ["a.json", "general/2026-01-02.json", "general/x/y"]);
            assert_eq!((folder.files(""), folder.folders("")), (vec!["a.json".to_owned()], vec!["general".to_owned()]));
            assert_eq!((folder.files("general").len(), folder.folders("general").len()), (1, 1));
            assert!(
                folder.has("general") && folder.has("a.json") && !folder.has("gen") && !folder.has("../plain/a.json")
            );
            let input = folder.open("general/2026-01-02.json").unwrap();
            assert_eq!(input.head(), "é");
            assert_eq!(input.sibling("x/y").unwrap().head(), "z");
            assert!(folder.open("../packed.zip").is_err());
        }
    }

    #[test]
    fn names_that_begin_alike_are_distinguished_in_an_archive() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("export.zip");
        packed(&path, &[("dev-2/1.json", b"a"), ("dev.json", b"b"), ("dev/1.json", b"c"), ("x", b"d")]);
        let folder = Folder::archive(&path).unwrap();
        assert_eq!(
            (folder.folders(""), folder.files("")),
            (vec!["dev".into(), "dev-2".into()], vec!["dev.json".into(), "x".into()])
        );
        assert_eq!(folder.files("dev"), ["dev/1.json"]);
        assert_eq!(
            ["dev", "dev.json", "dev-2", "de", "dev/1", "y"].map(|name| folder.has(name)),
            [true, true, true, false, false, false]
        );
        assert_eq!(["dev/1.json", "x"].map(|name| folder.open(name).unwrap().head().into_owned()), ["c", "d"]);
        assert!(folder.open("dev/1").is_err());
    }

    #[test]
    fn one_folder_around_everything_is_left_out_of_the_names() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("export.zip");
        packed(&path, &[("Export Jan/users.json", b"[]"), ("Export Jan/dev/1.json", b"[]"), ("__MACOSX/x", b"")]);
        assert_eq!(Folder::archive(&path).unwrap().all_files(), ["dev/1.json", "users.json"]);
    }

    #[test]
    fn a_damaged_entry_is_an_error_and_not_half_a_text() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("export.zip");
        let text: Vec<u8> = (0..40_000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        packed(&path, &[("a.bin", &text)]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100_000] ^= 0x55;
        std::fs::write(&path, bytes).unwrap();
        let folder = Folder::archive(&path).unwrap();
        let mut all = Vec::new();
        let read = folder.open("a.bin").and_then(|input| {
            input.into_reader().read_to_end(&mut all).map_err(|source| IngestError::Read { path, source })
        });
        assert!(read.is_err());
    }
}

#[cfg(test)]
mod encoding_tests {
    use super::*;

    #[test]
    fn text_that_is_no_utf_8_at_all_is_windows_1252() {
        let rows: [(&[u8], &str); 5] = [
            ("Luís: é — sim".as_bytes(), "Luís: é — sim"),
            (b"Lu\xEDs: \x93n\xE3o\x94 \x97 10 \x80", "Luís: “não” — 10 €"),
            (b"\xC3\xA9 and \xFF", "é and \u{fffd}"),
            (b"cut \xC3", "cut \u{fffd}"),
            (b"", ""),
        ];
        for (bytes, expected) in rows {
            assert_eq!(decoded(bytes.to_vec()), expected);
        }
    }
}
