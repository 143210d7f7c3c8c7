//! The text of a mail, cut into what its author wrote and what was quoted, passed on or appended.

use std::sync::LazyLock;

use regex::Regex;

/// Most lines over which a mail program spreads `On … X wrote:`.
const ATTRIBUTION_LINES: usize = 3;
/// Longest such text, in bytes.
const LONGEST_ATTRIBUTION: usize = 400;
/// Lines in which the headers of a mail that is quoted as a whole stand.
const HEADER_LINES: usize = 6;

/// What a stretch of a mail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Stretch {
    /// The author's own words.
    Own,
    /// Words of others that the author answers between the lines; they give the answers their sense.
    Quoted,
    /// Words of others behind the author's: the mail that is answered, which the thread holds anyway.
    Trailing,
    /// A mail of others that the author passes on.
    Forwarded,
}

/// Cuts `text` into stretches; signatures and the footers of lists are left out.
#[must_use]
pub fn stretches(text: &str) -> Vec<(Stretch, String)> {
    let lines: Vec<&str> = text.split('\n').map(str::trim_end).collect();
    let mut found = Found::default();
    let mut place = 0;
    while let Some(line) = lines.get(place) {
        let rest = &lines[place..];
        place += 1;
        if let Some(count) = attribution(rest) {
            let answered = rest[count..].iter().find(|line| !line.is_empty());
            if !answered.is_none_or(|line| line.starts_with('>')) {
                found.rest(Stretch::Trailing, &rest[count..]);
                break;
            }
            rest[..count].iter().for_each(|line| found.add(Stretch::Quoted, line));
            place += count - 1;
        } else if line.starts_with('>') {
            found.add(Stretch::Quoted, unquoted(line));
        } else if *line == "--" {
            place += rest[1..].iter().take_while(|line| !line.starts_with('>') && !is_cut(line)).count();
        } else if is_footer(rest) {
            break;
        } else if FORWARD.is_match(line) {
            found.rest(Stretch::Forwarded, &rest[1..]);
            break;
        } else if ORIGINAL.is_match(line) || is_header_block(rest) {
            found.rest(Stretch::Trailing, rest);
            break;
        } else {
            found.add(Stretch::Own, line);
        }
    }
    found.finish()
}

#[derive(Default)]
struct Found {
    stretches: Vec<(Stretch, String)>,
}

impl Found {
    fn add(&mut self, stretch: Stretch, line: &str) {
        match self.stretches.last_mut() {
            Some((last, text)) if *last == stretch || line.is_empty() => {
                text.push('\n');
                text.push_str(line);
            }
            Some(_) | None => self.stretches.push((stretch, line.to_owned())),
        }
    }

    fn rest(&mut self, stretch: Stretch, lines: &[&str]) {
        let text: Vec<&str> = lines.iter().map(|line| unquoted(line)).collect();
        self.stretches.push((stretch, text.join("\n")));
    }

    fn finish(mut self) -> Vec<(Stretch, String)> {
        for (stretch, text) in &mut self.stretches {
            if *stretch == Stretch::Own {
                without_last_rules(text);
            }
            *text = text.trim().to_owned();
        }
        self.stretches.retain(|(_, text)| !text.is_empty());
        let answered = self.stretches.iter().any(|(stretch, _)| *stretch == Stretch::Own);
        if let Some((last @ Stretch::Quoted, _)) = self.stretches.last_mut().filter(|_| answered) {
            *last = Stretch::Trailing;
        }
        self.stretches
    }
}

/// Takes off the lines that a phone appends, and those that are drawn before a quoted mail.
fn without_last_rules(text: &mut String) {
    loop {
        let kept = text.trim_end().len();
        text.truncate(kept);
        let start = text.rfind('\n').map_or(0, |place| place + 1);
        let last = text[start..].trim();
        let is_rule = last.len() >= 10 && last.chars().all(|c| matches!(c, '_' | '-' | '=' | '*'));
        if last.is_empty() || !is_rule && !PHONE.is_match(last) {
            return;
        }
        text.truncate(start);
    }
}

fn unquoted(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// Whether a mail of others begins at `line`, whatever stands behind it.
fn is_cut(line: &str) -> bool {
    FORWARD.is_match(line) || ORIGINAL.is_match(line) || attribution(&[line]).is_some()
}

/// Returns how many of the first lines say who wrote what follows.
fn attribution(lines: &[&str]) -> Option<usize> {
    let is_short = |line: &str| {
        line.len() <= LONGEST_ATTRIBUTION && (SHORT_ATTRIBUTION.is_match(line) || ADDRESS_ATTRIBUTION.is_match(line))
    };
    let quotes = |from: usize| {
        let next = lines.get(from..).and_then(|lines| lines.iter().find(|line| !line.is_empty()));
        next.is_some_and(|line| line.starts_with('>'))
    };
    if lines.first().is_some_and(|line| is_short(line)) && quotes(1) {
        return Some(1);
    }
    if let [first, second, ..] = lines
        && second.len() <= LONGEST_ATTRIBUTION
        && first.len() <= LONGEST_ATTRIBUTION
        && quotes(2)
        && ADDRESS_ATTRIBUTION.is_match(&format!("{first} {second}"))
    {
        return Some(2);
    }
    let mut joined = String::new();
    for (place, line) in lines.iter().take(ATTRIBUTION_LINES).enumerate() {
        if line.is_empty() || line.starts_with('>') || joined.len() + line.len() > LONGEST_ATTRIBUTION {
            return None;
        }
        joined.push_str(line);
        joined.push(' ');
        let has_date = joined.bytes().any(|byte| byte.is_ascii_digit());
        if has_date && ATTRIBUTION.is_match(joined.trim_end()) {
            return Some(place + 1);
        }
    }
    None
}

/// Whether the first of `lines` and those behind it are the headers of a mail, as Outlook quotes them.
fn is_header_block(lines: &[&str]) -> bool {
    SENDER.is_match(lines[0])
        && lines.iter().skip(1).take(HEADER_LINES).filter(|line| FIELD.is_match(line)).count() >= 2
}

/// Whether the footer of a mailing list begins.
fn is_footer(lines: &[&str]) -> bool {
    let is_rule = lines[0].len() >= 20 && lines[0].bytes().all(|byte| byte == b'_' || byte == b'-');
    let next =
        || lines.iter().skip(1).take(2).any(|line| line.contains("mailing list") || line.contains("unsubscribe"));
    is_rule && next()
}

macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)*) => {$(
        $(#[$doc])*
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("the pattern is constant"));
    )*};
}

patterns! {
    /// `On 5 March 2026, X wrote:` in the languages of mail programs.
    ATTRIBUTION = concat!(
        r"(?i)^\W{0,2}(?:on|am|le|el|em|il|op|den|pe|dnia|在|于|於|[0-9]{4}[年/-]).{5,}",
        r"(?:wrote|writes|schrieb|schreef|skrev|(?:a|à) écrit|escribió|escreveu|ha scritto|napisał|写道|寫道)[^:：]* ?[:：]\W{0,2}$",
    );
    /// `X wrote:`, which counts only before quoted lines.
    SHORT_ATTRIBUTION = r"(?i)^[^>].*(?: wrote| writes| schrieb| écrit| escribió|写道|寫道) ?[:：]$";
    /// A date and an address before a colon, whatever the language; it counts only before quoted lines too.
    ADDRESS_ATTRIBUTION = r"^[^>].*[0-9].*<[^<>\s]+@[^<>\s]+>.{0,12}[:：]$";
    FORWARD = concat!(
        r"(?i)^(?:-{2,} ?(?:forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado|messaggio inoltrato|",
        r"mensagem encaminhada|doorgestuurd bericht|转发的邮件|forwarded by .{1,80}) ?-{2,}|",
        r"begin forwarded message:|anfang der weitergeleiteten nachricht:)$",
    );
    ORIGINAL = concat!(
        r"(?i)^-{2,} ?(?:original message|ursprüngliche nachricht|original-nachricht|message d'origine|mensaje original|",
        r"messaggio originale|mensagem original|oorspronkelijk bericht|原始邮件|原始郵件|邮件原件) ?-{2,}$",
    );
    SENDER = r"^\*?(?:From|Von|De|Da|Van|Från|Fra|发件人|寄件者|差出人|보낸 사람|От) ?[:：]";
    FIELD = concat!(
        r"^\*?(?:Sent|Date|To|Subject|Cc|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado(?: el)?|Fecha|Para|Asunto|Inviato|",
        r"Oggetto|A|Verzonden|Aan|Onderwerp|发送时间|日期|收件人|主题|抄送|寄件日期|收件者|主旨|副本|送信日時|日時|宛先|件名|",
        r"보낸 날짜|받는 사람|제목|참조|Отправлено|Дата|Кому|Тема) ?[:：]",
    );
    /// What phones and programs append on their own.
    PHONE = concat!(
        r"^(?:Sent from my .{1,40}|Sent from Mail for .{1,20}|Get Outlook for .{1,40}|Von meinem .{1,40} gesendet\.?|",
        r"Gesendet mit .{1,60}|Envoyé de mon .{1,40}|Enviado desde mi .{1,40}|Inviato da .{1,40}|Enviado do meu .{1,40}|",
        r"发自我的.{1,20}|從我的 ?.{1,20}傳送)$",
    );
}

#[cfg(test)]
mod tests {
    use super::Stretch::{Forwarded, Own, Quoted, Trailing};
    use super::*;

    fn cut(text: &str) -> Vec<(Stretch, String)> {
        stretches(text)
    }

    fn rows(rows: &[(Stretch, &str)]) -> Vec<(Stretch, String)> {
        rows.iter().map(|(stretch, text)| (*stretch, (*text).to_owned())).collect()
    }

    #[test]
    fn the_mail_that_is_answered_is_cut_off_in_each_spelling() {
        let quotes = [
            "On Thu, 5 Mar 2026 at 10:00, Ana Vos <ana@e.org> wrote:\n> Shall we?",
            "On Thu, 5 Mar 2026 at 10:00, Ana Vos\n<ana.with.a.long.address@e.org> wrote:\n\n> Shall we?",
            "Am 05.03.2026 um 10:00 schrieb Ana Vos <ana@e.org>:\n> Shall we?",
            "Le 5 mars 2026 à 10:00, Ana a écrit :\n> Shall we?",
            "在 2026年3月5日，上午10:00，Ana <ana@e.org> 写道：\n\n> Shall we?",
            "Ana wrote:\n> Shall we?",
            "2026年3月5日(木) 10:00 Ana Vos <ana@e.org>:\n\n> Shall we?",
            "2026년 3월 5일 (목) 오전 10:00, Ana Vos <ana@e.org>님이 작성:\n\n> Shall we?",
            "чт, 5 мар. 2026 г. в 10:00, Ana Vos\n<ana@e.org>:\n\n> Shall we?",
            "________________________________\n差出人: Ana\n送信日時: 木曜日\n宛先: Luís\n件名: Plan\n\nShall we?",
            "보낸 사람: Ana\n보낸 날짜: 목요일\n받는 사람: Luís\n제목: Plan\n\nShall we?",
            "-----Original Message-----\nFrom: Ana\nShall we?",
            "________________________________\nVon: Ana\nGesendet: Donnerstag\nAn: Luís\nBetreff: Plan\n\nShall we?",
            "On Thu, 5 Mar 2026 at 10:00, Ana wrote:\n\nShall we?\n\nAna",
        ];
        for quote in quotes {
            let found = cut(&format!("Yes.\nMonday then.\n\n{quote}"));
            let kinds: Vec<_> = found.iter().map(|(stretch, _)| *stretch).collect();
            assert_eq!((kinds, found[0].1.as_str()), (vec![Own, Trailing], "Yes.\nMonday then."), "{quote}");
            assert!(found[1].1.contains("Shall we?") && !found[1].1.contains("> Shall"), "{quote}");
        }
    }

    #[test]
    fn answers_between_the_lines_keep_what_they_answer() {
        let text = "Ana wrote:\n> Which day?\nMonday.\n\n> Where?\n> Here?\nAt mine.\n> Bye\n> Ana";
        let expected = [
            (Quoted, "Ana wrote:\nWhich day?"),
            (Own, "Monday."),
            (Quoted, "Where?\nHere?"),
            (Own, "At mine."),
            (Trailing, "Bye\nAna"),
        ];
        assert_eq!(cut(text), rows(&expected));
    }

    #[test]
    fn signatures_and_footers_are_left_out() {
        let texts = [
            "Yes.\n-- \nLuís\nHead of Sheds",
            "Yes.\n\nSent from my iPhone",
            "Yes.\n\nVon meinem iPhone gesendet\n",
            "Yes.\n_______________________________________________\nsheds mailing list\nsheds@e.org",
        ];
        for text in texts {
            assert_eq!(cut(text), rows(&[(Own, "Yes.")]), "{text}");
        }
        assert_eq!(cut("Yes.\n-- \nLuís\n> Shall we?"), rows(&[(Own, "Yes."), (Trailing, "Shall we?")]));
    }

    #[test]
    fn what_is_passed_on_is_not_the_authors() {
        let text = "See below.\n\n---------- Forwarded message ---------\nFrom: Ana\n\nThe lease ends.";
        assert_eq!(cut(text), rows(&[(Own, "See below."), (Forwarded, "From: Ana\n\nThe lease ends.")]));
    }

    #[test]
    fn ordinary_sentences_are_the_authors_own() {
        for text in [
            "From: the look of it, we can.\nGood.",
            "On 5 March she told me what he wrote",
            "a -- b\n--- c",
            "x\n\n\ny",
        ] {
            assert_eq!(cut(text), rows(&[(Own, text)]));
        }
        assert_eq!(cut("> only this"), rows(&[(Quoted, "only this")]));
    }
}
