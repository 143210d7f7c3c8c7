//! Patterns that name the namespaces to be synchronised.

use crate::changeset::Row;
use crate::memory::Namespace;

use super::error::SyncError;

/// Namespaces, each as a name or as a name with `/*`, which stands for everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamespacePatterns(Vec<String>);

impl NamespacePatterns {
    /// Returns the patterns, or an error if one of them names no namespace.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, SyncError> {
        for pattern in patterns {
            let name = pattern.strip_suffix("/*").unwrap_or(pattern);
            if pattern != "*" && (name.contains('*') || name.parse::<Namespace>().is_err()) {
                return Err(SyncError::BadPattern { pattern: pattern.clone() });
            }
        }
        Ok(Self(patterns.to_vec()))
    }

    /// Returns whether a namespace is synchronised.
    pub(crate) fn admits(&self, namespace: &Namespace) -> bool {
        let name = namespace.to_string();
        self.0.iter().any(|pattern| match pattern.strip_suffix("/*") {
            Some(above) => name.strip_prefix(above).is_some_and(|rest| rest.starts_with('/')),
            None => pattern == "*" || *pattern == name,
        })
    }

    /// Returns whether a row itself names no other namespace.
    pub(crate) fn admits_row(&self, row: &Row) -> bool {
        match row {
            Row::Memory { after: Some(memory), .. } => self.admits(&memory.namespace),
            Row::Tombstone { after: Some(tombstone), .. } => self.admits(&tombstone.namespace),
            Row::Memory { .. } | Row::Tombstone { .. } | Row::Evidence { .. } | Row::Relation { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_one_namespace_or_all_below_it() {
        let patterns = NamespacePatterns::new(&["global".into(), "project/*".into()]).unwrap();
        let admitted = |name: &str| patterns.admits(&name.parse().unwrap());
        for (name, expected) in [
            ("global", true),
            ("global/x", false),
            ("project", false),
            ("project/shop", true),
            ("project/shop/x", true),
            ("projects/shop", false),
            ("chat/ana", false),
        ] {
            assert_eq!(admitted(name), expected, "{name}");
        }
        assert!(NamespacePatterns::new(&["pro*".into()]).is_err());
    }
}
