//! Questions that an agent asks the user through a tool: the names of such tools, and their arguments.

use serde_json::Value;

use crate::json::Json;

/// Names of tools that ask the user, in lower case and without separators.
const TOOLS: &[&str] = &[
    "askquestion", "askquestions", "askuser", "askuserquestion", "askuserquestions", "question", "questionnaire",
    "requestuserinput", "vscodeaskquestions",
];
/// What agents add to the option that they recommend, in lower case.
const RECOMMENDED: &[&str] = &[
    "(recommended)", "(推荐)", "（推荐）", "(推薦)", "（推薦）", "(おすすめ)", "（推奨）", "(empfohlen)",
    "(recomendado)", "(recomendada)", "(recommandé)",
];
/// Maximum number of questions of one call.
const MAX_QUESTIONS: usize = 20;

/// A question as it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    pub(crate) text: String,
    /// The names by which a result may refer to the question: its id, its heading, and its position.
    pub(crate) names: Vec<String>,
    options: Vec<Choice>,
}

/// A suggested answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Choice {
    id: String,
    label: String,
    description: String,
}

/// Returns the questions in a call of `tool` with these arguments, which may be JSON inside a string.
pub(crate) fn questions(tool: &str, arguments: &Value) -> Vec<Question> {
    if !asks(tool) {
        return Vec::new();
    }
    let parsed = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let arguments = parsed.as_ref().unwrap_or(arguments);
    let several = arguments["questions"].list();
    let all = if several.is_empty() { std::slice::from_ref(arguments) } else { several };
    all.iter().take(MAX_QUESTIONS).enumerate().filter_map(|(place, one)| question(place, one)).collect()
}

/// Returns whether a tool of this name asks the user.
pub(crate) fn asks(tool: &str) -> bool {
    // The tool of another program, such as `mcp__x__ask_user`, could put words into the user's mouth.
    let name: String = tool.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    TOOLS.contains(&name.as_str())
}

fn question(place: usize, asked: &Value) -> Option<Question> {
    let text = asked.first_owned(&["question", "prompt", "message", "title"])?;
    let names = ["id", "header", "title", "label"].iter().filter_map(|key| asked[*key].owned());
    let options = ["options", "choices"].iter().flat_map(|key| asked[*key].list());
    let option = |one: &Value| Choice {
        id: one["id"].string().to_owned(),
        label: one.text().or_else(|| one.first_text(&["label", "title", "value"])).unwrap_or_default().to_owned(),
        description: one["description"].string().to_owned(),
    };
    Some(Question { text, names: names.chain([place.to_string()]).collect(), options: options.map(option).collect() })
}

impl Question {
    /// Returns a question without options.
    pub(crate) fn plain_text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Returns the question with its options.
    pub(crate) fn shown(&self) -> String {
        let options = self.options.iter().map(|option| match option.description.as_str() {
            "" => format!("\n- {}", option.label),
            description => format!("\n- {}: {description}", option.label),
        });
        format!("{}{}", self.text, options.collect::<String>())
    }

    /// Returns whether a result refers to the question by this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        // VS Code numbers the questions of a form: `form:0`.
        let number = name.rsplit_once(':').map(|(_, number)| number);
        self.text == name || self.names.iter().any(|one| one == name) || self.names.last().map(String::as_str) == number
    }

    /// Returns an answer in the user's words: an option instead of its id, and without the agent's recommendation.
    pub(crate) fn plain(&self, answer: &str) -> String {
        let chosen = self.options.iter().find(|option| !option.id.is_empty() && option.id == answer);
        let answer = chosen.map_or(answer, |option| &option.label).trim();
        // Codex marks typed text, which would otherwise look like a further option.
        let answer = answer.strip_prefix("user_note:").unwrap_or(answer).trim();
        let end = RECOMMENDED.iter().find_map(|mark| answer.to_lowercase().ends_with(mark).then_some(mark.len()));
        answer[..answer.len() - end.unwrap_or(0)].trim().to_owned()
    }
}
