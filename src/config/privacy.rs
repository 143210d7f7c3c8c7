//! What is taken out beside secrets, and what is never opened or shown.

use serde::{Deserialize, Serialize};

/// What is done with one kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// Left as it stands.
    Keep,
    /// Replaced by `[redacted:<kind>]`.
    Redact,
    /// Replaced, and what rests on it is not remembered at all.
    Drop,
}

/// What the guard takes out beside secrets, which always go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSettings {
    /// Payment card numbers with a valid check digit.
    pub cards: Treatment,
    /// International bank account numbers with valid check digits.
    pub ibans: Treatment,
    /// National identity, tax and insurance numbers with valid check digits or in their own form.
    pub ids: Treatment,
    /// E-mail addresses; kept unless asked, since people want them remembered.
    pub emails: Treatment,
    /// Phone numbers written with a country code or in groups; kept unless asked, like e-mail addresses.
    pub phones: Treatment,
    /// Postal addresses: street and number; kept unless asked, since homes and offices are worth remembering.
    pub addresses: Treatment,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self {
            cards: Treatment::Redact,
            ibans: Treatment::Redact,
            ids: Treatment::Redact,
            emails: Treatment::Keep,
            phones: Treatment::Keep,
            addresses: Treatment::Keep,
        }
    }
}

/// Names of files whose content is shown to no model; matched against the last part of a path, in any case.
#[rustfmt::skip]
pub const DENIED_FILES: &[&str] = &[
    ".env", ".env.local", ".env.development", ".env.production", ".env.staging", ".env.test", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.kdbx", "*.ovpn", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc",
    ".htpasswd", ".git-credentials", ".dockercfg", "credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml",
    "credentials.ini", "credentials.csv", "credentials.xml", "credentials.txt", "credentials.db", "secrets.json", "secrets.yml", "secrets.yaml",
    "secrets.toml", "secrets.env", "service-account*.json", "service_account*.json", "kubeconfig", "wallet.dat", "shadow", "*.tfvars",
];

/// What one layer sets of the table `[guard]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartialGuard {
    /// See [`GuardSettings::cards`].
    pub cards: Option<Treatment>,
    /// See [`GuardSettings::ibans`].
    pub ibans: Option<Treatment>,
    /// See [`GuardSettings::ids`].
    pub ids: Option<Treatment>,
    /// See [`GuardSettings::emails`].
    pub emails: Option<Treatment>,
    /// See [`GuardSettings::phones`].
    pub phones: Option<Treatment>,
    /// See [`GuardSettings::addresses`].
    pub addresses: Option<Treatment>,
    /// Paths of logs and of projects that are never opened, as for `--exclude`; every layer adds to those before it.
    pub deny: Option<Vec<String>>,
    /// Names of files whose content is shown to no model; a person's own list takes the place of [`DENIED_FILES`], a
    /// project adds to it.
    pub deny_files: Option<Vec<String>>,
}

impl PartialGuard {
    /// Returns the kinds of personal data by the name of their setting.
    pub(super) fn kinds(&mut self) -> [(&'static str, &mut Option<Treatment>); 6] {
        [
            ("cards", &mut self.cards),
            ("ibans", &mut self.ibans),
            ("ids", &mut self.ids),
            ("emails", &mut self.emails),
            ("phones", &mut self.phones),
            ("addresses", &mut self.addresses),
        ]
    }

    /// Sets a kind from a text such as `emails=redact`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let form = || {
            "write KIND=redact, KIND=keep or KIND=drop, with cards, ibans, ids, emails, phones or addresses for KIND"
                .to_owned()
        };
        let (kind, word) = text.split_once('=').ok_or_else(form)?;
        let treatment = match word.trim() {
            "keep" => Treatment::Keep,
            "redact" => Treatment::Redact,
            "drop" => Treatment::Drop,
            _ => return Err(form()),
        };
        let mut kinds = self.kinds().into_iter();
        let (_, slot) = kinds.find(|(name, _)| *name == kind.trim()).ok_or_else(form)?;
        *slot = Some(treatment);
        Ok(())
    }

    /// Lays the kinds that are set over `settings`; a project's can only make them stricter.
    pub(super) fn over(mut self, settings: GuardSettings, only_stricter: bool) -> GuardSettings {
        let mut settings = settings;
        let own = [
            &mut settings.cards,
            &mut settings.ibans,
            &mut settings.ids,
            &mut settings.emails,
            &mut settings.phones,
            &mut settings.addresses,
        ];
        for (slot, (_, set)) in own.into_iter().zip(self.kinds()) {
            match *set {
                Some(treatment) if only_stricter => *slot = treatment.max(*slot),
                Some(treatment) => *slot = treatment,
                None => {}
            }
        }
        settings
    }
}
