//! The entries of a zip file, each of which is read as if it were a file. Nothing is ever unpacked to disk.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use zip::{CompressionMethod, ZipArchive};

use crate::IngestError;

/// Most entries that are looked at.
const MAX_ENTRIES: usize = 200_000;
/// An entry of more than this many bytes must not have been compressed by more than [`MAX_RATIO`].
const RATIO_FREE_BYTES: u64 = 64 << 20;
/// No conversation compresses like this; a file that was made to fill the memory does.
const MAX_RATIO: u64 = 1_000;

/// A zip file whose list of entries has been read.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    entries: Vec<Entry>,
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
    /// [`IngestError::Read`] if it is damaged or holds too many entries.
    pub fn open(path: &Path) -> Result<Self, IngestError> {
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
        strip_common_folder(&mut entries);
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { path: path.to_owned(), entries })
    }

    /// Returns the path of the zip file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of the files in it, sorted; a folder that holds all of them is left out of the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Returns the names that begin with `prefix`, sorted; the others are not looked at.
    pub fn names_below(&self, prefix: &str) -> impl Iterator<Item = &str> {
        let start = self.entries.partition_point(|entry| entry.name.as_str() < prefix);
        self.entries[start..].iter().map(|entry| entry.name.as_str()).take_while(move |name| name.starts_with(prefix))
    }

    /// Opens the entry called `name` for reading, and tells when it was last changed.
    ///
    /// # Errors
    /// The system's, or one that says what is wrong with the entry.
    pub fn read(&self, name: &str) -> io::Result<(Box<dyn Read + Send>, Option<Timestamp>)> {
        let place = self.entries.partition_point(|entry| entry.name.as_str() < name);
        let entry = self.entries.get(place).filter(|entry| entry.name == name).ok_or(io::ErrorKind::NotFound)?;
        if entry.is_encrypted {
            return Err(io::Error::other("the entry is encrypted; unpack the archive and give the folder"));
        }
        if entry.size > RATIO_FREE_BYTES && entry.size / entry.packed.max(1) > MAX_RATIO {
            return Err(io::Error::other("the entry would unpack to far more than a log can hold"));
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(entry.start))?;
        let packed = BufReader::new(file.take(entry.packed));
        let plain: Box<dyn Read + Send> = match entry.method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
            other => return Err(io::Error::other(format!("the compression {other} is not supported"))),
        };
        let checked = Checked { inner: plain.take(entry.size + 1), crc: Crc::new(), size: entry.size, sum: entry.crc };
        Ok((Box::new(checked), entry.modified))
    }
}

/// Returns entry `index` unless it is a folder or a desktop's own note beside the files.
fn entry(zip: &mut ZipArchive<BufReader<File>>, index: usize) -> Result<Option<Entry>, zip::result::ZipError> {
    let file = zip.by_index_raw(index)?;
    let name = file.name()?.replace('\\', "/");
    if file.is_dir() || name.starts_with("__MACOSX/") || name.ends_with(".DS_Store") {
        return Ok(None);
    }
    let modified = file.last_modified().and_then(|at| {
        let civil = DateTime::new(
            i16::try_from(at.year()).ok()?,
            i8::try_from(at.month()).ok()?,
            i8::try_from(at.day()).ok()?,
            i8::try_from(at.hour()).ok()?,
            i8::try_from(at.minute()).ok()?,
            i8::try_from(at.second()).ok()?,
            0,
        );
        Offset::UTC.to_timestamp(civil.ok()?).ok()
    });
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

/// Takes the one folder in which everything stands out of the names, as packing a folder makes it.
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

/// Reads to the end and then compares length and checksum with what the archive says.
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
        #[expect(clippy::cast_possible_truncation, reason = "the checksum counts modulo 2^32")]
        let is_whole = self.crc.amount() == self.size as u32 && self.crc.sum() == self.sum;
        if ended && !is_whole {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the entry of the archive is damaged"));
        }
        Ok(count)
    }
}
