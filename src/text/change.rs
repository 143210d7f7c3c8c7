//! Phrases that express that something has ended or changed, with the words for that thing.
//!
//! A phrase counts only if it is explicit and its subject is the speaker or the thing itself, or is missing, as in "we
//! moved off Heroku", "Heroku is gone" and "forget what I said about Heroku". Statements about actions of other people,
//! questions and suppositions do not count.

use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::pattern_set::PatternSet;

/// The kind of change that a phrase expresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeEffect {
    /// The thing has ended.
    Ended,
    /// Something else replaces the thing, as in "instead of tabs".
    Replaced,
    /// The thing has another value, as in "the port was changed to 8080".
    Moved,
}

/// A phrase that expresses a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangePassage {
    /// The kind of change.
    pub kind: ChangeEffect,
    /// The words for the thing, without articles.
    pub named: String,
    /// Whether the thing is the subject of its clause, as in "Heroku is gone".
    pub is_subject: bool,
    /// The matter that somebody no longer handles, such as "the release checklist" in "Tomasz handed the release
    /// checklist over".
    pub matter: Option<String>,
    /// The rest of the clause after the name.
    pub rest: String,
    /// The whole clause.
    pub clause: String,
    /// The words of the clause before the phrase, such as the subject of a Chinese sentence.
    pub lead: String,
    /// The verb of what no longer happens, if the phrase leaves it open: `own` in "no longer own".
    pub verb: Option<String>,
}

/// Patterns of a language. `@S` is the start of a clause, and `@W` an optional first person with adverbs. The group
/// `old` is the name of the thing, and `what` the matter.
struct Forms {
    ended: &'static [&'static str],
    replaced: &'static [&'static str],
    moved: &'static [&'static str],
}

const START: &str = r#"(?:^|[,;:!?…"“„«(]\s*|[.。！，；：]\s*|\s[–—-]\s|\b(?:and|but|so|und|aber|et|mais|y|pero)\s)"#;
const ENGLISH_WE: &str = r"(?:(?:i|we|they|the user|the team|our team|you can|you may)(?:'ve| have|'re| are|'m| am|'d| had| has|'s)?\s)?(?:(?:just|finally|recently|now|already|also|all|actually|completely|officially|then|since|meanwhile|therefore)\s)*";

const FORMS: &[Forms] = &[
    // English.
    Forms {
        ended: &[
            r"@S@W(?:dropped out of|dropp(?:ed|ing)|ditch(?:ed|ing)|abandon(?:ed|ing)|scrapp(?:ed|ing)|abolish(?:ed|ing)|retir(?:ed|ing)|cancell?(?:ed|ing)|quit(?:ting)?|left|leaving|s(?:old|elling)|replac(?:ed|ing)|stopped (?P<verb>\w+)ing|gave up(?: on)?|given up(?: on)?|g[eo]t rid of|said goodbye to|traded(?: in)?|swapped|resigned from) (?:using |taking |going to |working (?:at|for|with) )?(?P<old>[^,;:!?()]{2,60})",
            r"@S@W(?:moved|moving|switched|switching|migrated|migrating|changed|went|ported|converted|transitioned|got) (?:\S+ ){0,4}?(?:off|away from|out of|from) (?P<old>[^,;:!?()]{2,60})",
            r"@S(?:please )?(?:forget|scrap|ignore|disregard|scratch|never mind|drop|no more|enough of) (?:(?:what|everything|all|anything) (?:i|we) (?:said|wrote|told you) (?:about|on) |the part about )?(?P<old>[^,;:!?()]{2,60})",
            r"@S(?P<old>[^,;:!?()]{2,50}?) (?:is|are|was|were|has been|have been|got|'s) (?:(?:now|all|completely|officially|finally|already) )?(?:gone|out|over|history|dead|cancell?ed|sold|retired|wrong|obsolete|deprecated|decommissioned|scrapped|dropped|abandoned|abolished|discontinued|shut down|switched off|replaced|off the table|no more|a mistake)\b(?P<tail>[^,;:!?()]{0,40})",
            r"@S(?P<old>[^,;:!?()]{2,50}?) (?:didn't|did not|doesn't|does not|don't) (?:stick|work out|last|apply|hold|exist)\b",
            r"@S(?P<old>[^,;:!?()]{2,50}?) (?:has |have )?(?:left (?:the|our) (?:company|team|firm|group|project|job|department)|quit(?: (?:the|our|his|her) (?:company|team|job))?$|stepped down|moved on|ran out|fell through|expired|retired|no longer (?:applies|exists|works|holds)(?:[.,;!]|$))",
            r"@S(?P<old>[^,;:!?()]{2,30}?) (?:has |have )?(?:handed|passed|gave) (?P<what>[^,;:!?()]{2,40}?)(?: over| on)? to ",
            r"@S(?P<old>[^,;:!?()]{2,30}?) (?:isn't|is not|aren't|are not|doesn't|does not|no longer) (?P<what>[^,;:!?()]{2,40}?) (?:any ?more|any longer)\b",
            r"@S(?P<old>[^,;:!?()]{2,30}?) (?:became|turned into|was renamed|is now called) ",
            r"@S(?:i|we|the user|the team) (?:don't|do not|doesn't|does not) (?:(?P<verb>\w+) )?(?P<old>[^,;:!?()]{2,50}?) any ?more\b",
            r"@S(?:i|we|the user|the team) no longer (?P<verb>\w+) (?:in |at |for |with |on )?(?P<old>[^,;:!?()]{2,50})",
        ],
        replaced: &[
            r"\b(?:instead of|rather than|in place of|replacing) (?P<old>[^,;:!?()]{2,60})",
            r"[,;] (?:and )?not (?P<old>[^,;:!?()]{2,40}?)(?: any ?more)?(?:$|[.,;!])",
        ],
        moved: &[
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:has been|have been|was|were|got|is|are) (?:now )?(?:shifted|moved|pushed(?: back)?|changed|raised|lowered|increased|reduced|extended|bumped|switched|postponed|brought forward|set) (?:up |down )?(?:to|by|until) ",
            r"@S@W(?:raised|lowered|increased|reduced|bumped|changed|moved|shifted|extended|pushed|cut|set|updated) (?P<old>[^,;:!?()]{2,40}?) (?:up |down |back )?(?:to|until) ",
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:is|are|costs?|starts?|opens?|runs?) (?:on |at |in )?[^,;:!?()]{1,25}? (?:now|these days|as of|from now on)\b",
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:is|are) now ",
            r"\b(?:the )?new (?P<old>[^,;:!?()]{2,40}?) is ",
        ],
    },
    // German, in which the verb comes last.
    Forms {
        ended: &[
            r"@S(?P<old>[^,;:!?()]{2,50}?) (?:ist|sind|war|waren|wurde|wurden|haben wir|habe ich|hat man) (?:[\wäöüß]+ ){0,4}?(?:geschichte|gekippt|verkauft|storniert|abgesagt|gestrichen|abgeschafft|gekündigt|ersetzt|abgelöst|abgesetzt|weg|raus|vorbei|falsch|verworfen|passé|eingestellt|abgeschaltet|aufgegeben|umbenannt|aufgelöst|beendet)\b",
            r"@S(?:[\wäöüß]+ ){0,3}?(?:habe|haben|hat) (?:ich |wir )?(?:(?:jetzt|nun|inzwischen|endlich|mich|uns|das) )*(?P<old>[^,;:!?()]{2,50}?) (?:gekündigt|storniert|abgesagt|gestrichen|abgeschafft|verkauft|ersetzt|aufgegeben|abgesetzt|verworfen|eingestellt|abgeschaltet|verabschiedet|getrennt|abgelöst|rausgeworfen|aufgehört)\b",
            r"@S(?:ich |wir )?(?P<verb>[\wäöüß]+) (?:[\wäöüß]+ ){0,2}?nicht mehr (?:in|bei|mit|auf|an|für|zu)? ?(?P<old>[^,;:!?()]{2,40})",
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:nutzen|verwenden|benutzen|brauchen|nehmen|machen|gibt es|gilt|gelten) (?:wir |ich )?nicht mehr\b",
            r"@S(?:bitte )?vergiss (?:bitte )?(?:das mit|was ich (?:über|zu|von)|die sache mit|alles über)? ?(?P<old>[^,;:!?()]{2,40})",
            r"\baus (?P<old>[\wäöüßÄÖÜ-]{2,30}) (?:wurde|wird|ist) ",
            r"\b(?:von|vom|weg von) (?P<old>[^,;:!?()]{2,30}?) (?:auf|zu|zum|zur|nach|weg) (?:[^,;:!?()]{1,30} )?(?:umgestiegen|gewechselt|umgestellt|migriert|umgezogen|gezogen)\b",
        ],
        replaced: &[
            r"\b(?:statt|anstatt|anstelle von|an stelle von) (?P<old>[^,;:!?()]{2,60})",
            r", (?:und )?nicht (?:mehr )?(?P<old>[^,;:!?()]{2,40}?)(?:$|[.,;!])",
        ],
        moved: &[
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:ist|sind|wurde|wurden|liegt|beginnt|kostet) (?:[^,;:!?()]{1,30} )?(?:verschoben|verlegt|erhöht|gesenkt|geändert|verlängert|jetzt|nun|ab jetzt)\b",
            r"@S(?:wir|ich) (?:haben|habe) (?P<old>[^,;:!?()]{2,40}?) auf [^,;:!?()]{1,30} (?:erhöht|gesenkt|geändert|gesetzt|verschoben|verlegt|verlängert|umgestellt)\b",
        ],
    },
    // French.
    Forms {
        ended: &[
            r"@S(?:j'ai|on a|nous avons|ils ont|l'équipe a|l'utilisat\w+ a) (?:(?:enfin|tout|finalement|récemment|déjà) )*(?:quitté|abandonné|arrêté|annulé|vendu|remplacé|supprimé|résilié|lâché|laissé tomber|démissionné de|renoncé à|migré de|changé de) (?P<old>[^,;:!?()]{2,50})",
            r"@S(?:oublie[sz]?|laisse[sz]? tomber|stop|fini|terminé|plus de) (?:ce que j'ai dit (?:sur|de|à propos de) )?(?P<old>[^,;:!?()]{2,40})",
            r"@S(?P<old>[^,;:!?()]{2,40}?),? (?:c'est|est|sont|a été|ont été) (?:(?:bien|complètement|enfin|désormais) )?(?:fini|terminé|annulé|abandonné|vendu|mort|supprimé|remplacé|arrêté)\w*\b",
            r"@S(?:je|on|nous) (?:ne |n')(?P<old>[^,;:!?()]{2,50}?) plus\b",
            r"@S(?P<old>[^,;:!?()]{2,30}?) a passé la main",
        ],
        replaced: &[
            r"\b(?:au lieu (?:de |d'|du |des )|à la place (?:de |d'|du |des )|plutôt qu(?:e |'))(?P<old>[^,;:!?()]{2,50})",
            r"(?:,| et) (?:non|pas) (?P<old>[^,;:!?()]{2,40}?)(?:$|[.,;!])",
        ],
        moved: &[
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:passe|est passée?|sera|est|a été (?:renommé|décalé|reporté|avancé|changé)e?) [^,;:!?()]{0,30}?\b(?:désormais|maintenant|à présent|au lieu)\b",
            r"@S(?:j'ai|on a|nous avons) (?:changé|augmenté|baissé|décalé|reporté|avancé|passé) (?P<old>[^,;:!?()]{2,40}?)(?: (?:à|au|de) |$|[.,])",
        ],
    },
    // Spanish.
    Forms {
        ended: &[
            r"@S(?:he|hemos|ya he|ya hemos|nos hemos)? ?(?:dejado|abandonado|cancelado|vendido|reemplazado|sustituido|quitado|dejé|dejamos|abandonamos|cancelé|cancelamos|vendí|vendimos|quitamos) (?:de (?:usar|utilizar) )?(?P<old>[^,;:!?()]{2,40})",
            r"@Sya no (?P<verb>\S+) (?:en |con |de |a )?(?P<old>[^,;:!?()]{2,40})",
            r"@S(?:olvida|olvídate de) (?:lo (?:de|que dije (?:de|sobre)) )?(?P<old>[^,;:!?()]{2,40})",
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:ya no (?P<verb>\S+)|se acabó|está cancelad|está descartad|se fue de la empresa|ha dejado la empresa)",
            r"\b(?:pasado|cambiado|migrado|mudado|pasamos|cambiamos|migramos) de (?P<old>[^,;:!?()]{2,30}?) a ",
        ],
        replaced: &[
            r"\b(?:en (?:vez|lugar) de|en lugar del) (?P<old>[^,;:!?()]{2,50})",
            r", (?:y )?no (?P<old>[^,;:!?()]{2,40}?)(?:$|[.,;!])",
        ],
        moved: &[
            r"@S(?P<old>[^,;:!?()]{2,40}?) (?:es|está|cuesta|empieza|pasa) [^,;:!?()]{0,30}?\b(?:ahora|a partir de ahora)\b",
        ],
    },
    // Words before a name that are not part of it.
    Forms {
        ended: &[
            r"从(?P<old>[^，。；：！？从]{1,16}?)(?:搬走|搬到|搬去|搬出|迁走|迁移|迁到|换到|换成|切到|切换|转到|转学|转成|辞职|离职|改到|改成|改为|改用|撤出|撤走|退出|下来)",
            r"(?:不再|已经不|再也不)(?:使用|用|住在|住|吃|喝|在|去|做|打|是|需要)?(?P<old>[^，。；：！？]{1,16}?)(?:了|$|[，。；！])",
            r"不(?P<old>(?:使用|用|住在|住|吃|喝|打|学|抽|去|做|练|跑|玩|养|上|读|开)[^，。；：！？不]{1,12}?)了",
            r"(?:忘掉|忘了|忽略|别管|不用管)我?(?:之前|上次|以前)?(?:说|讲|提)?过?的?(?P<old>[^，。；：！？]{1,16}?)(?:吧|了|$|[，。；！])",
            r"(?:^|[，。；：！？])(?P<old>[^，。；：！？]{1,16}?)(?:已经|被|都)?(?:取消|作废|停用|下线|卖掉|废弃|淘汰|弃用|停产|解散|关停)了?",
            r"(?:^|[，。；：！？])(?P<old>[^，。；：！？]{1,8}?)(?:已经)?(?:调去|调走|调到|离开了?|离职|辞职)",
            r"(?:放弃|戒|弃用|取消|停用|卖掉|扔掉)了(?P<old>[^，。；：！？]{1,16})",
        ],
        replaced: &[
            r"(?:代替|取代|替代|替换)了?(?P<old>[^，。；：！？]{1,16})",
            r"(?:，|而)不是(?P<old>[^，。；：！？]{1,16})",
            r"把(?P<old>[^，。；：！？]{1,16}?)(?:换成|改成|改为|替换成|改用)",
        ],
        moved: &[
            r"(?:^|[，。；：！？])(?P<old>[^，。；：！？]{1,12}?)(?:已经|现在|都|从今天起|[一二三四五六七八九十\d]+月起?)*(?:改到|改成|改为|调到|调成|挪到|推迟到|提前到|延期到|涨到|降到|换到|换成)",
            r"(?:^|[，。；：！？])(?P<old>[^，。；：！？]{1,12}?)现在(?:是|在|用|为)",
        ],
    },
];

/// Words before a name that do not belong to it.
const BEFORE: &str = "the a an our my your this that these those old all any more using use in on at with for from of by about what is \
    der die das den dem des ein eine einen einem einer unser unsere unserem unseren mein meine meinem meinen bei beim mit von vom für auf aus in im am zum zur über sich die entscheidung \
    le la les l un une des du de d notre nos mon ma mes sur à au aux chez que \
    el los las lo del nuestro nuestra nuestros mi mis en con";

/// Words that end a name.
const AFTER: &str = "and or but so because since for to in on at with when after as over last this yesterday today now completely entirely altogether from into onto \
    by anymore any longer which who until everywhere we i our again ago thing \
    und oder aber weil auf zu nach für seit jetzt nun wir ich mehr \
    et ou mais parce pour depuis dans on je nous c'est cause à \
    y o pero porque para desde ahora";

/// Words that show that a change does not last, has not happened, or was refused.
static PASSING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)[?？]|\b(?:maybe|perhaps|might|should|could we|if|unless|whether|would|wish|until|for now|temporarily|for the moment|this week only|just this once|while|refused|rejected|declined|almost|nearly|proposed|next year|plan(?:s|ned|ning)? to|going to|want(?:s|ed)? to|thinking (?:of|about)|considering)\b",
        r"|\b(?:vielleicht|vorübergehend|vorerst|diese woche|solange|abgelehnt|überleg\w*|denk\w* darüber nach|wenn|falls|irgendwann|sollten|könnten|würde\w*|möchte\w*|fast|beinahe|nächstes jahr|geplant)\b",
        r"|\b(?:peut-être|pour l'instant|temporairement|cette semaine|exceptionnellement|si (?:on|nous|je)|refusé|envisage\w*|pense à|aimerais|voudrais|en discussion|l'an prochain|presque)\b",
        r"|\b(?:quizás?|tal vez|por ahora|temporalmente|esta semana|si (?:nos|yo)|rechazad\w+|pensando en|planea\w*|quisiera|me gustaría|casi)\b",
        r"|要不要|是不是|是否|能不能|暂时|临时|这周|这次|本周|如果|假如|要是|可能|也许|考虑|打算|想要|差点|被否|没通过|拒绝",
    ))
    .expect("the pattern is constant and a test compiles it")
});

/// Words that show that somebody else made the change.
static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b(?:their|his|her|parents|someone|somebody|people|everyone|everybody|friends?|neighbou?rs?)\b",
        r"|\b(?:ihr(?:e[mnr]?)|sein(?:e[mnr]?)?|jemand|leute|eltern)\b|\b(?:leurs?|quelqu'un|parents|voisins?)\b|\b(?:sus|alguien|padres|vecinos?)\b|邻居|别人|人家|有人|他们|她们|父母",
    ))
    .expect("the pattern is constant and a test compiles it")
});

static TABLE: LazyLock<(PatternSet, Vec<ChangeEffect>)> = LazyLock::new(|| {
    let mut patterns: Vec<(String, ChangeEffect)> = Vec::new();
    for forms in FORMS {
        for (kind, forms) in [
            (ChangeEffect::Ended, forms.ended),
            (ChangeEffect::Replaced, forms.replaced),
            (ChangeEffect::Moved, forms.moved),
        ] {
            patterns.extend(
                forms.iter().map(|form| (format!("(?i){}", form.replace("@S", START).replace("@W", ENGLISH_WE)), kind)),
            );
        }
    }
    let (patterns, kinds): (Vec<String>, Vec<ChangeEffect>) = patterns.into_iter().unzip();
    (PatternSet::new(patterns), kinds)
});

/// Returns whether `text` states that somebody changed to something else, even if it does not mention the previous
/// thing.
pub(crate) fn turns_to_another(text: &str) -> bool {
    static TURNS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:switched|moved|migrated|changed|gone|went|converted|transitioned) (?:\w+ ){0,2}?(?:over |back )?to\b",
            r"|\b(?:umgestiegen|umgestellt|gewechselt)\b|\b(?:passée?s?|revenue?s?) (?:à|au|sous|sur)\b|\b(?:cambiado|pasado|pasamos|cambiamos) a\b",
            r"|改用|换成|换到|换为|转到|切换到",
        ))
        .expect("the pattern is constant and a test compiles it")
    });
    TURNS.is_match(text) && !PASSING.is_match(text)
}

/// Returns whether `text` states that the speaker moved to another home.
pub(crate) fn moves_home(text: &str) -> bool {
    static HOME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:i|we)(?:'ve| have)? (?:just |recently )?moved (?:house|flat|home|apartment|cities)\b|\b(?:bin|sind|habe|haben) (?:\w+ ){0,4}?umgezogen\b|\b(?:j'ai|on a|nous avons) déménagé\b|\b(?:me he|nos hemos) mudado\b|我(?:们)?(?:已经|刚)?搬家了|，搬家了")
            .expect("the pattern is constant and a test compiles it")
    });
    HOME.is_match(text) && !PASSING.is_match(text) && !OTHERS.is_match(text)
}

/// Maximum length of a text that is searched, in bytes; statements of changes are short.
const MAX_BYTES: usize = 600;

/// Returns the phrases in `text` that express changes. Sentences with questions, suppositions or temporary changes are
/// ignored.
pub(crate) fn phrases(text: &str) -> Vec<ChangePassage> {
    if text.len() > MAX_BYTES {
        return Vec::new();
    }
    let text = &text.replace('’', "'");
    let (patterns, kinds) = &*TABLE;
    if !patterns.may_match(text) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for sentence in sentences(text).into_iter().filter(|sentence| !PASSING.is_match(sentence)) {
        found.extend(patterns.candidates(sentence).flat_map(|(place, pattern)| {
            pattern.captures_iter(sentence).filter_map(move |hit| phrase(sentence, &hit, kinds[place]))
        }));
    }
    found
}

/// Splits `text` after marks that end a sentence. A full stop within `Fly.io` or `3.10` is not such a mark.
fn sentences(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_spaced = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(c, '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && is_spaced) {
            let end = at + c.len_utf8();
            parts.push(text[start..end].trim());
            start = end;
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn phrase(sentence: &str, hit: &Captures<'_>, kind: ChangeEffect) -> Option<ChangePassage> {
    let (whole, old) = (hit.get(0)?, hit.name("old")?);
    let end = sentence[whole.end()..].find([',', ';', ':', '，', '；']).map_or(sentence.len(), |at| whole.end() + at);
    let clause = &sentence[whole.start()..end];
    if OTHERS.is_match(clause) {
        return None;
    }
    let is_subject = !whole.as_str()[..old.start() - whole.start()].contains(char::is_alphabetic);
    let words: Vec<&str> = old.as_str().split(' ').filter(|word| !word.is_empty()).collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let start = words.iter().position(|word| !is_listed(BEFORE, &bare(word)))?;
    let length = words[start..].iter().position(|word| is_listed(AFTER, &bare(word))).unwrap_or(words.len() - start);
    let named = words[start..start + length].join(" ");
    // French articles are written together with the noun.
    let named = ["l'", "d'", "L'", "D'"].iter().find_map(|one| named.strip_prefix(one)).unwrap_or(&named);
    let named = named.trim_end_matches(['.', '!', '。', '！', ' ', '"', '“', '”', '»']).to_owned();
    let tail = hit.name("tail").map_or("", |tail| tail.as_str());
    let rest = format!("{} {tail}", words[start + length..].join(" ")).trim().to_owned();
    let [matter, verb] = ["what", "verb"].map(|name| hit.name(name).map(|group| group.as_str().to_owned()));
    let lead = lead(sentence, &whole).to_owned();
    let clause = clause.to_owned();
    (!named.is_empty()).then_some(ChangePassage { kind, named, is_subject, matter, rest, clause, lead, verb })
}

/// Returns the words of the clause before `phrase`; none if the phrase begins the clause.
fn lead<'a>(sentence: &'a str, phrase: &Match<'_>) -> &'a str {
    let begins = phrase.as_str().starts_with(|c: char| !c.is_alphanumeric());
    let before = if begins { "" } else { &sentence[..phrase.start()] };
    before.rsplit([',', ';', ':', '.', '，', '；', '：', '。']).next().unwrap_or_default().trim()
}

fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// Returns whether `word`, in lower case, is an article, a preposition or a similar word in one of the languages.
pub(crate) fn is_function_word(word: &str) -> bool {
    is_listed(BEFORE, word) || is_listed(AFTER, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_names_what_is_over() {
        for (text, named) in [
            ("We finally moved the mailer off Lettermint: since May it is on Postbox.", "Lettermint"),
            ("Lettermint is gone, mail goes through Postbox.", "Lettermint"),
            ("Forget what I said about Lettermint.", "Lettermint"),
            ("We dropped 3.9 last week.", "3.9"),
            ("Use pear instead of quince for the demo.", "quince"),
            ("The retro was moved to Thursday.", "retro"),
            ("Den Vertrag mit Lettermint haben wir gekündigt.", "Vertrag mit Lettermint"),
            ("Statt Quitte nehmen wir Birne.", "Quitte"),
            ("On a quitté Lettermint.", "Lettermint"),
            ("Ya no usamos Lettermint.", "Lettermint"),
            ("邮件已经从信使换到邮筒了。", "信使"),
        ] {
            let found: Vec<String> = phrases(text).into_iter().map(|phrase| phrase.named).collect();
            assert!(found.iter().any(|one| one == named || one.starts_with(named)), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_asked_supposed_passing_or_done_by_others_is_none() {
        for text in [
            "Should we drop Lettermint?",
            "If we dropped Lettermint, we would save money.",
            "We moved off Lettermint for now.",
            "The plan to leave Lettermint was rejected.",
            "My parents cancelled their trip to Malta.",
            "We never dropped Lettermint.",
            "We decided not to drop Lettermint.",
            "Wir sind vorübergehend von Birne auf Quitte umgestiegen.",
            "如果不用信使了呢？",
        ] {
            assert_eq!(phrases(text), [], "{text}");
        }
    }
}
