use crate::ConfigError;

/// What a settings file says; `None` is what it does not mention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub path: Option<String>,
    /// As written, not yet understood.
    pub max_size: Option<String>,
    pub keep_days: Option<u32>,
    pub compress: Option<bool>,
}

impl Config {
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let mut c = Config::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let (key, value) = line.split_once('=').ok_or(ConfigError::NoValue(n + 1))?;
            let value = value.trim();
            let bad = || ConfigError::BadValue(value.to_string());
            match key.trim() {
                "path" => c.path = Some(value.to_string()),
                "max_size" => c.max_size = Some(value.to_string()),
                "keep_days" => c.keep_days = Some(value.parse().map_err(|_| bad())?),
                "compress" => c.compress = Some(flag(value).ok_or_else(bad)?),
                other => return Err(ConfigError::UnknownKey(other.to_string())),
            }
        }
        Ok(c)
    }
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "yes" | "on" | "true" => Some(true),
        "no" | "off" | "false" => Some(false),
        _ => None,
    }
}
