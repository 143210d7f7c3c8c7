//! The table of formats, and the detection of a format by content.

use crate::{Folder, Head, IngestError, Ingestor, Input, agents, api, assistants, datasets, people, text};

/// Every readable format, in the order in which detection tries them.
pub const INGESTORS: &[&dyn Ingestor] = &[
    // Formats with unique marks come first; general formats and formats that must be guessed come last. The first
    // group: agents.
    &agents::claude_code::ClaudeCode,
    &agents::claude_export::ClaudeExport,
    &agents::codex::Codex,
    &agents::aider::Aider,
    &agents::gemini_cli::GeminiCli,
    &agents::qwen_code::QwenCode,
    &agents::antigravity::Antigravity,
    &agents::cline::Cline,
    &agents::continue_dev::Continue,
    &agents::blockcell::Blockcell,
    &agents::goose::Goose,
    &agents::hermes::Hermes,
    &agents::opencode::OpenCode,
    &agents::copilot_chat::CopilotChat,
    &agents::copilot_replay::CopilotReplay,
    &agents::copilot_cli::CopilotCli,
    &agents::cursor::Cursor,
    &agents::zed::Zed,
    &agents::devin::Devin,
    &agents::cursor_agent::CursorAgent,
    &agents::cursor_export::CursorExport,
    &agents::entire::Entire,
    &agents::swe_agent::SweAgent,
    &agents::openhands::OpenHands,
    //
    // Assistants.
    &assistants::chatgpt::ChatGpt,
    &assistants::deepseek::DeepSeek,
    &assistants::claude_ai::ClaudeAi,
    &assistants::claude_ai::ClaudeDesign,
    &assistants::open_webui::OpenWebUi,
    &assistants::librechat::LibreChat,
    &assistants::chatbot_ui::ChatbotUi,
    &assistants::gemini_takeout::GeminiTakeout,
    &assistants::ai_studio::AiStudio,
    &assistants::grok::Grok,
    &assistants::lm_studio::LmStudio,
    //
    // Requests, replies and traces of programs.
    &api::openai_batch::OpenAiBatch,
    &api::openai_responses::OpenAiResponses,
    &api::anthropic::Anthropic,
    &api::langchain::LangChain,
    &api::langfuse::Langfuse,
    &api::otel_genai::OtelGenAi,
    //
    // People.
    &people::telegram::Telegram,
    &people::discord::Discord,
    &people::messenger::Messenger,
    &people::mbox::Mbox,
    &people::slack::Slack,
    &people::zulip::Zulip,
    &people::google_chat::GoogleChat,
    &people::captions::WebVtt,
    &people::captions::Srt,
    &people::zoom_chat::ZoomChat,
    &people::irc::Irc,
    &people::google_meet::GoogleMeet,
    &people::paragraphs::Otter,
    &people::paragraphs::TeamsText,
    &people::whatsapp::WhatsApp,
    //
    // Datasets.
    &datasets::Locomo,
    &datasets::LongMemEval,
    &datasets::ShareGpt,
    &datasets::HfChat,
    &datasets::Oasst,
    &datasets::WildChat,
    //
    // Formats that are general or must be guessed.
    &api::openai_chat::OpenAiChat,
    &text::Plain,
];

/// Returns the ingestor called `name`.
///
/// # Errors
/// [`IngestError::NoSuchFormat`] if no ingestor has this name.
pub fn by_name(name: &str) -> Result<&'static dyn Ingestor, IngestError> {
    INGESTORS
        .iter()
        .copied()
        .find(|ingestor| ingestor.name() == name)
        .ok_or_else(|| IngestError::NoSuchFormat { name: name.to_owned() })
}

/// Returns the first ingestor, in the order of [`INGESTORS`], that reads `folder` as a whole.
#[must_use]
pub fn detect_folder(folder: &Folder) -> Option<&'static dyn Ingestor> {
    INGESTORS.iter().copied().find(|ingestor| ingestor.sniff_folder(folder))
}

/// Returns the first ingestor, in the order of [`INGESTORS`], that recognises `input`.
///
/// # Errors
/// [`IngestError::UnknownFormat`] if no ingestor recognises the input.
pub fn detect(input: &Input) -> Result<&'static dyn Ingestor, IngestError> {
    let head = Head::of(input);
    INGESTORS
        .iter()
        .copied()
        .find(|ingestor| ingestor.sniff(&head))
        .ok_or_else(|| IngestError::UnknownFormat { path: input.path.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_every_format() {
        let readme = include_str!("../README.md");
        let row = |line: &str| {
            let (name, about) = line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ")?;
            Some((name.to_owned(), about.to_owned()))
        };
        let mut listed: Vec<_> = readme.lines().filter_map(row).collect();
        let mut known: Vec<_> =
            INGESTORS.iter().map(|format| (format.name().to_owned(), format.about().to_owned())).collect();
        listed.sort();
        known.sort();
        assert_eq!(listed, known);
    }
}
