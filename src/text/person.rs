//! Recognises whom a sentence is about: the user, or a project, a group or somebody else.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern_set::pattern;

static USER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:I|User)(?:['’\s]|$)|(?i:the user|ich|(?:der|die) (?:be)?nutzer(?:in)?|yo|prefiero|(?:el|la) usuari[oa])\b|我(?:[^们]|$)|用户(?:偏好|喜欢|不喜欢|不想|希望|想|更|习惯|倾向|讨厌))",
    )
});

static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:projects?|repo(?:s|sitory|sitories)?|codebase|team|we|our|projekt\w*|wir|unser\w*|proyecto|equipo|nosotr[oa]s|nuestr[oa]s?)\b",
        r"|项目|仓库|代码库|团队|我们|咱们",
        r"|^(?:the\s+)?[\w-]+\s+(?:prefers|likes|dislikes|wants|loves|hates|favou?rs|bevorzugt|mag|möchte|prefiere|quiere)\b",
    ))
});

/// Whether a sentence begins with the person that memories call "the user".
pub(crate) fn is_about_user(text: &str) -> bool {
    USER.is_match(text.trim_start())
}

/// Whether a sentence is about a project, a group, or a person other than the user.
pub(crate) fn is_about_others(text: &str) -> bool {
    !is_about_user(text) && OTHERS.is_match(text.trim_start())
}

static THIS_PROJECT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:this|the|our) (?:project|repo|repository|codebase|code base)\b",
        r"|\b(?:diese[ms]?|dem|das|im|unser(?:em)?) (?:projekt|repo|repository)\b",
        r"|\b(?:este|el|del|al|nuestro) (?:proyecto|repo|repositorio)\b",
        r"|(?:这个|本|该|我们的?)(?:项目|仓库|代码库)|(?:项目|仓库|代码库)(?:里|中|的)",
    ))
});

/// Whether a statement is about the project in which it was made, even if it says what its speaker prefers.
pub(crate) fn is_about_this_project(text: &str) -> bool {
    THIS_PROJECT.is_match(text)
}

static SPEAKER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:I|ich|yo)\b|我"));

static SEVERAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:we|our|us|wir|unser\w*|uns|nosotr[oa]s|nuestr[oa]s?)\b|我们|咱们|大家"));

/// Whether a text is about its speaker alone, so that it says nothing about others.
pub(crate) fn is_about_speaker(text: &str) -> bool {
    SPEAKER.is_match(text) && !SEVERAL.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_user_or_others_or_nobody() {
        let rows: [(&str, bool, bool); 19] = [
            ("I like short answers", true, false),
            ("I'm left-handed", true, false),
            ("The user's editor is Helix.", true, false),
            ("User prefers Python.", true, false),
            ("我喜欢简短的回答", true, false),
            ("用户偏好使用Python，不喜欢Excel", true, false),
            ("Der Nutzer bevorzugt kurze Antworten", true, false),
            ("El usuario prefiere respuestas cortas", true, false),
            ("Prefers Python over JS", false, false),
            ("prefers dark mode", false, false),
            ("Answer in German", false, false),
            ("Prefers US English", false, false),
            ("用户登录使用OAuth", false, false),
            ("我们用制表符缩进", false, true),
            ("The project prefers tabs", false, true),
            ("Use tabs in this repository", false, true),
            ("Our style is British", false, true),
            ("Ana prefers tea", false, true),
            ("Das Projekt bevorzugt Tabs", false, true),
        ];
        for (text, user, others) in rows {
            assert_eq!((is_about_user(text), is_about_others(text)), (user, others), "{text}");
        }
    }
}
