//! Keys that are made here, and what is known of those that are given.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::convert::{sync_folder, unwritable};
use super::key::{self, KeyPlace, Keys};
use crate::store::place::create_private;
use crate::store::{Store, StoreError};

/// Where a new key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyHome {
    /// In a file that is made for it, 0600.
    File(PathBuf),
    /// In the keyring of the system.
    Keyring,
}

impl Store {
    /// Makes a random key and keeps it at `home`, for [`Store::encrypt`].
    ///
    /// # Errors
    /// [`StoreError::KeyGiven`] where there is a key already, [`StoreError::Taken`] if there is a file of that name; else
    /// [`StoreError`] if the key cannot be kept.
    pub fn make_key(home: &KeyHome) -> Result<KeyPlace, StoreError> {
        if let Some(key) = Keys::Outside.given()? {
            return Err(StoreError::KeyGiven { place: key.place().clone() });
        }
        let text = random_key()?;
        match home {
            KeyHome::File(path) => {
                write_key(path, &text)?;
                Ok(KeyPlace::File(path.clone()))
            }
            KeyHome::Keyring => {
                if key::keyring::key()?.is_some() {
                    return Err(StoreError::KeyGiven { place: KeyPlace::Keyring });
                }
                key::keyring::keep(&text)?;
                Ok(KeyPlace::Keyring)
            }
        }
    }

    /// Returns where a key file is looked for unless another is named; `None` where the platform has no such folder.
    #[must_use]
    pub fn default_key_file() -> Option<PathBuf> {
        key::default_file()
    }

    /// Where the key of the file came from or would come from; `None` where none is given, and the keyring is to be asked.
    ///
    /// # Errors
    /// [`StoreError::BadKey`] if what is given cannot be used.
    pub fn key_given() -> Result<Option<KeyPlace>, StoreError> {
        Ok(Keys::Outside.given()?.map(|key| key.place().clone()))
    }
}

fn random_key() -> Result<String, StoreError> {
    #[cfg(feature = "encryption")]
    {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|source| StoreError::Random { said: source.to_string() })?;
        Ok(transcripts::hex(&bytes))
    }
    #[cfg(not(feature = "encryption"))]
    Err(StoreError::Random { said: "this build cannot encrypt".to_owned() })
}

fn write_key(path: &Path, text: &str) -> Result<(), StoreError> {
    if path.exists() {
        return Err(StoreError::Taken { path: path.to_owned() });
    }
    create_private(path)?;
    let written = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| {
        writeln!(file, "{text}")?;
        file.sync_all()
    });
    written.and_then(|()| sync_folder(path)).map_err(|source| unwritable(path, source))
}
