//! The words that guards listen to, in English, Chinese, Japanese, Korean, Spanish and German.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::text::{Script, Word};

/// What a cue tells about the claim that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consolidate) enum Cue {
    /// Looks like another cue and is none.
    Neutral,
    /// Turns the claim round.
    Negate,
    /// Turns the claim round and stands for the positive word given.
    Against(&'static str),
    /// Stands for the word given.
    Means(&'static str),
    /// It happened once.
    Once,
    /// It is usually so.
    Habit,
    /// It holds except somewhere.
    Except,
    /// It is intended, not yet so.
    Planned,
    /// The world moved on.
    Changed,
    /// It moved on, and the claim is turned round: `no longer`.
    Ended,
    /// It was never so.
    Corrected,
    /// It was never so, unless other words say that it changed.
    Actually,
    /// Somebody other than the user.
    Person(&'static str),
    /// One of several surroundings that can differ.
    Setting(&'static str),
    /// A number or a day in words.
    Figure(&'static str),
}

/// Cues by what they tell; alternatives are separated by `|`. The longest match at a place wins.
const CUES: &[(Cue, &str)] = &[
    (
        Cue::Neutral,
        "no problem|not only|why not|if not|不错|不仅|不但|不过|不同|不管|不断|不得不|\
         差不多|要不|不少|不久|不停|没问题|没关系|没错|别人|别的|特别|区别|级别|类别|分别|性别|个别|而不是|无论|无线|非常|\
         少ない|間違いない|なければならない|なければいけない|しかない|かもしれない|問題ない|안녕|안전|안정|안내|동안|不論",
    ),
    (Cue::Means(""), "can't stop|cannot stop|can't wait|no doubt"),
    (
        Cue::Negate,
        "not|don't|doesn't|didn't|isn't|aren't|wasn't|weren't|won't|can't|cannot|couldn't|shouldn't|mustn't|wouldn't|hasn't|haven't|\
         do not|does not|did not|is not|are not|was not|will not|can not|should not|must not|has not|have not|without|no|none|neither|\
         nor|lacks|refuses to|fails to|unable to|不会|不要|不能|不可|不应|不|没有|没|未|别|勿|无法|无需|禁止|並不|拒绝|\
         ません|ない|なかった|ず|禁止|않|못|없|안|금지|말라|no quiere|sin|tampoco|ni|nicht|kein|keine|keinen|keiner|keinem|ohne|\
         n't|verboten|prohibido|不可以|并不|并没有",
    ),
    (
        Cue::Ended,
        "no longer|not anymore|not any more|anymore|stopped|quit|gave up|ceased|不再|停止|戒了|戒掉|放弃|やめた|辞めた|그만|\
         끊었|ya no|dejó de|dejo de|nicht mehr|aufgehört|hörte auf",
    ),
    (
        Cue::Against("like"),
        "dislikes|dislike|disliked|hates|hate|hated|can't stand|cannot stand|loathes|detests|not a fan of",
    ),
    (Cue::Means("like"), "likes|like|liked|loves|love|enjoys|enjoy|is fond of|is a fan of"),
    (Cue::Against("喜欢"), "讨厌|厌恶|反感|受不了"),
    (Cue::Means("喜欢"), "喜欢|喜爱|爱好|喜歡"),
    (Cue::Against("好き"), "嫌い|苦手"),
    (Cue::Means("好き"), "好き|好む"),
    (Cue::Against("좋아"), "싫어|싫다|질색"),
    (Cue::Against("gust"), "odia|detesta|no le gusta|no le gustan"),
    (Cue::Means("gust"), "le gusta|le gustan"),
    (Cue::Against("mag"), "hasst|verabscheut|mag nicht|mag kein|mag keinen|mag keine"),
    (Cue::Against("use"), "avoids|avoid|avoiding|避免|避ける|피한|evita|vermeidet"),
    (
        Cue::Against("enabl"),
        "disabled|disables|disable|turned off|turns off|禁用|关闭|無効|비활성|desactivado|deaktiviert",
    ),
    (Cue::Means("enabl"), "enabled|enables|enable|turned on|turns on|启用|开启|有効|활성|activado|aktiviert"),
    (Cue::Against("allow"), "forbids|forbidden|prohibits|prohibited|disallows|disallowed|bans|banned"),
    (Cue::Means("allow"), "allows|allowed|permits|permitted"),
    (Cue::Against("须"), "不必|不用"),
    (
        Cue::Once,
        "yesterday|today|tonight|tomorrow|last night|last week|last month|last friday|this morning|this time|this once|just once|\
         once|for now|temporarily|one-off|just this|just for today|昨天|今天|明天|今晚|昨晚|上周|刚才|这次|这一次|这回|一次|临时|暂时|\
         昨日|今日|明日|先週|今回|一度|一時的|어제|오늘|내일|이번에|이번|한번|한 번|임시|ayer|hoy|mañana|anoche|esta vez|una vez|\
         temporalmente|gestern|heute|morgen|diesmal|einmal|letzte woche|vorübergehend",
    ),
    (
        Cue::Habit,
        "always|usually|every day|every morning|every week|every|each day|generally|often|regularly|normally|typically|by default|daily|\
         weekly|habitually|most days|总是|通常|每天|每周|每次|每年|经常|一般|一直|习惯|默认|平时|いつも|毎日|毎朝|毎週|普段|常に|항상|\
         매일|매주|보통|늘|자주|siempre|suele|cada día|cada|normalmente|todos los días|immer|jeden tag|jeden|normalerweise|meistens|\
         üblicherweise|täglich",
    ),
    (
        Cue::Except,
        "except|unless|apart from|other than|but not on|除了|除非|以外|除外|제외|excepto|salvo|a menos que|außer|ausgenommen",
    ),
    (
        Cue::Planned,
        "plans to|planning to|plan to|wants to|would like to|intends to|hopes to|is considering|considering|thinking about|might|may move|\
         will move|打算|计划|考虑|想要|希望|つもり|予定|検討|計画|계획|예정|고려|planea|quiere|piensa|plant|möchte|überlegt|will nach",
    ),
    (
        Cue::Changed,
        "moved|moves|switched|switches|migrated|changed|now|replaced|instead of|instead|used to|formerly|previously|relocated|since then|\
         raised|lowered|renamed|upgraded|became|搬到|搬家|搬|换成|换到|改用|改成|改为|迁移|现在|如今|升级|以前|曾经|もう|引っ越し|変更|移行|\
         切り替え|今は|現在|더 이상|이사|바꾸|변경|이제|옮겼|옮기|전환|se mudó|cambió|ahora|migró|antes|umgezogen|gewechselt|jetzt|umgestellt|\
         gezogen|früher|inzwischen",
    ),
    (
        Cue::Corrected,
        "correction|was wrong|were wrong|misspoke|by mistake|mistaken|mistakenly|更正|纠正|说错|记错|搞错|\
         弄错|訂正|間違え|정정|잘못|corrección|me equivoqué|korrektur|geirrt",
    ),
    (Cue::Actually, "actually|in fact|rather than|其实|实际上|実は|사실은|en realidad|eigentlich|tatsächlich"),
    (Cue::Person("sister"), "sister|sister's|姐姐|妹妹|姉|妹|언니|누나|여동생|hermana|schwester"),
    (Cue::Person("brother"), "brother|brother's|哥哥|弟弟|兄|弟|오빠|남동생|hermano|bruder"),
    (Cue::Person("mother"), "mother|mother's|mom|mum|妈妈|母亲|母|어머니|엄마|madre|mutter"),
    (Cue::Person("father"), "father|father's|dad|爸爸|父亲|父|아버지|아빠|padre|vater"),
    (
        Cue::Person("spouse"),
        "wife|wife's|husband|husband's|spouse|妻子|老婆|丈夫|老公|妻|夫|아내|남편|esposa|marido|ehefrau|ehemann",
    ),
    (
        Cue::Person("partner"),
        "partner|partner's|girlfriend|boyfriend|女朋友|男朋友|伴侣|恋人|여자친구|남자친구|novia|novio|freundin",
    ),
    (Cue::Person("child"), "son|son's|daughter|daughter's|儿子|女儿|息子|娘|아들|딸|hijo|hija|sohn|tochter"),
    (Cue::Person("friend"), "friend|friend's|朋友|友人|友達|친구|amigo|amiga|freund"),
    (Cue::Person("colleague"), "colleague|colleague's|coworker|teammate|同事|同僚|동료|colega|kollege|kollegin"),
    (Cue::Person("boss"), "boss|boss's|manager|manager's|老板|上司|经理|상사|jefe|chef|chefin"),
    (Cue::Setting("staging"), "staging|stage|预发|测试环境|ステージング|스테이징"),
    (Cue::Setting("production"), "production|prod|live|生产|线上|本番|프로덕션|운영|producción|produktion"),
    (
        Cue::Setting("development"),
        "development|dev|local|locally|开发环境|本地|開発|ローカル|개발|desarrollo|entwicklung|lokal",
    ),
    (Cue::Setting("frontend"), "frontend|front-end|client|前端|フロントエンド|프론트엔드"),
    (Cue::Setting("backend"), "backend|back-end|server|后端|バックエンド|백엔드|servidor"),
    (Cue::Setting("mobile"), "mobile|ios|android|手机|移动端|モバイル|모바일|móvil"),
    (Cue::Setting("work"), "at work|at the office|工作时|公司里|职场|職場|회사에서|en el trabajo|bei der arbeit"),
    (Cue::Setting("home"), "at home|在家|家里|家で|집에서|en casa|zu hause"),
    (Cue::Setting("weekend"), "weekend|weekends|周末|週末|주말|fin de semana|wochenende"),
    (Cue::Setting("morning"), "morning|mornings|早上|朝|아침|por la mañana|morgens"),
    (Cue::Setting("evening"), "evening|evenings|night|晚上|夜|저녁|밤|por la noche|abends"),
    (Cue::Figure("mon"), "monday|mondays|周一|星期一|月曜日|월요일|lunes|montag|montags"),
    (Cue::Figure("tue"), "tuesday|tuesdays|周二|星期二|火曜日|화요일|martes|dienstag|dienstags"),
    (Cue::Figure("wed"), "wednesday|wednesdays|周三|星期三|水曜日|수요일|miércoles|mittwoch"),
    (Cue::Figure("thu"), "thursday|thursdays|周四|星期四|木曜日|목요일|jueves|donnerstag"),
    (Cue::Figure("fri"), "friday|fridays|周五|星期五|金曜日|금요일|viernes|freitag|freitags"),
    (Cue::Figure("sat"), "saturday|saturdays|周六|星期六|土曜日|토요일|sábado|samstag"),
    (Cue::Figure("sun"), "sunday|sundays|周日|星期日|星期天|日曜日|일요일|domingo|sonntag"),
    (Cue::Figure("m01"), "january|jan|enero|januar"),
    (Cue::Figure("m02"), "february|feb|febrero|februar"),
    (Cue::Figure("m03"), "march|marzo|märz"),
    (Cue::Figure("m04"), "april|apr|abril"),
    (Cue::Figure("m05"), "may|mayo|mai"),
    (Cue::Figure("m06"), "june|jun|junio|juni"),
    (Cue::Figure("m07"), "july|jul|julio|juli"),
    (Cue::Figure("m08"), "august|aug|agosto"),
    (Cue::Figure("m09"), "september|sep|septiembre"),
    (Cue::Figure("m10"), "october|oct|octubre|oktober"),
    (Cue::Figure("m11"), "november|nov|noviembre"),
    (Cue::Figure("m12"), "december|dec|diciembre|dezember"),
    (Cue::Figure("2"), "two|twice|两个|两只|两次|二つ|두|dos|zwei"),
    (Cue::Figure("3"), "three|三个|三只|三次|三つ|세|tres|drei"),
    (Cue::Figure("4"), "four|四个|四只|四つ|네|cuatro|vier"),
    (Cue::Figure("5"), "five|五个|五只|五つ|다섯|cinco|fünf"),
    (Cue::Figure("6"), "six|六个|六只|여섯|seis|sechs"),
    (Cue::Figure("7"), "seven|七个|일곱|siete|sieben"),
    (Cue::Figure("8"), "eight|八个|여덟|ocho|acht"),
    (Cue::Figure("9"), "nine|九个|아홉|nueve|neun"),
    (Cue::Figure("10"), "ten|十个|열|diez|zehn"),
];

/// Negations that turn round everything and say that it is always so.
const NEVER: &str = "never|从不|从来不|从没|从未|绝不|決して|절대|nunca|jamás|nie|niemals";

/// What the cues of a text tell, and the words that are left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each cue is heard or not, independently")]
pub(in crate::consolidate) struct Heard {
    /// Number of cues that turn the claim round.
    pub(in crate::consolidate) negations: usize,
    /// `Once` was heard.
    pub(in crate::consolidate) once: bool,
    /// `Habit` was heard.
    pub(in crate::consolidate) habit: bool,
    /// `Except` was heard.
    pub(in crate::consolidate) except: bool,
    /// `Planned` was heard.
    pub(in crate::consolidate) planned: bool,
    /// `Changed` or `Ended` was heard.
    pub(in crate::consolidate) changed: bool,
    /// `Corrected` was heard.
    pub(in crate::consolidate) corrected: bool,
    /// `Actually` was heard.
    pub(in crate::consolidate) actually: bool,
    /// People named by what they are to the user.
    pub(in crate::consolidate) people: BTreeSet<&'static str>,
    /// Surroundings named.
    pub(in crate::consolidate) settings: BTreeSet<&'static str>,
    /// Numbers and days in words.
    pub(in crate::consolidate) figures: BTreeSet<&'static str>,
    /// The text without grammar-like cues, words separated by spaces.
    pub(in crate::consolidate) rest: String,
}

/// The compiled table: one automaton, and the cue of each of its patterns.
struct Ear {
    automaton: AhoCorasick,
    cues: Vec<(Cue, bool)>,
}

static EAR: LazyLock<Ear> = LazyLock::new(|| {
    let (mut patterns, mut cues) = (Vec::new(), Vec::new());
    let never = NEVER.split('|').map(|text| (Cue::Negate, true, text));
    let listed = CUES.iter().flat_map(|(cue, texts)| texts.split('|').map(move |text| (*cue, false, text)));
    for (cue, always, text) in listed.chain(never) {
        patterns.push(pattern(text.trim()));
        cues.push((cue, always));
    }
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&patterns)
        .expect("the table is far below the automaton's size limit");
    Ear { automaton, cues }
});

/// Words of spaced scripts are matched whole; Han and kana stand inside their run; Korean begins a word.
fn pattern(cue: &str) -> String {
    let run = super::text::words(cue);
    match run.first().map(|word| word.script) {
        Some(Script::Han | Script::Katakana) => cue.to_owned(),
        Some(Script::Hangul) if needs_whole_word(cue) => wrap(cue),
        Some(Script::Hangul) => cue.split(' ').collect::<Vec<_>>().join("  "),
        Some(Script::Spaced) | None => cue.split(' ').map(wrap).collect(),
    }
}

/// Korean cues of one syllable are common inside of other words; the negations that end a verb are not.
fn needs_whole_word(cue: &str) -> bool {
    cue.chars().count() == 1 && !matches!(cue, "않" | "없" | "못")
}

fn wrap(word: &str) -> String {
    format!(" {word} ")
}

/// Listens to `words` and returns what their cues tell.
pub(in crate::consolidate) fn hear(words: &[Word]) -> Heard {
    let text: String = words.iter().map(|word| wrap(&word.text.to_lowercase())).collect();
    let text = &without_contrast(&text);
    let (mut heard, mut end) = (Heard::default(), 0);
    for found in EAR.automaton.find_iter(text) {
        let (cue, always) = EAR.cues[found.pattern().as_usize()];
        heard.rest.push_str(&text[end..found.start()]);
        heard.rest.push(' ');
        heard.note(cue, &text[found.start()..found.end()]);
        heard.habit |= always;
        end = found.end();
    }
    heard.rest.push_str(&text[end..]);
    heard
}

/// Takes out the first word of `not X but Y`, which denies X and not the claim.
fn without_contrast(text: &str) -> String {
    const PAIRS: &[(&str, &str)] = &[
        (" is  not ", " but "),
        (" ist  nicht ", " sondern "),
        (" nicht ", " sondern "),
        (" no  es ", " sino "),
        ("不是", "而是"),
        ("不是", ",是"),
        ("ではなく", ""),
        ("じゃなく", ""),
        ("이 아니라", ""),
        ("가 아니라", ""),
    ];
    let mut text = text.to_owned();
    for (denial, turn) in PAIRS {
        if let Some(at) = text.find(denial).filter(|at| text[at + denial.len()..].contains(turn)) {
            text.replace_range(at..at + denial.len(), "  ");
        }
    }
    text
}

impl Heard {
    fn note(&mut self, cue: Cue, found: &str) {
        match cue {
            Cue::Neutral => self.rest.push_str(found),
            Cue::Negate => self.negations += 1,
            Cue::Against(word) => {
                self.negations += 1;
                self.rest.push_str(word);
            }
            Cue::Means(word) => self.rest.push_str(word),
            Cue::Once => self.once = true,
            Cue::Habit => self.habit = true,
            Cue::Except => self.except = true,
            Cue::Planned => self.planned = true,
            Cue::Changed => self.changed = true,
            Cue::Ended => {
                self.changed = true;
                self.negations += 1;
            }
            Cue::Corrected => self.corrected = true,
            Cue::Actually => self.actually = true,
            Cue::Person(name) => {
                self.people.insert(name);
                self.rest.push_str(found);
            }
            Cue::Setting(name) => {
                self.settings.insert(name);
                self.rest.push_str(found);
            }
            Cue::Figure(name) => {
                self.figures.insert(name);
            }
        }
        self.rest.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::words;
    use super::*;

    fn heard(text: &str) -> Heard {
        hear(&words(text))
    }

    #[test]
    fn negation_is_heard_in_every_language_and_idioms_are_not() {
        let rows = [
            ("The user does not drink coffee", 1),
            ("The user can't stand coffee", 1),
            ("The user can't stop drinking coffee", 0),
            ("The user no longer drinks coffee", 1),
            ("The user stopped drinking coffee", 1),
            ("The user hates coffee", 1),
            ("The user never drinks coffee", 1),
            ("The user doesn't hate coffee", 2),
            ("The target is not Heroku but Fly.io", 0),
            ("用户不喝咖啡", 1),
            ("用户没有车", 1),
            ("用户觉得这家店不错", 0),
            ("用户讨厌咖啡", 1),
            ("用户别人的车", 0),
            ("不是柏林而是慕尼黑", 0),
            ("ユーザーはコーヒーを飲まない", 1),
            ("ユーザーはコーヒーを飲みません", 1),
            ("ユーザーはテストを書かなければならない", 0),
            ("사용자는 커피를 마시지 않는다", 1),
            ("사용자는 안전 검사를 한다", 0),
            ("El usuario no bebe café", 1),
            ("El usuario ya no bebe café", 1),
            ("Der Nutzer trinkt keinen Kaffee", 1),
            ("Der Nutzer trinkt nicht mehr Kaffee", 1),
        ];
        for (text, negations) in rows {
            assert_eq!(heard(text).negations, negations, "{text}");
        }
    }

    #[test]
    fn scope_plans_people_and_change_are_heard() {
        assert!(heard("用户每天跑步").habit && !heard("用户每天跑步").once);
        assert!(heard("The user skipped lunch yesterday").once);
        assert!(heard("El usuario siempre cena tarde").habit);
        assert!(heard("The user never eats meat").habit);
        assert!(heard("用户打算搬到柏林").planned);
        assert!(heard("Runs tests except on Windows").except);
        assert_eq!(heard("用户的姐姐住在柏林").people, BTreeSet::from(["sister"]));
        assert_eq!(heard("Die Schwester wohnt in Berlin").people, BTreeSet::from(["sister"]));
        assert!(heard("사용자는 이제 서울에 산다").changed);
        assert!(heard("実は東京に住んでいる").actually);
        assert_eq!(heard("standup on Fridays").figures, heard("周五开会").figures);
    }

    #[test]
    fn every_cue_is_found_where_it_stands_alone() {
        for (cue, texts) in CUES {
            for text in texts.split('|').map(str::trim) {
                let found = EAR.automaton.find(&heard_form(text)).unwrap_or_else(|| panic!("{text}"));
                assert_eq!(EAR.cues[found.pattern().as_usize()].0, *cue, "{text}");
            }
        }
    }

    fn heard_form(text: &str) -> String {
        words(text).iter().map(|word| wrap(&word.text.to_lowercase())).collect()
    }
}
