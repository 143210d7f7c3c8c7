//! What models are known to want before a text.

use crate::config::EmbeddingSettings;

/// What is put before texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefixes {
    pub(super) document: String,
    pub(super) query: String,
}

/// What stands before memories and before queries, by a part of the model's name; as their publishers say.
const KNOWN: &[(&str, &str, &str)] = &[
    ("nomic-embed", "search_document: ", "search_query: "),
    ("e5-", "passage: ", "query: "),
    ("mxbai-embed", "", "Represent this sentence for searching relevant passages: "),
    ("snowflake-arctic-embed", "", "Represent this sentence for searching relevant passages: "),
];

impl Prefixes {
    pub(super) fn of(settings: &EmbeddingSettings, model: &str) -> Self {
        let model = model.to_lowercase();
        let known = KNOWN.iter().find(|(part, _, _)| model.contains(part));
        let (document, query) = known.map_or(("", ""), |(_, document, query)| (document, query));
        Self {
            document: settings.document_prefix.clone().unwrap_or_else(|| document.to_owned()),
            query: settings.query_prefix.clone().unwrap_or_else(|| query.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_get_what_they_were_taught_with_unless_it_is_set() {
        let of = |settings: &EmbeddingSettings, model: &str| {
            let prefixes = Prefixes::of(settings, model);
            (prefixes.document, prefixes.query)
        };
        let nothing = EmbeddingSettings::default();
        let pair = |document: &str, query: &str| (document.to_owned(), query.to_owned());
        assert_eq!(of(&nothing, "nomic-embed-text:v1.5"), pair("search_document: ", "search_query: "));
        assert_eq!(of(&nothing, "intfloat/Multilingual-E5-small"), pair("passage: ", "query: "));
        assert_eq!(of(&nothing, "text-embedding-3-small"), pair("", ""));
        let own =
            EmbeddingSettings { document_prefix: Some(String::new()), query_prefix: Some("q: ".into()), ..nothing };
        assert_eq!(of(&own, "nomic-embed-text"), pair("", "q: "));
    }
}
