//! Encryption of items with age, so that whoever stores or copies a target cannot read them.
//!
//! Items are encrypted before they get their hash and their name, so a name reveals nothing about the text. The key
//! stays in the user's file; the database contains only the path of this file.

use std::borrow::Cow;
use std::path::Path;

use super::error::SyncError;
use super::log::LogItem;

/// Start of every file that age writes.
const MARK: &[u8] = b"age-encryption.org/";

/// The keys for a target; there are none if its items are plain text.
pub(super) struct TargetKeys(Option<Keys>);

impl TargetKeys {
    /// Reads the key file of a target.
    pub(super) fn open(file: Option<&str>) -> Result<Self, SyncError> {
        Ok(Self(file.map(|file| Keys::read(Path::new(file))).transpose()?))
    }

    pub(super) const fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the bytes of an item as they are written to the target.
    pub(super) fn seal(&self, bytes: Vec<u8>) -> Result<Vec<u8>, SyncError> {
        match &self.0 {
            Some(keys) => keys.encrypt(&bytes).map_err(|source| SyncError::Encrypt(source.to_string())),
            None => Ok(bytes),
        }
    }

    /// Returns the bytes of an item of the machine `device` before they were encrypted.
    pub(super) fn unseal<'a>(&self, device: &str, item: &'a LogItem) -> Result<Cow<'a, [u8]>, SyncError> {
        let device = || device.to_owned();
        match (&self.0, is_sealed(item)) {
            (None, false) => Ok(Cow::Borrowed(&item.bytes)),
            (None, true) => Err(SyncError::NoKey { device: device() }),
            // Anybody who can write to the target could have forged it.
            (Some(_), false) => Err(SyncError::NotEncrypted { device: device(), seq: item.seq }),
            (Some(keys), true) => keys.decrypt(&item.bytes, &device(), item.seq).map(Cow::Owned),
        }
    }

    /// Returns the name of a log in the target. The name of an encrypted log does not contain the name of the machine.
    pub(super) fn log_name<'a>(&self, device: &'a str) -> &'a str {
        if self.has_key() { device.rsplit_once('-').map_or(device, |(_, id)| id) } else { device }
    }
}

/// Returns whether `log` is the name of the log of the machine `device`, encrypted or not.
pub(super) fn is_log_of(log: &str, device: &str) -> bool {
    log == device || device.rsplit_once('-').is_some_and(|(_, id)| log == id)
}

/// Returns whether an item is encrypted.
pub(super) fn is_sealed(item: &LogItem) -> bool {
    item.bytes.starts_with(MARK)
}

#[cfg(feature = "age")]
use with_age::{Keys, write_key};
#[cfg(not(feature = "age"))]
use without_age::{Keys, write_key};

/// Writes a new key to a file, before the keys that are already there if `keeps_former`.
pub(crate) fn create_key(file: &Path, keeps_former: bool) -> Result<(), SyncError> {
    if !keeps_former && std::fs::symlink_metadata(file).is_ok() {
        return Err(SyncError::KeyExists { file: file.to_owned() });
    }
    write_key(file, keeps_former)
}

#[cfg(feature = "age")]
mod with_age {
    use std::io::{Read as _, Write as _};
    use std::path::Path;

    use age::x25519::{Identity, Recipient};
    use age::{DecryptError, Decryptor, Encryptor};
    use secrecy::{ExposeSecret as _, SecretString};

    use super::SyncError;
    use crate::private;

    /// Maximum size of a key file, in bytes.
    const MAX_BYTES: u64 = 65_536;

    /// The keys in a file.
    pub(super) struct Keys {
        /// The keys that can decrypt; the first one also encrypts.
        identities: Vec<Identity>,
        /// Public keys of others, for whom items are encrypted as well.
        recipients: Vec<Recipient>,
    }

    impl Keys {
        pub(super) fn read(file: &Path) -> Result<Self, SyncError> {
            let fault = |what: String| SyncError::BadKey { file: file.to_owned(), what };
            if !file.exists() {
                return Err(SyncError::MissingKey { file: file.to_owned() });
            }
            let text: SecretString = private::read(file, MAX_BYTES).map_err(fault)?.into();
            let mut keys = Self { identities: Vec::new(), recipients: Vec::new() };
            for (line, number) in text.expose_secret().lines().map(str::trim).zip(1..) {
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                if let Ok(identity) = line.parse::<Identity>() {
                    keys.identities.push(identity);
                } else if let Ok(recipient) = line.parse::<Recipient>() {
                    keys.recipients.push(recipient);
                } else {
                    return Err(fault(format!(
                        "line {number} is neither a secret key of age (AGE-SECRET-KEY-1…) nor a public one (age1…)"
                    )));
                }
            }
            if keys.identities.is_empty() {
                return Err(fault("it contains no secret key of age (AGE-SECRET-KEY-1…)".to_owned()));
            }
            Ok(keys)
        }

        pub(super) fn encrypt(&self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
            let own: Vec<Recipient> = self.identities.iter().take(1).map(Identity::to_public).collect();
            let all = own.iter().chain(&self.recipients).map(|recipient| recipient as &dyn age::Recipient);
            let mut sealed = Vec::with_capacity(bytes.len() + bytes.len() / 1000 + 512);
            let mut writer =
                Encryptor::with_recipients(all).map_err(std::io::Error::other)?.wrap_output(&mut sealed)?;
            writer.write_all(bytes)?;
            writer.finish()?;
            Ok(sealed)
        }

        pub(super) fn decrypt(&self, bytes: &[u8], device: &str, seq: u64) -> Result<Vec<u8>, SyncError> {
            let damaged = || SyncError::BadItem {
                device: device.to_owned(),
                seq,
                what: "was changed after it was encrypted, or is damaged",
            };
            let all = self.identities.iter().map(|identity| identity as &dyn age::Identity);
            let mut plain = Vec::with_capacity(bytes.len());
            let reader = Decryptor::new(bytes).and_then(|file| file.decrypt(all));
            match reader {
                Ok(mut reader) => reader.read_to_end(&mut plain).map_err(|_| damaged())?,
                Err(DecryptError::NoMatchingKeys) => {
                    return Err(SyncError::OtherKey { device: device.to_owned(), seq });
                }
                Err(_) => return Err(damaged()),
            };
            Ok(plain)
        }
    }

    pub(super) fn write_key(file: &Path, keeps_former: bool) -> Result<(), SyncError> {
        let fault = |what: String| SyncError::BadKey { file: file.to_owned(), what };
        let former = if keeps_former {
            Keys::read(file)?;
            private::read(file, MAX_BYTES).map_err(fault)?
        } else {
            String::new()
        };
        let key = Identity::generate();
        let lines: SecretString = format!(
            "# public key: {}\n{}\n{}",
            key.to_public(),
            key.to_string().expose_secret(),
            SecretString::from(former).expose_secret()
        )
        .into();
        private::replace(file, lines.expose_secret()).map_err(|error| fault(format!("it cannot be written: {error}")))
    }
}

/// A build that cannot encrypt.
#[cfg(not(feature = "age"))]
mod without_age {
    use std::path::Path;

    use super::SyncError;

    pub(super) enum Keys {}

    const MISSING: SyncError = SyncError::Feature { what: "encrypt shared memories", feature: "age" };

    impl Keys {
        pub(super) const fn read(_: &Path) -> Result<Self, SyncError> {
            Err(MISSING)
        }

        pub(super) const fn encrypt(&self, _: &[u8]) -> std::io::Result<Vec<u8>> {
            match *self {}
        }

        pub(super) const fn decrypt(&self, _: &[u8], _: &str, _: u64) -> Result<Vec<u8>, SyncError> {
            match *self {}
        }
    }

    pub(super) const fn write_key(_: &Path, _: bool) -> Result<(), SyncError> {
        Err(MISSING)
    }
}

#[cfg(feature = "age")]
#[cfg(test)]
#[path = "cipher_tests.rs"]
mod tests;
