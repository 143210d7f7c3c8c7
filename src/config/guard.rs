//! The table `[guard]`: personal data to redact, and logs and files to leave out.

use serde::{Deserialize, Serialize};

use super::Layer;
use super::setting::settings;

/// Kinds of personal data that the guard finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PersonalData {
    /// Payment card numbers with a valid check digit.
    Cards,
    /// International bank account numbers with valid check digits.
    Ibans,
    /// National identity, tax and insurance numbers with valid check digits or in the fixed form of their country.
    Ids,
    /// Email addresses.
    Emails,
    /// Phone numbers written with a country code or in groups.
    Phones,
    /// Postal addresses: street and number.
    Addresses,
}

/// What the guard does with one kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// Keeps the data unchanged.
    Keep,
    /// Replaces the data with `[redacted:<kind>]`.
    Redact,
    /// Replaces the data, and drops the memories that are based on it.
    Drop,
}

/// Treatment of each kind of personal data. Secrets are always redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardSettings {
    /// See `PersonalData::Cards`.
    pub cards: Treatment,
    /// See `PersonalData::Ibans`.
    pub ibans: Treatment,
    /// See `PersonalData::Ids`.
    pub ids: Treatment,
    /// See `PersonalData::Emails`.
    pub emails: Treatment,
    /// See `PersonalData::Phones`.
    pub phones: Treatment,
    /// See `PersonalData::Addresses`.
    pub addresses: Treatment,
}

impl Default for GuardSettings {
    fn default() -> Self {
        GuardTable::default().treatments()
    }
}

/// Names of files whose content no model sees, matched against the last part of a path in any case.
#[rustfmt::skip]
pub const DENIED_FILES: &[&str] = &[
    ".env", "*.env", ".env.local", ".env.development", ".env.production", ".env.staging", ".env.test", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.kdbx", "*.ovpn", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc",
    ".htpasswd", ".git-credentials", ".dockercfg", "credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml",
    "credentials.ini", "credentials.csv", "credentials.xml", "credentials.txt", "credentials.db", "secrets.json", "secrets.yml", "secrets.yaml",
    "secrets.toml", "service-account*.json", "service_account*.json", "kubeconfig", "wallet.dat", "shadow", "*.tfvars",
];

settings!(
    /// The table `[guard]`.
    GuardTable, PartialGuard, "guard.", {
    /// Personal data to redact: `cards`, `ibans`, `ids`, `emails`, `phones`, `addresses`
    redact: Vec<PersonalData> = vec![PersonalData::Cards, PersonalData::Ibans, PersonalData::Ids];
    /// Personal data to redact; memories that are based on it are dropped
    drop: Vec<PersonalData> = Vec::new();
    /// Logs and projects that are never read, as glob patterns
    deny: Vec<String> = Vec::new();
    /// Files whose content no model may see; replaces the built-in list
    deny_files: Vec<String> = DENIED_FILES.iter().map(|&name| name.to_owned()).collect(), like "[\".env\", \"*.pem\"]";
});

impl GuardTable {
    /// Returns the treatment of each kind. A kind in both lists is dropped.
    #[must_use]
    pub fn treatments(&self) -> GuardSettings {
        let of = |kind| match (self.drop.value.contains(&kind), self.redact.value.contains(&kind)) {
            (true, _) => Treatment::Drop,
            (false, true) => Treatment::Redact,
            (false, false) => Treatment::Keep,
        };
        GuardSettings {
            cards: of(PersonalData::Cards),
            ibans: of(PersonalData::Ibans),
            ids: of(PersonalData::Ids),
            emails: of(PersonalData::Emails),
            phones: of(PersonalData::Phones),
            addresses: of(PersonalData::Addresses),
        }
    }

    /// Changes the treatment of one kind for this run, from `text`, such as `emails=redact`.
    ///
    /// # Errors
    /// A description of the expected form of the text.
    pub(crate) fn change(&mut self, text: &str) -> Result<(), String> {
        let form = || {
            "write KIND=redact, KIND=keep or KIND=drop, where KIND is cards, ibans, ids, emails, phones or addresses"
                .to_owned()
        };
        let (kind, action) = text.split_once('=').ok_or_else(form)?;
        let kind: PersonalData = serde_json::from_value(kind.trim().into()).map_err(|_| form())?;
        let (mut redact, mut drop) = (self.redact.value.clone(), self.drop.value.clone());
        // A kind in both lists counts as dropped, so it is first removed from both.
        redact.retain(|one| *one != kind);
        drop.retain(|one| *one != kind);
        match action.trim() {
            "keep" => {}
            "redact" => redact.push(kind),
            "drop" => drop.push(kind),
            _ => return Err(form()),
        }
        self.redact.set(Some(redact), &Layer::Flag);
        self.drop.set(Some(drop), &Layer::Flag);
        Ok(())
    }

    /// Returns `partial` with the current lists added to its own.
    pub(super) fn joined(&self, partial: PartialGuard, layer: &Layer) -> PartialGuard {
        // A project's file is part of a repository that somebody else may have written, so it can only exclude more.
        let is_project = matches!(layer, Layer::Project(_));
        PartialGuard {
            redact: joined(partial.redact, &self.redact.value, is_project),
            drop: joined(partial.drop, &self.drop.value, is_project),
            // No other layer can allow a path that one layer denies.
            deny: joined(partial.deny, &self.deny.value, true),
            deny_files: joined(partial.deny_files, &self.deny_files.value, is_project),
        }
    }
}

/// Returns the list that a layer sets. If the layer `adds` to the current list `before`, the result begins with that
/// list.
fn joined<T: Clone + PartialEq>(set: Option<Vec<T>>, before: &[T], adds: bool) -> Option<Vec<T>> {
    let set = set?;
    if !adds {
        return Some(set);
    }
    let more = set.into_iter().filter(|one| !before.contains(one));
    Some(before.iter().cloned().chain(more).collect())
}
