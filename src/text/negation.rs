//! Negation: words that deny something, and phrases that contain such words without denying anything.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is constant and a test compiles it")
}

/// Phrases that contain a negation without denying anything.
static IDIOM: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?i)\b(?:do not|don't|never|not to)\s+(?:forget|hesitate|neglect|fail|miss|worry|mind)\b|\bnot (?:only|just|merely|to mention|bad|least)\b|\bno (?:doubt|problem|worries|matter|wonder|idea)\b",
        r"|\bwhy not\b|\bnever ?mind\b|\b(?:can't|cannot|can not|couldn't) (?:wait|help|stop|agree more|believe|be overstated)\b|\bnothing but\b|\bif not\b|\bwhether or not\b|\bor not\b",
        r"|,\s*(?:isn't|aren't|don't|doesn't|didn't|won't|wasn't|weren't|haven't|hasn't) (?:it|you|he|she|we|they|i)\b|\bno[,.!]",
        r"|\bnicht (?:vergessen|nur|zuletzt|bloß|schlecht)\b|\bvergiss nicht\b|\bkein problem\b|\bnicht wahr\b|\bno (?:solo|sólo|olvides|olvidar|te olvides|hay problema|importa)\b|\bpas (?:seulement|mal|de problème)\b|\bn'oublie",
        r"|不过|不仅|不但|不只|不光|不错|不断|不同|不得不|不管|不论|不论|无论|不好意思|不用谢|不客气|不愧|不禁|不少|不妨|不如|没关系|没问题|没错|没事|没准|非常|非得|除非|未来|未必|别人|别的|别忘|不要忘|特别|区别|级别|类别|别名|性别|分别|识别|差别|告别|差不多|要不要|是不是|能不能|会不会|好不好|有没有|可不可以|对不对|莫非|无线|无比|了不起|不一会|忍不住|不得了",
        r"|忘れないで|だけで(?:は)?なく|に違いない|じゃない[?？]|仕方ない|間違いない|しなければなら(?:ない|ません)|なければならない|なきゃ|뿐만 아니라|잊지 마",
    ))
});

/// Words that express an explicit negation.
static DENIAL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?i)\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n't|dont|doesnt|cant|wont|isnt)\b",
        r"|\b(?:nicht|nie|niemals|nichts|niemand|ohne|weder|kein(?:e[nmrs]?)?)\b|\b(?:nunca|jamás|nada|nadie|ning[uú]n[ao]?|tampoco|sin)\b|\bn(?:e|')\s?\w+(?:\s\w+)? (?:pas|jamais|plus|rien)\b|\b(?:pas|jamais|aucun|sans)\b",
        r"|[不没別别勿未非無]|无|禁止|ない|ません|なかった|ずに|않|못[하해]|없|아니|지 ?마|안 ",
    ))
});

/// Words that may express a negation indirectly, so that the meaning is uncertain.
static NEGATIVE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?i)\b(?:avoid\w*|stop\w*|quit\w*|refus\w*|reject\w*|decline\w*|declin\w*|forbid\w*|forbidden|ban|bans|banned|prohibit\w*|exclu\w*|except\w*|instead|rather|unless|un\w{4,}|in(?:toleran|correct|valid|capable|complete|active|sufficient)\w*|dis\w{3,}|non\w*|\w+less|\w+-free|free of|free from|lack\w*|fail\w*|miss\w*|hate\w*|against|oppos\w*|anti\w*|deny|denie\w*|denial|den(?:ied|ying)",
        r"|drop\w*|remov\w*|replac\w*|switch\w*|mov(?:ed|es|ing)|left|ended|former\w*|previous\w*|used to|once|before|until|only|ex-\w+|away|out of|hardly|rarely|seldom|barely|scarcely|wrong|false|broke\w*|skip\w*|block\w*|prevent\w*|keep\w* .{0,30} from|allerg\w*|vegan|vegetarian|abstain\w*|teetotal\w*|zero|few|little|yet|longer|anymore|cancel\w*|rul(?:e|es|ed|ing) out|turn(?:s|ed)? down|abandon\w*|deprecat\w*|off|but|however|although|wary|reluctan\w*|limit\w*|impossible|separat\w*",
        r"|vermeid\w*|statt\w*|anstatt|sondern|verbot\w*|verbiet\w*|verboten|außer|un\w{4,}|\w+los\w*|\w+frei|aufgehört|aufhör\w*|früher|bis|nur|abgelehnt|ablehn\w*|lehn\w+|verzicht\w*|ausschlie\w*|verworfen|verwirf\w*|raus|hasst|gegen|mehr|allergi\w*|ausgeschlossen|aber|entfern\w*|ersetzt|gewechselt|weg",
        r"|evit\w*|en vez|en lugar|prohib\w*|excepto|salvo|dej(?:a|ó|ar|ado)\w*|odi\w*|contra|rechaz\w*|descart\w*|renunci\w*|alérgic\w*|antes|solo|sólo|pero|falta\w*|ya no|sino|éviter|évite|interdit\w*|sauf|déteste|mais)\b",
        r"|避免|否决|排除|淘汰|不再|停止|拒绝|取消|反对|讨厌|除了|除外|而是|改为|改用|改成|换成|弃用|放弃|戒|忌|过敏|以前|曾|只|仅|替代|代替|少|防止|杜绝|免|缺|失败|错|やめ|避け|嫌|苦手|以外|代わり|アレルギー|控え|금지|싫|대신|만|그만|피하",
    ))
});

/// Pattern of a "no" that is an answer even without a comma, because a complete sentence follows.
static ANSWER: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?i)^\s*(?:no|nope|nah|nein|nee)\s+(?:(?:it|it's|i|i'm|i've|we|we're|they|she|that|that's|this|the|my|our|you|ich|wir|das|der|die|es|sie)\b",
        r"|(?:\w+\s+){1,3}(?:was|is|were|are|does|did|works?|ist|war|sind|waren)\b)",
    ))
});

/// Returns whether `text`, the beginning of a message, starts with a "no" that denies a statement of another person.
pub(crate) fn is_answer(text: &str) -> bool {
    ANSWER.is_match(text)
}

/// Removes phrases that only look like negations.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let straight: Cow<'_, str> = if text.contains('’') { text.replace('’', "'").into() } else { text.into() };
    // The phrase is replaced with a space, so that the words before and after it are not joined.
    match IDIOM.replace_all(&straight, " ") {
        Cow::Borrowed(_) => straight,
        Cow::Owned(changed) => changed.into(),
    }
}

/// Returns the byte range after the first denial in `text`, which must be in plain form, and whether there is another
/// denial.
pub(crate) fn first_denial(text: &str) -> Option<(std::ops::Range<usize>, bool)> {
    let mut found = DENIAL.find_iter(text);
    let first = found.next()?;
    Some((first.range(), found.next().is_some()))
}

/// Returns the byte ranges of the denials in `text`, which must be in plain form.
pub(crate) fn denials(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    DENIAL.find_iter(text).map(|denial| denial.range())
}

/// Returns whether `text` contains a direct or indirect negation.
pub(crate) fn is_negative(text: &str) -> bool {
    DENIAL.is_match(text) || NEGATIVE.is_match(text)
}
