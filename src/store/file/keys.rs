//! Keys of encrypted files: where keys are looked up, and how a new key is created.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::path::create_private;
use crate::config::Folders;
use crate::private;
use crate::store::StoreError;
use crate::store::error::KeyPlace;

/// The environment variable that contains a key.
const VARIABLE: &str = "AFTERTHOUGHT_DB_KEY";
/// The environment variable that contains the path of a key file.
const FILE_VARIABLE: &str = "AFTERTHOUGHT_DB_KEY_FILE";
/// The name of a key file in the user's settings folder.
const FILE_NAME: &str = "db.key";
/// Minimum length, in characters, of a key that is not 64 hex digits.
const MIN_CHARACTERS: usize = 12;
/// Maximum size of a key file, in bytes.
const MAX_BYTES: u64 = 4_096;
/// Number of hex digits in a raw key. Any other text is a passphrase, from which a key is derived each time that the
/// file is opened.
const HEX_DIGITS: usize = 64;

/// A key and its origin; the debug output hides the key.
#[derive(Debug, Clone)]
pub(in crate::store) struct Key {
    secret: SecretString,
    place: KeyPlace,
}

impl Key {
    /// Reads `text` as a key.
    pub(super) fn new(text: &str, place: KeyPlace) -> Result<Self, StoreError> {
        // Editors and `echo` append a newline to a file; a passphrase may end with a space on purpose.
        let text = text.trim_end_matches(['\n', '\r']);
        let is_raw = text.len() == HEX_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_raw {
            // In this form, `SQLCipher` uses the bytes directly, without deriving a key from a passphrase.
            return Ok(Self { secret: format!("x'{text}'").into(), place });
        }
        let why = if text.chars().count() < MIN_CHARACTERS {
            "it has fewer than 12 characters"
        // A second line suggests the wrong file, and C code would truncate the key at a NUL.
        } else if text.contains(['\0', '\n']) {
            "it has more than one line"
        } else {
            return Ok(Self { secret: text.into(), place });
        };
        Err(StoreError::BadKey { place, why: why.to_owned() })
    }

    /// Returns the key in the form that `SQLCipher` expects.
    pub(super) const fn secret(&self) -> &SecretString {
        &self.secret
    }

    pub(in crate::store) const fn place(&self) -> &KeyPlace {
        &self.place
    }
}

/// The places where keys are looked up.
#[derive(Debug, Clone, Default)]
pub(in crate::store) enum Keys {
    /// The environment, a key file and, for an encrypted database, the keyring.
    #[default]
    Outside,
    /// A specific key file.
    File(PathBuf),
    /// A known key, or none at all.
    #[cfg(test)]
    Only(Option<Key>),
}

impl Keys {
    /// Returns the key from the environment or a key file, for databases that do not exist yet.
    pub(in crate::store) fn given(&self) -> Result<Option<Key>, StoreError> {
        match self {
            Self::Outside => given(&|name| std::env::var(name).ok(), default_file().as_deref()),
            Self::File(path) => from_file(path).map(Some),
            #[cfg(test)]
            Self::Only(key) => Ok(key.clone()),
        }
    }

    /// Returns the key for the file at `path`, which requires one.
    pub(super) fn find_for(&self, path: &Path) -> Result<Key, StoreError> {
        let missing = |keyring: Option<String>| StoreError::NoKey { path: path.to_owned(), keyring };
        match self.find() {
            Ok(Some(key)) => Ok(key),
            Ok(None) => Err(missing(None)),
            // A server often has no keyring; in that case, the remedy is the same as for a missing key.
            Err(StoreError::Keyring { said }) => Err(missing(Some(said))),
            Err(error) => Err(error),
        }
    }

    /// Returns the key for an encrypted file: from the environment, otherwise from a key file, otherwise from the
    /// keyring.
    pub(in crate::store) fn find(&self) -> Result<Option<Key>, StoreError> {
        match self {
            Self::Outside => match self.given()? {
                Some(key) => Ok(Some(key)),
                None => keyring::key(),
            },
            Self::File(path) => from_file(path).map(Some),
            #[cfg(test)]
            Self::Only(key) => Ok(key.clone()),
        }
    }
}

/// Returns the default path of the key file.
fn default_file() -> Option<PathBuf> {
    Some(Folders::of_platform().ok()?.user_file.with_file_name(FILE_NAME))
}

fn given(environment: &dyn Fn(&str) -> Option<String>, default_file: Option<&Path>) -> Result<Option<Key>, StoreError> {
    // An empty variable counts as unset: scripts and service files clear a variable in this way.
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(text) = set(VARIABLE) {
        return Key::new(&text, KeyPlace::Environment).map(Some);
    }
    if let Some(path) = set(FILE_VARIABLE) {
        return from_file(Path::new(&path)).map(Some);
    }
    default_file.filter(|path| path.exists()).map(from_file).transpose()
}

fn from_file(path: &Path) -> Result<Key, StoreError> {
    let bad = |why| StoreError::BadKey { place: KeyPlace::File(path.to_owned()), why };
    let text = private::read(path, MAX_BYTES).map_err(bad)?;
    Key::new(&text, KeyPlace::File(path.to_owned()))
}

/// The place where a new key is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyHome {
    /// The key is stored in a new file with mode 0600.
    File(PathBuf),
    /// The key is stored in the system keyring.
    Keyring,
}

impl KeyHome {
    /// Generates a random key and stores it here, for use by [`Store::encrypt`](crate::store::Store::encrypt).
    ///
    /// # Errors
    /// [`StoreError::KeyGiven`] if there is already a key, [`StoreError::Taken`] if a file of that name exists;
    /// otherwise [`StoreError`] if the key cannot be stored.
    pub(crate) fn make_key(&self) -> Result<KeyPlace, StoreError> {
        if let Some(key) = Keys::Outside.given()? {
            return Err(StoreError::KeyGiven { place: key.place().clone() });
        }
        let text = random_key()?;
        match self {
            Self::File(path) => {
                write_key(path, &text)?;
                Ok(KeyPlace::File(path.clone()))
            }
            Self::Keyring => {
                // Overwriting the entry would lose the key of every file that was encrypted with it.
                if keyring::key()?.is_some() {
                    return Err(StoreError::KeyGiven { place: KeyPlace::Keyring });
                }
                keyring::keep(&text)?;
                Ok(KeyPlace::Keyring)
            }
        }
    }

    /// Returns the default path of the key file; `None` if the platform has no such folder.
    pub(crate) fn default_key_file() -> Option<PathBuf> {
        default_file()
    }
}

/// Returns the source of the key in use; `None` if no key is given, so that the keyring is used.
///
/// # Errors
/// [`StoreError::BadKey`] if the given key cannot be used.
pub(crate) fn key_given() -> Result<Option<KeyPlace>, StoreError> {
    Ok(Keys::Outside.given()?.map(|key| key.place().clone()))
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
    // If the key were lost in a power failure, the whole database would be lost with it.
    written.and_then(|()| sync_folder(path)).map_err(|source| {
        // A partially written file would later be mistaken for the key. Removing the file is safe, because nothing is
        // encrypted with the key yet.
        let _ = fs::remove_file(path);
        unwritable(path, source)
    })
}

/// Syncs the folder of `path`, so that a new file in it survives a power failure.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    // Windows cannot open a folder as a file to sync it.
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

pub(super) fn unwritable(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Unwritable { path: path.to_owned(), source: Box::new(source) }
}

#[cfg(feature = "encryption")]
mod keyring {
    //! The system keyring: Secret Service, Keychain or Credential Manager.

    use std::sync::OnceLock;

    use keyring::Entry;

    use super::{Key, KeyPlace, StoreError};

    /// The key that was found, so that the keyring is queried once per process. A failure is not stored, because a
    /// locked keyring may be unlocked later.
    static FOUND: OnceLock<Key> = OnceLock::new();

    fn entry() -> Result<Entry, StoreError> {
        Entry::new("afterthought", "database").map_err(|source| {
            // The reason was stored when the keyring was first opened.
            let why = Entry::store_status().as_ref().err().map_or_else(|| source.to_string(), ToString::to_string);
            StoreError::Keyring { said: why }
        })
    }

    pub(super) fn key() -> Result<Option<Key>, StoreError> {
        if let Some(key) = FOUND.get() {
            return Ok(Some(key.clone()));
        }
        match entry()?.get_password() {
            Ok(text) => {
                let key = Key::new(&text, KeyPlace::Keyring)?;
                Ok(Some(FOUND.get_or_init(|| key).clone()))
            }
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(source) => Err(StoreError::Keyring { said: source.to_string() }),
        }
    }

    pub(super) fn keep(text: &str) -> Result<(), StoreError> {
        entry()?.set_password(text).map_err(|source| StoreError::Keyring { said: source.to_string() })
    }
}

#[cfg(not(feature = "encryption"))]
mod keyring {
    //! Replaces the keyring in a build that cannot encrypt.

    use super::{Key, StoreError};

    #[expect(clippy::unnecessary_wraps, reason = "the build with encryption can fail")]
    pub(super) const fn key() -> Result<Option<Key>, StoreError> {
        Ok(None)
    }

    pub(super) fn keep(_: &str) -> Result<(), StoreError> {
        Err(StoreError::Keyring { said: "this build does not use it".to_owned() })
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    const HEX: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db.key");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn the_environment_comes_before_the_named_file_and_that_before_the_default_one() {
        let (_a, named) = file("a passphrase that is named\n", 0o600);
        let (_b, default) = file(HEX, 0o600);
        let found = |variable: Option<&str>, file: Option<&Path>| {
            let environment = |name: &str| match name {
                VARIABLE => variable.map(str::to_owned),
                FILE_VARIABLE => file.map(|path| path.display().to_string()),
                _ => None,
            };
            let key = given(&environment, Some(&default)).unwrap().unwrap();
            (key.secret().expose_secret().to_owned(), key.place().clone())
        };
        let spelled = format!("x'{HEX}'");
        assert_eq!(found(Some("twelve or more"), Some(&named)), ("twelve or more".into(), KeyPlace::Environment));
        assert_eq!(found(Some(""), Some(&named)), ("a passphrase that is named".into(), KeyPlace::File(named.clone())));
        assert_eq!(found(None, None), (spelled, KeyPlace::File(default.clone())));
        assert!(given(&|_| None, None).unwrap().is_none());
    }

    #[test]
    fn a_key_that_cannot_be_used_is_named_with_its_place_and_never_shown() {
        let (_a, open) = file(HEX, 0o644);
        let (_b, short) = file("hunter2\n", 0o600);
        let (_c, long) = file("first line of it\nsecond line of it", 0o600);
        let said = |path: &Path| from_file(path).unwrap_err().to_string();
        assert_eq!(
            said(&open),
            format!(
                "the key from the file {0} cannot be used: others can read it (644); `chmod 600 {0}`",
                open.display()
            )
        );
        assert!(said(&short).ends_with("cannot be used: it has fewer than 12 characters"), "{}", said(&short));
        assert!(!said(&short).contains("hunter2"));
        assert!(said(&long).ends_with("it has more than one line"), "{}", said(&long));
        assert!(said(Path::new("/none/such")).contains("the file /none/such cannot be used: it cannot be read"));
        let key = Key::new("a secret passphrase", KeyPlace::Environment).unwrap();
        assert!(!format!("{key:?}").contains("passphrase"), "{key:?}");
    }
}
