//! A sentence model that runs in this process, from a folder: BERT with mean pooling, such as all-MiniLM-L6-v2.
//!
//! The folder is as its publisher ships it: `config.json`, `model.safetensors`, and `vocab.txt` or `tokenizer.json`.
//! Nothing is downloaded, and nothing that is embedded leaves this machine.

mod bert;
mod weights;
mod wordpiece;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::bert::{Bert, Shape};
use self::weights::Weights;
use self::wordpiece::WordPiece;
use super::EmbedError;

/// Pieces of a text that are read where the folder does not say how many the model was taught.
const DEFAULT_LONGEST: usize = 256;

/// A model in memory.
#[derive(Debug)]
pub struct LocalModel {
    bert: Bert,
    cutter: WordPiece,
    longest: usize,
    name: String,
    folder: PathBuf,
}

impl LocalModel {
    /// Reads the model in `folder`.
    ///
    /// # Errors
    /// [`EmbedError::Folder`], naming the file at fault.
    pub fn read(folder: &Path) -> Result<Self, EmbedError> {
        let wrong = |file: &str| {
            let path = folder.join(file);
            move |reason: String| EmbedError::Folder { path, reason }
        };
        let shape: Shape = json(folder, "config.json")?;
        if let Some(flaw) = shape.flaw() {
            return Err(wrong("config.json")(flaw));
        }
        let weights = Weights::open(&folder.join("model.safetensors")).map_err(wrong("model.safetensors"))?;
        let settings: Value = optional(folder, "tokenizer_config.json")?;
        let lower_case = settings["do_lower_case"].as_bool().unwrap_or(true);
        let cutter = WordPiece::new(vocabulary(folder)?, lower_case).map_err(wrong("vocab.txt"))?;
        let taught: Value = optional(folder, "sentence_bert_config.json")?;
        let taught = taught["max_seq_length"].as_u64().and_then(|length| usize::try_from(length).ok());
        let longest = taught.unwrap_or(DEFAULT_LONGEST).min(shape.max_position_embeddings);
        let pooling: Value = optional(folder, "1_Pooling/config.json")?;
        if pooling["pooling_mode_mean_tokens"] == Value::Bool(false) {
            return Err(wrong("1_Pooling/config.json")("the model does not take the mean of its pieces".to_owned()));
        }
        let bert = Bert::read(weights, shape).map_err(wrong("model.safetensors"))?;
        let shape = bert.shape();
        let name = format!("local/bert-{}x{}-{}", shape.num_hidden_layers, shape.hidden_size, bert.mark());
        Ok(Self { bert, cutter, longest, name, folder: folder.to_owned() })
    }

    /// Returns what tells this model from others, wherever its folder is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the length of its vectors.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.bert.shape().hidden_size
    }

    /// Returns the vector of each text, in their order, on as many threads as the machine has.
    ///
    /// # Errors
    /// [`EmbedError::Folder`] if the weights can no longer be read.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(texts.len()).max(1);
        let one = |text: &&str| self.bert.mean(&self.cutter.cut(text, self.longest));
        let embedded: Result<Vec<_>, String> = std::thread::scope(|scope| {
            // Every n-th text, since those that follow each other are often of one length.
            let share =
                |first: usize| texts.iter().skip(first).step_by(threads).map(one).collect::<Result<Vec<_>, _>>();
            let workers: Vec<_> = (1..threads).map(|first| scope.spawn(move || share(first))).collect();
            let mut shares = vec![share(0)?.into_iter()];
            for worker in workers {
                shares.push(worker.join().map_err(|_| "a thread ended early".to_owned())??.into_iter());
            }
            Ok((0..texts.len()).filter_map(|index| shares[index % threads].next()).collect())
        });
        embedded.map_err(|reason| EmbedError::Folder { path: self.folder.join("model.safetensors"), reason })
    }
}

fn json<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<T, EmbedError> {
    let path = folder.join(file);
    let wrong = |reason: String| EmbedError::Folder { path: path.clone(), reason };
    let text = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
}

/// Returns the file's value, or null where there is no such file.
fn optional(folder: &Path, file: &str) -> Result<Value, EmbedError> {
    if folder.join(file).is_file() { json(folder, file) } else { Ok(Value::Null) }
}

/// As much of `tokenizer.json` as is read.
#[derive(serde::Deserialize)]
struct Tokenizer {
    model: Vocabulary,
}

#[derive(serde::Deserialize)]
struct Vocabulary {
    vocab: HashMap<String, u32>,
}

fn vocabulary(folder: &Path) -> Result<HashMap<String, u32>, EmbedError> {
    let path = folder.join("vocab.txt");
    if let Ok(text) = fs::read_to_string(&path) {
        return Ok((0..).zip(text.lines()).map(|(number, piece)| (piece.to_owned(), number)).collect());
    }
    json::<Tokenizer>(folder, "tokenizer.json").map(|tokenizer| tokenizer.model.vocab)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny() -> LocalModel {
        LocalModel::read(Path::new("tests/embedding/tiny-bert")).unwrap()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn vectors_are_those_of_another_forward_pass() {
        let texts = ["The user drinks tea.", "What does the user drink?", "The shop deploys on Fridays.", "Zürich", ""];
        // The first numbers and the length, computed in double precision by other code.
        let expected = [
            [0.4346, -1.2001, 1.4466, -0.0829, 4.0195],
            [0.5328, -1.1962, 0.8821, -0.0372, 4.021],
            [0.5549, -1.3607, 1.2607, 0.4693, 3.9216],
            [0.461, -1.7151, 0.7599, 0.1907, 4.0983],
            [0.4986, -1.5466, 1.1488, 0.3066, 3.9928],
        ];
        let found = tiny().embed(&texts).unwrap();
        for ((text, vector), expected) in texts.iter().zip(&found).zip(expected) {
            let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
            let told = [vector[0], vector[1], vector[2], vector[3], length];
            let is_close = told.iter().zip(expected).all(|(told, expected)| (told - expected).abs() < 2e-4);
            assert!(is_close && vector.len() == 16, "{text:?}: {told:?} for {expected:?}");
        }
    }

    #[test]
    fn a_text_has_one_vector_whatever_stands_beside_it() {
        let model = tiny();
        let texts: Vec<String> = (0..50).map(|count| "tea with ".repeat(count)).collect();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = model.embed(&borrowed).unwrap();
        for (text, vector) in borrowed.iter().zip(&together) {
            assert_eq!(model.embed(&[text]).unwrap(), std::slice::from_ref(vector), "{text}");
        }
        assert_eq!(model.embed(&[]).unwrap(), Vec::<Vec<f32>>::new());
        assert_eq!((model.dimension(), model.name().starts_with("local/bert-2x16-")), (16, true));
    }

    #[test]
    fn folders_that_hold_no_such_model_are_named_with_what_is_wrong() {
        let broken = |file: &str, content: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            for name in ["config.json", "model.safetensors", "vocab.txt"] {
                fs::copy(Path::new("tests/embedding/tiny-bert").join(name), folder.path().join(name)).unwrap();
            }
            fs::write(folder.path().join(file), content).unwrap();
            let error = LocalModel::read(folder.path()).unwrap_err().to_string();
            error.replace(&folder.path().display().to_string(), "FOLDER")
        };
        let config = fs::read_to_string("tests/embedding/tiny-bert/config.json").unwrap();
        let weights = fs::read("tests/embedding/tiny-bert/model.safetensors").unwrap();
        let rows = [
            broken("config.json", b"{"),
            broken("config.json", config.replace("\"bert\"", "\"t5\"").as_bytes()),
            broken("config.json", config.replace("gelu", "relu").as_bytes()),
            broken("config.json", config.replace("\"hidden_size\": 16", "\"hidden_size\": 32").as_bytes()),
            broken("config.json", config.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3").as_bytes()),
            broken("model.safetensors", &weights[..weights.len() - 1]),
            broken("model.safetensors", b"version https://git-lfs.github.com/spec/v1"),
            broken("model.safetensors", b""),
            broken("vocab.txt", b"tea\n"),
        ];
        insta::assert_snapshot!(rows.join("\n"));
    }

    /// Runs only where the folder of all-MiniLM-L6-v2 is named: it is too large to be kept here.
    #[test]
    fn all_minilm_finds_what_its_publisher_says_it_finds() {
        let Some(folder) = std::env::var_os("AFTERTHOUGHT_TEST_MODEL") else { return };
        let model = LocalModel::read(Path::new(&folder)).unwrap();
        let found = model.embed(&["That is a happy person", "That is a happy dog", "Today is a sunny day"]).unwrap();
        assert!((cosine(&found[0], &found[1]) - 0.6945).abs() < 1e-3);
        assert!((cosine(&found[0], &found[2]) - 0.2569).abs() < 1e-3);
        let Some(table) = std::env::var_os("AFTERTHOUGHT_TEST_VECTORS") else { return };
        let table: Vec<Value> = serde_json::from_slice(&fs::read(table).unwrap()).unwrap();
        let texts: Vec<&str> = table.iter().map(|row| row["text"].as_str().unwrap()).collect();
        for (row, vector) in table.iter().zip(model.embed(&texts).unwrap()) {
            let ids: Vec<u32> = serde_json::from_value(row["ids"].clone()).unwrap();
            assert_eq!(model.cutter.cut(row["text"].as_str().unwrap(), model.longest), ids, "{}", row["text"]);
            let expected: Vec<f32> = serde_json::from_value(row["vector"].clone()).unwrap();
            let cosine = cosine(&vector, &expected);
            assert!(cosine > 0.999_9, "{cosine} for {}", row["text"]);
        }
    }
}
