//! `encrypt` and `decrypt`: the database, at rest.

use std::path::PathBuf;

use afterthought::store::{AuditLog, Converted, Deed, KeyHome, Store, StoreError};

use super::args::{Context, note_count, now};
use super::exit::ExitStatus;
use super::printer::{DIM, counted, size};

/// Encrypt the database
///
/// The key comes from AFTERTHOUGHT_DB_KEY, else from the file that AFTERTHOUGHT_DB_KEY_FILE names or `db.key` beside your
/// settings, else from the system keyring: 64 hex digits, or a passphrase of at least 12 characters. No other process may use
/// the database. A new file is written and checked before it replaces the old one, which is overwritten. Needs a build with
/// the feature `encryption`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db encrypt --new-key keyring")]
pub struct EncryptArgs {
    /// Make a random key: in the system `keyring`, in `file` (db.key beside your settings), or in a file of this path
    #[arg(long, value_name = "WHERE")]
    new_key: Option<String>,
}

/// Decrypt the database
///
/// Takes the key from where `db encrypt` does. Anyone who can read the file can read your memories afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db decrypt")]
pub struct DecryptArgs {}

pub fn encrypt(args: &EncryptArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let path = context.settings()?.db.value;
    let mut key_file = None;
    if let Some(text) = &args.new_key {
        anyhow::ensure!(path.exists(), StoreError::Missing { path });
        let home = home(text)?;
        let place = Store::make_key(&home)?;
        context.out.note(format_args!(
            "the new key is in {place}; without it the memories are lost: keep a copy of it elsewhere"
        ));
        if let KeyHome::File(file) = home
            && Store::default_key_file().as_ref() != Some(&file)
        {
            let file = std::path::absolute(&file)?;
            context.out.note(format_args!("from now on: AFTERTHOUGHT_DB_KEY_FILE={}", file.display()));
            key_file = Some(file);
        }
    }
    let audit = context.audit()?;
    let done = Store::encrypt(&path, key_file.as_deref(), now()).map_err(|error| match error {
        error @ StoreError::NoKey { .. } => {
            anyhow::anyhow!("{error}; `afterthought db encrypt --new-key keyring` makes one, or `--new-key file`")
        }
        error => error.into(),
    })?;
    note_done(audit, Deed::Encrypt, done.as_ref())?;
    tell(done, "encrypted", context)
}

pub fn decrypt(_: &DecryptArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let audit = context.audit()?;
    let done = Store::decrypt(&context.settings()?.db.value, now())?;
    note_done(audit, Deed::Decrypt, done.as_ref())?;
    tell(done, "decrypted", context)
}

fn note_done(audit: Option<AuditLog>, did: Deed, done: Option<&Converted>) -> Result<(), StoreError> {
    done.map_or(Ok(()), |done| note_count(audit, did, done.memories))
}

fn home(text: &str) -> anyhow::Result<KeyHome> {
    Ok(match text {
        "keyring" => KeyHome::Keyring,
        "file" => {
            KeyHome::File(Store::default_key_file().ok_or_else(|| {
                anyhow::anyhow!("this platform has no folder for settings; name a file: --new-key PATH")
            })?)
        }
        path => KeyHome::File(PathBuf::from(path)),
    })
}

fn tell(done: Option<Converted>, word: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let Some(done) = done else {
        out.note(format_args!("the database is {word} already"));
        return Ok(ExitStatus::NoMatch);
    };
    if out.is_json() {
        out.json(&done)?;
        return Ok(ExitStatus::Success);
    }
    let Converted { path, bytes, memories, key, copies } = &done;
    out.line(format_args!(
        "{} is {word}: {}, {}, key from {key}",
        path.display(),
        counted(*memories, "memory"),
        size(*bytes)
    ))?;
    let command = if word == "encrypted" { "encrypt" } else { "decrypt" };
    for copy in copies {
        // What a repair took out is no database.
        let remedy = match copy.extension() {
            Some(ending) if ending == "jsonl" => "remove it".to_owned(),
            Some(_) | None => format!("`afterthought {command} --db {}`, or remove it", copy.display()),
        };
        out.note(format_args!("{DIM}{} is as it was: {remedy}{DIM:#}", copy.display()));
    }
    Ok(ExitStatus::Success)
}
