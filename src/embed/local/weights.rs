//! Reading numbers of a model from a safetensors file, only those that are asked for.
//!
//! The format is eight bytes with the length of a JSON header, the header, which names each tensor with its shape and
//! place, and the numbers. It is read here because what reads it elsewhere wants the whole file in memory, half of
//! which is a table of words of which a text has a few.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ndarray::{Array1, Array2};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// Longest header that is read; the format allows no more.
const LONGEST_HEADER: u64 = 100_000_000;
/// Bytes of a number.
const WIDTH: usize = 4;

/// An open file of weights.
#[derive(Debug)]
pub(super) struct Weights {
    file: Mutex<File>,
    begin: u64,
    tensors: HashMap<String, Place>,
    /// Tells this file from others: a hash of its header and of its last numbers.
    pub(super) mark: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Place {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

impl Weights {
    /// Opens the file at `path`; `Err` says what is wrong with it.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let mut file = File::open(path).map_err(|error| error.to_string())?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| "it is too short".to_owned())?;
        let length = u64::from_le_bytes(length);
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        let begin = length.saturating_add(8);
        if length > LONGEST_HEADER || begin > size {
            return Err("it is no safetensors file".to_owned());
        }
        let mut header = Vec::new();
        (&mut file).take(length).read_to_end(&mut header).map_err(|error| error.to_string())?;
        let entries: HashMap<String, serde_json::Value> =
            serde_json::from_slice(&header).map_err(|_| "it is no safetensors file".to_owned())?;
        let tensors: HashMap<String, Place> = entries
            .into_iter()
            .filter_map(|(name, entry)| Some((name, serde_json::from_value::<Place>(entry).ok()?)))
            .collect();
        let end = tensors.values().map(|place| place.data_offsets[1]).max().unwrap_or_default();
        if begin.saturating_add(end) > size {
            return Err("it ends too early; copy it again".to_owned());
        }
        let mark = mark(&mut file, &header, size)?;
        Ok(Self { file: Mutex::new(file), begin, tensors, mark })
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Returns a table of `columns` numbers a row.
    pub(super) fn table(&self, name: &str, columns: usize) -> Result<Array2<f32>, String> {
        let place = self.place(name, columns)?;
        let numbers = self.read(name, place.data_offsets[0], place.shape[0] * columns * WIDTH)?;
        Array2::from_shape_vec((place.shape[0], columns), numbers).map_err(|_| format!("{name} has another size"))
    }

    /// Returns a list of `length` numbers.
    pub(super) fn list(&self, name: &str, length: usize) -> Result<Array1<f32>, String> {
        let place = self.place(name, length)?;
        let numbers = self.read(name, place.data_offsets[0], length * WIDTH)?;
        Ok(Array1::from_vec(numbers))
    }

    /// Returns how many rows a table has.
    pub(super) fn rows(&self, name: &str, columns: usize) -> Result<usize, String> {
        Ok(self.place(name, columns)?.shape[0])
    }

    /// Returns one row of a table of `columns` numbers a row.
    pub(super) fn row(&self, name: &str, row: usize, columns: usize) -> Result<Vec<f32>, String> {
        let place = self.place(name, columns)?;
        if row >= place.shape[0] {
            return Err(format!("{name} has no row {row}; the vocabulary is not this model's"));
        }
        self.read(name, place.data_offsets[0] + (row * columns * WIDTH) as u64, columns * WIDTH)
    }

    fn place(&self, name: &str, columns: usize) -> Result<&Place, String> {
        let place = self.tensors.get(name).ok_or_else(|| format!("{name} is missing; it is no BERT model"))?;
        if place.dtype != "F32" {
            return Err(format!("{name} is of type {}; use the model in F32", place.dtype));
        }
        let [begin, end] = place.data_offsets;
        let whole = place.shape.iter().product::<usize>() * WIDTH;
        let fits = place.shape.last() == Some(&columns) && place.shape.len() <= 2;
        if !fits || end.checked_sub(begin) != Some(whole as u64) {
            return Err(format!("{name} has shape {:?}, which does not fit config.json", place.shape));
        }
        Ok(place)
    }

    fn read(&self, name: &str, offset: u64, bytes: usize) -> Result<Vec<f32>, String> {
        let mut buffer = vec![0; bytes];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(self.begin + offset)).and_then(|_| file.read_exact(&mut buffer));
        read.map_err(|error| format!("{name} cannot be read ({error})"))?;
        Ok(buffer.as_chunks::<WIDTH>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

/// Hashing all of a file takes longer than to load it, and two models differ everywhere.
fn mark(file: &mut File, header: &[u8], size: u64) -> Result<String, String> {
    /// Bytes of the end that are hashed.
    const END: u64 = 1 << 16;
    let mut end = Vec::new();
    let read = file.seek(SeekFrom::Start(size.saturating_sub(END))).and_then(|_| file.read_to_end(&mut end));
    read.map_err(|error| error.to_string())?;
    let digest = Sha256::new().chain_update(header).chain_update(size.to_le_bytes()).chain_update(end).finalize();
    Ok(digest.iter().take(4).fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}
