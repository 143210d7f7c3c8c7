//! What a person says for themselves in a message: nothing that they paste, quote, or ask to be worked on.

use crate::text::script::count_han;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::sentence;

/// Longest quotation that may stand within a person's own sentence, in characters: a name, a setting, a label.
const MAX_QUOTED_CHARS: usize = 40;

/// Fewest words, or half as many Chinese characters, of a quotation that is a sentence.
const MIN_SENTENCE_WORDS: usize = 3;

/// Longest text below "what does this mean", in bytes, that may still be the author's own.
const MAX_OWN_BYTES: usize = 200;

/// Returns the sentences that the author of `text` says for themselves, as slices of `text` in order.
pub(super) fn said(text: &str) -> Vec<&str> {
    let own = &text[..foreign_from(text)];
    let quoted = quotations(own);
    let mut sentences = sentence::said(own);
    if !quoted.is_empty() {
        let start = own.as_ptr() as usize;
        sentences.retain(|said| {
            let at = said.as_ptr() as usize - start;
            !quoted.iter().any(|range| range.start < at + said.len() && at < range.end)
        });
    }
    sentences
}

/// Where in `text` foreign words begin: a text to be worked on, one to be made up, or one that is shown.
fn foreign_from(text: &str) -> usize {
    let asked = asked_from(text);
    let shown = SHOWN.find(text).map(|found| text.ceil_char_boundary(found.start() + 1));
    let paste = PASTE.find(text).map(|found| found.start());
    let work = below(text);
    [asked, shown, paste, work].into_iter().flatten().min().unwrap_or(text.len())
}

/// Where in `text` the sentence begins that asks for a text, or for work on one.
pub(super) fn asked_from(text: &str) -> Option<usize> {
    let found = FOREIGN.find(text)?;
    let before = text[..found.start()].char_indices().rev();
    let mut ends = before.filter(|(_, c)| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？'));
    Some(ends.next().map_or(0, |(at, c)| at + c.len_utf8()))
}

/// Where a long text begins of which the paragraph before it says "this".
fn below(text: &str) -> Option<usize> {
    static THIS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:this|these|the following|below|dies(?:en|e|es)|folgende[nrs]?|est[eao]s?|siguiente)\b|这|下面|以下")
            .expect("the pattern is a constant")
    });
    let end = text.find("\n\n")?;
    (text.len() - end > MAX_OWN_BYTES && THIS.is_match(&text[..end])).then_some(end)
}

static FOREIGN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b(?:translat(?:e|ion)|summari[sz]e|sum up|tl;?dr|proofread|rephrase|paraphrase|reword|shorten|fix (?:the |my )?(?:grammar|spelling)|improve (?:the |my |this )(?:text|wording|writing|paragraph|email)|rewrite (?:this|the following|it)|edit (?:this|the following) (?:text|email|paragraph))\b",
        r"|\b(?:write|draft|compose|tell|make up|continue|invent|generate|create|give me)\b[^.!?\n]{0,60}\b(?:story|stories|poem|novel|screenplay|play script|song|lyrics|dialogue|monologue|essay|bio|cover letter|letter|e-?mail|tweet|blog post|speech|resume|persona|sample (?:data|text|conversation)|example (?:sentences?|conversation|prompt)|fake|fictional|scene|diary)\b",
        r"|\b(?:opening of|chapter|scene) (?:a|an|my|of|from)\b[^.!?\n]{0,30}\b(?:novel|story|book|film|play)\b|\bbedtime story\b|\b(?:specimen|sample|model|example) (?:letter|mail|e-?mail|text|notes|log|complaint|review)s?\b|\b(?:scanned|meeting) notes\b|\b(?:exercise|letter|text|notes|log) from an? (?:style guide|course|textbook|tutorial|sample|forum|web ?site)\b",
        r"|\breviews? (?:of|copied|from)\b|\bwhat strangers write\b|\bpost(?:ed)? (?:from|on|in) (?:a |the )?(?:forum|online|web)|\bposted this\b|\bgist of\b|\bbullet points (?:of|from)\b|\bone-line summary\b|\bmake (?:this|it|that)(?: \w+)? (?:more )?(?:polite|formal|shorter|longer|friendlier|nicer|clearer)\b|\btidy this\b|\bformat this\b|\b(?:an?|the) (?:e-?mail|letter|message|note) (?:a|the|my|from|that)\b[^.!?\n]{0,40}\b(?:sent|wrote|posted)\b|\bnotice from\b|\bfound (?:it )?on the web\b|\bfrom a web ?site\b",
        r"|翻译|译成|润色|改写|总结(?:一下)?(?:以下|下面|这)|写一?[个篇首封段].{0,20}(?:故事|小说|诗|剧本|歌词|邮件|信|作文|对话|文章)|[编讲]一?[个段].{0,20}(?:故事|段子|小说)?|(?:下面|以下)(?:是|这)[^。！？\n]{0,12}(?:原文|邮件|信|聊天|文章|通知)",
        r"|\b(?:traduce|traduceme|tradúceme|resume|resúmeme|corrige (?:este|el siguiente)|reescribe|acorta|escribe(?:me)? (?:un|una) (?:cuento|historia|poema|relato|canción|carta|discurso))\b|\b(?:übersetz\w*|fass\w* .{0,30} zusammen|zusammenfassung|korrigier\w* (?:diesen|den folgenden)|umformulier\w*|kürz\w* (?:mir )?(?:diesen|den|das)|schreib\w* (?:mir )?(?:eine?n? )?(?:geschichte|gedicht|märchen|krimi|roman|lied|rede|brief))\b",
    ))
    .expect("the pattern is a constant")
});
/// A line that announces what follows it after a blank line.
static SHOWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:[:：]|\?)[ \t]*(?:\([^)\n]{0,60}\))?[ \t]*\n[ \t]*\n").expect("the pattern is a constant")
});
/// How mails, letters and lists of reviews begin.
static PASTE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?im)^[ \t]*["“„«]?(?:subject|betreff|asunto|from|von|de|主题|发件人)[:：]\s|^[ \t]*["“„«]?(?:dear|to whom it may concern|sehr geehrte|estimad[oa]s?|querid[oa]s?|尊敬的|亲爱的)\b.*,?$|^[*-] \w+\d*: "#)
        .expect("the pattern is a constant")
});

/// Returns where `text` quotes at length, with the marks.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match open {
            Some((start, close)) if c == close => {
                if is_foreign(&text[start..at]) {
                    found.push(start..end);
                }
                open = None;
            }
            None => {
                // An inch is no quotation.
                let close = match c {
                    '"' if !before.is_alphanumeric() => Some('"'),
                    '“' => Some('”'),
                    '„' => Some('“'),
                    '«' => Some('»'),
                    '»' => Some('«'),
                    '「' => Some('」'),
                    '『' => Some('』'),
                    _ => None,
                };
                open = close.map(|close| (at, close));
            }
            Some(_) => {}
        }
        before = c;
    }
    // A quotation that is never closed goes on to the end.
    found.extend(
        open.filter(|(start, _)| text[*start..].chars().count() > MAX_QUOTED_CHARS).map(|(start, _)| start..text.len()),
    );
    found
}

/// Whether a quotation, with the mark that opens it, is somebody's sentence rather than a name or a setting.
fn is_foreign(quoted: &str) -> bool {
    static SPEAKS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)^\W*(?:(?:i|i'm|i’m|i've|we|we're|my|our|ich|wir|mein|meine|unser|unsere|yo|soy|tengo|vivo|estoy|mi|mis|nosotros|nuestro|nuestra|prefiero|trabajo|busco|uso)\b",
            r"|我|我们)",
        ))
        .expect("the pattern is a constant")
    });
    quoted.chars().count() > MAX_QUOTED_CHARS || (SPEAKS.is_match(quoted) && is_sentence(quoted))
}

/// Whether `quoted` has words enough to say something.
fn is_sentence(quoted: &str) -> bool {
    let han = count_han(quoted);
    quoted.split_whitespace().count() >= MIN_SENTENCE_WORDS || han >= 2 * MIN_SENTENCE_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_pasted_or_to_be_worked_on_is_not_said() {
        for (text, own) in [
            ("I use vim. An email a client sent us, shorten it: \"I am allergic to cats.\"", vec!["I use vim."]),
            ("I use vim.\n\n\"To whom it may concern,\nI work nights.\nI sing.\nRon\"", vec!["I use vim."]),
            ("Is this right?\n\nI live in Rome.", vec!["Is this right?"]),
            (
                "It was set to \"continuous\" and must be \"gap\".",
                vec!["It was set to \"continuous\" and must be \"gap\"."],
            ),
            (
                "A 28\" wheel fits. It is a 28\" one, I always take those for my bike.",
                vec!["A 28\" wheel fits.", "It is a 28\" one, I always take those for my bike."],
            ),
            ("She says: \"I am allergic to cats.\"", vec![]),
            ("Er sagt: »Ich hasse Hausaufgaben.« Ich nicht.", vec!["Ich nicht."]),
            ("我喜欢猫。再编一个故事，主角是小狐狸。它住在月亮上。", vec!["我喜欢猫。"]),
        ] {
            assert_eq!(said(text), own, "{text}");
        }
    }
}
