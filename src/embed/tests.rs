use super::*;
use crate::memory::Memory;
use crate::store::Store;
use crate::store::testing::{insert, memory};

fn settings(text: &str) -> EmbeddingSettings {
    let folders = crate::config::Folders {
        user_file: "/none/config.toml".into(),
        default_db: "/none/m.db".into(),
        state: "/none".into(),
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, format!("[embedding]\n{text}\n")).unwrap();
    let config =
        crate::config::Config::load(&folders, folder.path(), Some(&file), &|_| None, crate::config::Partial::default());
    config.unwrap().embedding
}

fn open(text: &str, key: Option<&str>) -> Result<Option<Embedder>, String> {
    let access = Access { key: key.map(SecretString::from), timeout: None };
    Embedder::open(&settings(text), access).map_err(|error| error.to_string())
}

fn opened(text: &str) -> Embedder {
    open(text, Some("k")).unwrap().unwrap()
}

#[test]
fn what_is_missing_is_named_with_its_setting() {
    assert!(open("", None).unwrap().is_none());
    let rows = [
        (
            "provider = 'openai'",
            None,
            "no key is set under [embedding]; set the variable named by api_key_env, or base_url",
        ),
        (
            "base_url = 'http://127.0.0.1:9/v1'",
            None,
            "no model is set under [embedding]; set model, or AFTERTHOUGHT_EMBEDDING_MODEL",
        ),
        (
            "base_url = 'here'\nmodel = 'm'",
            None,
            "\"here\": this is not an http address; set a base URL such as http://127.0.0.1:11434/v1",
        ),
    ];
    for (text, key, expected) in rows {
        assert_eq!(open(text, key).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn the_name_says_all_that_changes_a_vector() {
    assert_eq!(opened("provider = 'openai'").name(), "text-embedding-3-small");
    let nomic = opened("model = 'nomic-embed-text'\nbase_url = 'http://127.0.0.1:9/v1'");
    assert_eq!((nomic.name(), nomic.paid_name()), ("nomic-embed-text after \"search_document:\"", "nomic-embed-text"));
    assert!(nomic.is_on_this_machine() && !opened("model = 'm'").is_on_this_machine());
}

#[test]
fn the_length_of_vectors_is_asked_for_known_or_unknown() {
    let store = Store::in_memory().unwrap();
    let length = |text: &str| opened(text).kept_model(&store).unwrap().map(|model| model.dimension);
    assert_eq!(length("model = 'm'"), None);
    assert_eq!(length("model = 'm'\ndimensions = 256"), Some(256));
}

#[test]
fn a_memory_is_embedded_by_what_it_says_without_secrets() {
    let secret = concat!("ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
    let store = Store::in_memory().unwrap();
    let (embedder, guard) = (opened("model = 'e5-small'"), Guard::default());
    let text = |memory: &Memory| {
        insert(&store, memory);
        let model = VectorModel { name: "m".into(), dimension: 1 };
        let newest = store.without_vector(&model, None, 1).unwrap().remove(0);
        embedder.text(&guard, &newest).into_inner()
    };
    assert_eq!(text(&memory("Tea", "The user drinks tea.")), "passage: Tea: The user drinks tea.");
    assert_eq!(text(&memory("The user drinks", "The user drinks tea.")), "passage: The user drinks tea.");
    let held = text(&memory("", &format!("The token is {secret}.")));
    assert!(held.starts_with("passage: The token is") && !held.contains(secret), "{held}");
}

#[tokio::test]
async fn a_query_of_nothing_has_no_vector() {
    let (embedder, guard) = (opened("model = 'm'\nbase_url = 'http://127.0.0.1:9/v1'"), Guard::default());
    let model = VectorModel { name: embedder.name().to_owned(), dimension: 16 };
    assert_eq!(embedder.query(&guard, &model, " \n").await.unwrap(), None);
}

#[test]
fn models_get_the_prefixes_they_were_trained_with() {
    assert_eq!(prefixes("nomic-embed-text:v1.5"), ("search_document: ", "search_query: "));
    assert_eq!(prefixes("intfloat/Multilingual-E5-small"), ("passage: ", "query: "));
    assert_eq!(prefixes("text-embedding-3-small"), ("", ""));
}
