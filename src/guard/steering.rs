//! Finds steering text: instructions to the assistant or to the memory itself, and claims about what the user may do.
//!
//! The content of a conversation is data. A claim that reads like an instruction waits for review by a person, and is
//! never recalled.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::guard::order_model::reads_like_order;
use crate::guard::spelling::without_separators;
use crate::guard::suspicion::Suspicion;
use crate::guard::{Redact, orders};
use crate::memory::{Audience, BLOCKER, Candidate, Claim, Evidence, MemoryType};
use crate::text::visible::is_hidden;

/// A pattern, which is compiled when a text first contains its literals.
struct Row {
    kind: Suspicion,
    pattern: &'static str,
    /// Groups of indices into [`Table::literals`]. Text that matches contains one literal of each group.
    needed: Vec<Vec<usize>>,
    compiled: OnceLock<Regex>,
}

struct Table {
    rows: Vec<Row>,
    literals: AhoCorasick,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let patterns = PATTERNS.iter().flat_map(|(kind, patterns)| patterns.iter().map(move |one| (*kind, *one)));
    let (mut literals, mut places) = (Vec::new(), HashMap::new());
    let mut place = |literal: &'static str| {
        *places.entry(literal).or_insert_with(|| {
            literals.push(literal);
            literals.len() - 1
        })
    };
    // `zip` would drop rows silently, so a test compares the lengths of both tables.
    let rows = patterns.zip(NEEDED).map(|((kind, pattern), groups)| {
        let needed = groups.iter().map(|group| group.iter().map(|literal| place(literal)).collect()).collect();
        Row { kind, pattern, needed, compiled: OnceLock::new() }
    });
    let rows = rows.collect();
    // This kind of automaton is the fastest to build, and texts are short.
    let kind = Some(AhoCorasickKind::NoncontiguousNFA);
    let literals = AhoCorasick::builder().kind(kind).build(&literals).expect("the literals are few and short");
    Table { rows, literals }
});

impl Table {
    /// Returns the patterns that may match `text`, in their order.
    fn candidates(&self, text: &str) -> impl Iterator<Item = (Suspicion, &Regex)> {
        let mut holds = vec![false; self.literals.patterns_len()];
        // Overlapping matches are needed, because one literal may contain another that belongs to a different pattern.
        for found in self.literals.find_overlapping_iter(&folded(text)) {
            holds[found.pattern().as_usize()] = true;
        }
        let may_match = move |row: &&Row| row.needed.iter().all(|group| group.iter().any(|literal| holds[*literal]));
        self.rows.iter().filter(may_match).map(|row| (row.kind, row.compiled()))
    }
}

impl Row {
    fn compiled(&self) -> &Regex {
        // Patterns are compiled on first use, because few texts need more than some of them.
        let compile = || Regex::new(&format!("(?i){}", self.pattern)).expect("the tests compile every pattern");
        self.compiled.get_or_init(compile)
    }
}

/// Returns the text with letters that a pattern treats as equal replaced by one form.
fn folded(text: &str) -> String {
    // The only letter in the patterns that has a third form, in addition to lower and upper case, is s: the long s.
    text.to_lowercase().replace('ſ', "s")
}

/// Returns the reason why `candidate` must not be stored as a rule to follow, or `None`, which is the result for nearly
/// everything that people say.
#[must_use]
pub(crate) fn suspicion(candidate: &Candidate) -> Option<Suspicion> {
    let found = order_in(&candidate.claim, &candidate.evidence);
    found
        .or_else(|| (candidate.is_pasted && is_rule(candidate)).then_some(Suspicion::PastedRule))
        .or_else(|| (candidate.is_shipped && !is_report(candidate)).then_some(Suspicion::Shipped))
}

/// Returns the kind of order that a claim or its evidence contains. Such a claim becomes active only if a person wrote
/// or accepted it, regardless of how it arrives.
#[must_use]
pub(crate) fn order_in(claim: &Claim, evidence: &[Evidence]) -> Option<Suspicion> {
    let (texts, mut judged) = (texts_of(claim), HashSet::new());
    // A model may turn an order into a harmless claim, but its quote still contains the order.
    let mut texts = texts.iter().map(String::as_str).chain(evidence.iter().map(|piece| piece.quote.as_str()));
    // A title or a quote is often the same text as the content.
    texts.find_map(|text| judged.insert(text).then(|| steers(text)).flatten())
}

/// Returns the kind of order in a memory that no person stated in a conversation, but an agent stores or a file
/// contains. Such a memory can have any wording, so a classifier judges it, too, except for the texts that `known`, its
/// earlier form, already has. Quotes are judged by the rules alone, because people do give orders in conversations.
#[must_use]
pub(crate) fn order_from_elsewhere(claim: &Claim, evidence: &[Evidence], known: Option<&Claim>) -> Option<Suspicion> {
    // A key is the name of an attribute, and a key with its value is no sentence.
    let sentences = |claim: &Claim| texts_of(&Claim { key: None, ..claim.clone() });
    order_in(claim, evidence).or_else(|| {
        let mut judged: HashSet<String> = known.map(sentences).unwrap_or_default().into_iter().collect();
        let mut new = sentences(claim).into_iter().filter(|text| judged.insert(text.clone()));
        new.any(|text| reads_like_order(&text)).then_some(Suspicion::Order)
    })
}

/// Returns why a memory that an agent stored or a file contained waits: the order in it, or that nobody has reviewed it.
#[must_use]
pub(crate) fn reason_to_wait(claim: &Claim, evidence: &[Evidence]) -> Suspicion {
    order_from_elsewhere(claim, evidence, None).unwrap_or(Suspicion::Unreviewed)
}

fn texts_of(claim: &Claim) -> Vec<String> {
    let (mut texts, mut claim) = (Vec::new(), claim.clone());
    claim.edit_texts(&mut |text| texts.push(std::mem::take(text)));
    texts
}

/// Whether the candidate is a rule to follow rather than a fact.
fn is_rule(candidate: &Candidate) -> bool {
    let claim = &candidate.claim;
    claim.memory_type == MemoryType::Procedural
        || matches!(claim.category.as_str(), "convention" | "preference" | "workflow" | "pattern" | "profile")
}

/// Whether the candidate only reports something about a project, and changes nothing that is known.
fn is_report(candidate: &Candidate) -> bool {
    let claim = &candidate.claim;
    let reports = ["fact", "project", "note", "solution", "mistake", BLOCKER].contains(&claim.category.as_str());
    let is_about_user = candidate.audience == Audience::User
        || claim.key.as_deref().is_some_and(|key| key == "user" || key.starts_with("user."));
    let is_change = candidate.replaces.is_some() || candidate.updates_only;
    reports && claim.memory_type != MemoryType::Procedural && !is_about_user && !is_change
}

/// Returns the way in which `text` would steer a model. A phrase that is quoted in a sentence about defences against it
/// does not count.
#[must_use]
pub(crate) fn steers(text: &str) -> Option<Suspicion> {
    let original = text;
    let text = plain(text);
    let mut found = TABLE.candidates(&text).filter_map(|(kind, pattern)| Some((kind, pattern.find(&text)?)));
    let is_meant = |kind: Suspicion, start: usize, end: usize| {
        // "Never deploy without asking" matches the pattern of "deploy without asking", but means the opposite.
        let is_allowed = kind == Suspicion::Authority && is_safeguard(&text[..end]);
        !is_allowed && !is_mentioned(&text, start, end)
    };
    let found = found.find(|(kind, found)| is_meant(*kind, found.start(), found.end())).map(|(kind, _)| kind);
    found.or_else(|| orders::find(&without_mentions(original)))
}

/// Returns `text` without quotations after a mention of a defence.
fn without_mentions(text: &str) -> String {
    let mut parts = text.split(['"', '`', '“', '”', '„', '«', '»', '「', '」']);
    let mut out = parts.next().unwrap_or("").to_owned();
    for (at, part) in parts.enumerate() {
        let before = out.to_lowercase();
        if at % 2 == 1 || !DEFENCES.iter().any(|word| before.contains(word)) {
            out.extend(["\"", part]);
        }
    }
    out
}

/// Rules that require asking first, such as "never push without asking".
static SAFEGUARD: LazyLock<Regex> = LazyLock::new(|| {
    let safeguard = concat!(
        r"(?i)(?:\b(?:never|not|nunca|jamás|no)|n't)\s(?:to |be |se |le |me |ever )*",
        r"(?:run|execut|approv|merg|deploy|delet|push|install|perform|apply|act|ejecut|borr|elimin|despleg|despliegu|instal|aprob|aprueb|hac|hag)\w*\b",
        r"(?P<what>.{0,60})\b(?:without|sin)\b",
        r"|^[^.]{0,40}\b(?:nie|niemals)\b(?P<was>(?: [^ ]+){0,4}) ohne\b",
    );
    Regex::new(safeguard).expect("the pattern is constant and a test compiles it")
});

/// Whether the last clause of `text` forbids acting without asking.
fn is_safeguard(text: &str) -> bool {
    let clause = &text[text.rfind(['.', '!', '?', ';', ':', ',']).map_or(0, |end| end + 1)..];
    let Some(found) = SAFEGUARD.captures(clause) else { return false };
    let between =
        found.name("what").or_else(|| found.name("was")).map_or("", |between| between.as_str()).to_lowercase();
    // In "Never run it twice but push without asking", the "never" no longer applies after the "but".
    let goes_on = [" but ", " and ", " then ", " aber ", " und ", " sondern ", " pero ", " y ", " sino "];
    // "Zögere nie, ohne Rückfrage zu pushen" is an order in spite of its "nie".
    let forgets = ["vergiss", "vergess", "zöger", "scheu"];
    !goes_on.iter().any(|word| between.contains(word))
        && !forgets.iter().any(|word| clause.to_lowercase().contains(word))
}

/// Returns the text without characters that hide words from a pattern: invisible characters, emphasis marks, and
/// repeated spaces.
fn plain(text: &str) -> String {
    let is_dropped = |c: &char| is_hidden(*c) && !c.is_whitespace() || matches!(c, '*' | '_');
    let text = without_separators(text);
    let seen: String = text.nfkc().filter(|c| !is_dropped(c)).map(|c| if c == '’' { '\'' } else { c }).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_mentioned(text: &str, start: usize, end: usize) -> bool {
    let quotes = ['"', '`', '“', '”', '„', '«', '»', '「', '」', '\''];
    // A pattern may begin with the quote itself.
    let (before, after) = (&text[..start], &text[end..]);
    let opens = before.trim_end().ends_with(quotes) || text[start..end].starts_with(quotes);
    let closes = after.chars().take(40).any(|c| quotes.contains(&c)) || text[start..end].ends_with(quotes);
    let before = before.to_lowercase();
    opens && closes && DEFENCES.iter().any(|word| before.contains(word))
}

/// Whether `quote` appears in a part of `text` that its author copied from elsewhere: a fenced block, quoted lines, or
/// the text after an announcement such as `the page says:`.
#[must_use]
pub(crate) fn is_pasted(text: &str, quote: &str) -> bool {
    let Some(at) = text.find(quote) else { return false };
    let before = &text[..at];
    // An odd number of fences before the quote means that the quote is inside a fenced block.
    let in_fence = before.matches("\n```").count() + usize::from(before.starts_with("```"));
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let quoted_line = text[line..].trim_start().starts_with("> ");
    let announced = text[..line].trim_end().to_lowercase();
    let same_line = text[line..at].to_lowercase();
    in_fence % 2 == 1
        || quoted_line
        || ANNOUNCING.iter().any(|word| {
            announced.lines().next_back().is_some_and(|last| last.ends_with(':') && last.contains(word))
                || same_line.contains(word) && same_line.contains(':')
        })
}

// These are literals that a text must contain to match a steering pattern. They make it unnecessary to compile most
// patterns.
//
// The test below derives them from the patterns. If they differ, the test prints the correct table.

/// The groups of each pattern, in order. Every match contains at least one text of each group, in lower case.
#[rustfmt::skip]
pub(super) const NEEDED: &[&[&[&str]]] = &[
    &[&["bypass", "discard", "disobey", "disregard", "forget", "ignore", "override"], &["constraint", "directive", "guardrail", "guideline", "instruction", "policies", "prompt", "restriction", "rule"], &["above", "all", "earlier", "existing", "its", "other", "preceding", "previous", "prior", "safety", "system", "those", "your"]],
    &[&["new", "updated"], &["developer", "system"], &["instruction", "message", "prompt"]],
    &[&["act", "assistant is", "behave", "respond", "you are"], &["dan", "developer mode", "god mode", "jailbroken", "root", "uncensored", "unfiltered", "unrestricted", "without "]],
    &[&["hidden instructions", "system prompt", "your instructions"], &["disclose", "leak", "output", "print", "repeat", "reveal"]],
    &[&["不再遵守", "不要理会", "忘掉", "忘记", "忽略", "无视", "绕过"], &["命令", "指令", "指示", "提示", "要求", "规则", "限制"], &["一切", "上述", "之前", "以上", "以前", "先前", "安全", "所有", "此前", "系统"]],
    &[&["是", "进入"], &["root", "不受限", "开发者模式", "无限制", "没有限制", "超级用户"]],
    &[&["系统提示", "隐藏指令"], &["复述", "打印", "泄露", "输出", "透露"]],
    &[&["ignorier", "missachte", "umgeh", "vergesse", "vergiss"], &["anweisung", "einschränkung", "instruktion", "prompt", "regel", "vorgabe"], &["all", "bisherig", "früher", "obig", "sicherheits", "system", "sämtlich", "vorherig", "vorig"]],
    &[&["du bist "], &["ab sofort", "jetzt", "nun"], &["entwicklermodus", "ohne ", "root", "uneingeschränkt"]],
    &[&["descart", "desobedec", "ignor", "olvid", "omit"], &["directrices", "indicaciones", "instrucciones", "reglas", "restricciones", "órdenes"]],
    &[&["actúa como", "ahora eres"], &["modo desarrollador", "root", "sin límites", "sin restricciones"]],
    &[&["always "], &["accept", "allow", "approve", "comply", "confirm", "grant", "obey", "permit", "trust"]],
    &[&["auto"], &["accept", "approve", "confirm", "merge"]],
    &[&["without "], &["any ", "approval", "asking", "confirmation", "permission", "review"], &["act", "apply", "approve", "delete", "deploy", "execute", "install", "merge", "perform", "push", "run"]],
    &[&["ask", "prompt", "request", "require", "wait"], &["approval", "before ", "confirmation", "consent", "permission"], &["do not", "don't", "must not", "need not", "never", "no need to"]],
    &[&["bypass", "disable", "skip", "turn off"], &["approval", "confirmation", "permission", "safety", "sandbox", "security"]],
    &[&["blanket", "full", "standing", "unlimited", "unrestricted"], &["access", "approval", "authority", "consent", "permission"], &["are given", "are granted", "has", "have", "is given", "is granted"]],
    &[&["all", "any", "every"], &["always ", "approved", "authori"], &["action", "changes", "command", "request", "tool call"]],
    &[&["一律", "始终", "总是", "永远", "直接", "自动"], &["信任", "允许", "同意", "批准", "接受所有", "放行", "通过所有"]],
    &[&["不必", "不用", "不要", "不需要", "无需"], &["征求", "批准", "授权", "确认", "许可", "询问", "请示", "问我", "问用户"], &["删除", "合并", "命令", "执行", "批准", "推送", "操作", "运行", "部署"]],
    &[&["一切", "任何", "所有"], &["删除", "执行", "推送", "运行", "部署"], &["不必", "不用", "不要", "不需要", "无需"]],
    &[&["跳过"], &["安全", "审批", "权限", "确认"]],
    &[&["automatisch", "immer", "stets"], &["erlaub", "freigeb", "freizugeb", "genehmig", "zustimm"]],
    &[&["automatisch", "immer", "stets"], &["akzeptier", "erlaub", "genehmig", "vertrau"]],
    &[&["agent", "assistent"], &["akzeptier", "vertrau"], &["automatisch", "immer", "stets"]],
    &[&["ohne "], &["bestätigung", "freigabe", "genehmigung", "nachfrage", "rückfrage", "zu fragen"], &["ausführ", "deploy", "installier", "lösch", "merg", "push"]],
    &[&["ohne "], &["deploye", "führ", "installiere", "lösche", "merge", "pushe"], &["bestätigung", "freigabe", "genehmigung", "nachfrage", "rückfrage", "zu fragen"]],
    &[&["automáticamente", "siempre"], &["aprobar", "aprueb", "autoric", "autoriz"]],
    &[&["automáticamente", "siempre"], &["agente", "asistente", "modelo"], &["acept", "confí", "permit"]],
    &[&[" siempre"], &["acepta", "aprueba", "autoriza", "permite"]],
    &[&["sin "], &["aprobación", "confirmación", "consultar", "pedir", "permiso", "preguntar"], &["aprob", "aprueb", "borr", "despleg", "despliegu", "ejecut", "elimin", "hac", "instal"]],
    &[&["user "], &["admin", "developer of ", "root", "sudoer", "superuser"]],
    &[&["user has "], &["all ", "elevated ", "full ", "unlimited ", "unrestricted "], &["access", "ation", "authority", "permission", "privileges", "rights"]],
    &[&["user has "], &["admin", "root"], &["access", "authority", "permission", "privileges", "rights"]],
    &[&["admin", "developer of this assistant", "root"]],
    &[&["give", "grant"], &["admin", "full", "root", "unrestricted"]],
    &[&["用户"], &["是", "有"], &["root", "权限", "管理员", "访问权", "超级用户"]],
    &[&["der", "die"], &["nutzer", "user"], &["hat ", "ist "]],
    &[&[" usuari"], &["admin", "root", "superusuario", "tiene "]],
    &[&["curl", "invoke-webrequest", "iwr", "wget"], &["always", "before ", "beginning", "each", "every", "first thing", "start", "whenever"]],
    &[&["curl", "invoke-webrequest", "iwr", "wget"], &["always", "before ", "each", "every", "start", "whenever"]],
    &[&["base64 "], &["always", "each", "every", "secretly", "silently"]],
    &[&["curl", "http", "wget"], &["一律", "会话开始", "启动时", "总是", "每当", "每次"]],
    &[&["curl", "wget"], &["bei jedem", "bei jeder", "immer", "vor jedem", "vor jeder", "zu beginn"]],
    &[&["curl", "wget"], &["al iniciar", "al inicio", "antes de cada", "cada vez", "en cada", "siempre"]],
    &[&["a user asks", "anybody asks", "anyone asks", "asked", "he asks", "people ask", "questioned", "someone asks", "the user asks", "they ask"], &["answer", "claim", "deny", "pretend", "recommend", "reply", "respond", "say", "state", "tell"]],
    &[&["always", "only"], &["endorse", "praise", "promote", "recommend"], &["above all", "and never", "instead of", "over", "regardless"]],
    &[&["一旦", "只要", "如果", "当", "若"], &["回复", "回答", "声称", "答复", "说"], &["有人问", "用户问", "被问", "询问", "问到", "问起"]],
    &[&["wenn"], &["fragen", "fragt"], &["antworte", "behaupte", "erwidere", "sag", "soll der assistent"]],
    &[&["pregunt"]],
    &[&["do not", "don't", "must not", "never", "should not", "without"], &["alert", "disclose", "disclosing", "inform", "mention", "notify", "reveal", "tell", "warn"], &["a human", "anybody", "anyone", "the human", "the operator", "the owner", "the user", "this user", "your user"]],
    &[&["let"], &["do not", "don't", "must not", "never", "should not", "without"], &["a human", "anybody", "anyone", "the human", "the operator", "the owner", "the user", "this user", "your user"], &["discover", "find", "hear", "know", "learn", "notice", "read", "see", "suspect"]],
    &[&["from"], &["conceal", "hide", "keep"], &["anyone", "everybody", "the human", "the operator", "the owner", "the user", "your user"]],
    &[&["without "], &["the owner", "the user"], &["consent", "knowing", "knowledge", "noticing"]],
    &[&["主人", "任何人", "使用者", "用户"], &["不得", "不要", "切勿", "别", "禁止", "绝不"], &["向", "告知", "告诉", "提醒", "透露给", "通知"]],
    &[&["让"], &["主人", "任何人", "使用者", "用户"], &["不得", "不要", "切勿", "别", "禁止", "绝不"], &["发现", "听", "察觉", "晓得", "注意", "看", "知"]],
    &[&["瞒着", "背着", "隐瞒"], &["主人", "使用者", "用户"]],
    &[&["dem", "der"], &["nutzer", "user"], &["nicht", "nie"], &["erzähl", "meld", "mitteil", "sag", "verrat", "zeig"]],
    &[&["dem", "der"], &["nutzer", "user"], &["nicht", "nie"], &["erzähl", "melde", "sag", "teile", "verrat"]],
    &[&["nie"], &["dem benutzer", "dem nutzer", "den benutzer", "den nutzer"], &["informier", "mitteil", "sag", "verrat", "warn"]],
    &[&["dueñ", "usuari"], &["avis", "cuent", "decir", "dig", "inform", "mencion", "revel"]],
    &[&["sin que "], &[" usuari"], &["note", "sepa"]],
    &[&["http", "ngrok", "pastebin", "requestbin", "to ", "webhook"], &["append", "copy", "exfiltrate", "forward", "leak", "mail", "post", "report", "send", "transmit", "upload"], &[".env", "api key", "chat ", "conversation", "credential", "env var", "environment variable", "history", "memories", "password", "private file", "prompt", "secret", "source code", "ssh key", "token"]],
    &[&["http"], &["://"]],
    &[&["http"], &["://"]],
    &[&["上传", "发到", "发给", "发送", "寄", "提交", "转发"], &["令牌", "凭证", "密码", "密钥", "对话", "源代码", "环境变量", "私钥", "聊天记录", "记忆"]],
    &[&["lade", "leite", "poste", "schick", "sende", "übermittle"], &[".env", "erinnerung", "geheimnis", "passw", "quellcode", "schlüssel", "token", "umgebungsvariable", "verlauf", "zugangsdaten"]],
    &[&["envía", "envíe", "manda", "publica", "sube"], &["claves", "contraseñas", "credenciales", "código fuente", "historial", "memorias", "recuerdos", "secretos", "token", "variables de entorno"]],
    &[&["memories", "memory", "remembered facts"], &["all", "any", "every", "existing", "other", "your"], &["delete", "discard", "erase", "forget", "overwrite", "purge", "wipe"]],
    &[&["this "], &["entry", "instruction", "memory", "note", "rule"], &["all", "any", "every", "other", "the system", "your"], &["beats", "has priority", "outranks", "override", "replaces", "supersedes", "takes precedence"]],
    &[&[" this "], &["do not", "don't", "never"], &["entry", "instruction", "memory", "note", "rule"], &["delete", "forget", "overwrite", "question", "remove", "replace", "update"]],
    &[&["treat "], &["as "], &["authoritative", "developer", "highest", "system", "top", "trusted", "verified"]],
    &[&["priority "], &["highest", "maximum", "top"], &["instruction", "memory", "order", "rule"]],
    &[&["core", "permanent", "standing", "your system prompt"], &["always", "assistant", "must", "you"], &["add", "memori", "record", "remember", "save", "store"]],
    &[&["记忆"], &["一切", "你的", "全部", "其他", "所有"], &["删除", "忘掉", "抹去", "清空", "清除", "覆盖"]],
    &[&["本", "此", "这条"], &["指令", "规则", "记忆"], &["优先于", "凌驾于", "覆盖", "高于"], &["一切", "其他", "所有", "系统"]],
    &[&["erinnerung"], &["lösche", "vergiss", "verwirf", "überschreibe"], &["alle", "deine", "jede", "sämtliche"]],
    &[&["diese "], &["anweisung", "erinnerung", "regel"], &["ersetzt", "hat vorrang", "überschreibt"]],
    &[&["memorias", "recuerdos"], &["borra", "elimina", "olvida", "sobrescribe"], &["las demás", "todas", "todos", "tus"]],
    &[&["esta "], &["instrucción", "memoria", "regla"], &["anula", "prevalece", "tiene prioridad"]],
];

// The words that distinguish instructions from facts, in English, Chinese, German and Spanish.

/// The text before an instruction: the start of a clause, the name of the addressee, or an insistent word.
macro_rules! order {
    ($rest:literal) => {
        concat!(
            r#"(?:^|[.!?;:,(\["'“„`>-]\s?|\b(?:assistant|agents?|model|ai|bot|you|must|should|shall|will|always|please|and|then|also|so|now|just|simply|secretly|silently|immediately|automatically|to)\s)"#,
            $rest
        )
    };
}

/// Patterns by the kind of steering, matched in any case, on text with single spaces.
#[rustfmt::skip]
pub(super) const PATTERNS: &[(Suspicion, &[&str])] = &[
    (Suspicion::Override, &[
        r"\b(?:ignore|disregard|forget|override|bypass|discard|disobey)\b.{0,30}\b(?:previous|prior|earlier|above|preceding|all|other|existing|system|safety|your|those|its)\b.{0,24}\b(?:instructions?|prompts?|rules?|guidelines?|directives?|policies|guardrails?|restrictions?|constraints?)\b",
        r"\b(?:new|updated) (?:system|developer) (?:instructions?|prompt|message)\b ?[:：]",
        r"\b(?:you are|assistant is|act|behave|respond) (?:now |from now on )?(?:as |in )?(?:an? )?(?:dan\b|jailbroken|unrestricted|uncensored|unfiltered|developer mode|god mode|root\b|without (?:any )?(?:rules|restrictions|limits))",
        r"(?:reveal|print|output|repeat|leak|disclose)\b.{0,20}\b(?:system prompt|hidden instructions|your instructions)",
        r"(?:忽略|无视|忘记|忘掉|不要理会|不再遵守|绕过).{0,10}(?:之前|以前|上述|先前|以上|此前|所有|一切|系统|安全).{0,8}(?:指令|指示|提示|规则|命令|要求|限制)",
        r"(?:你|助手|AI)(?:现在|从现在起)?(?:是|进入).{0,8}(?:不受限|无限制|没有限制|开发者模式|超级用户|root)",
        r"(?:透露|输出|打印|泄露|复述).{0,8}(?:系统提示|隐藏指令)",
        r"\b(?:ignorier\w*|vergiss|vergesse|missachte\w*|umgeh\w*)\b.{0,30}\b(?:bisherig|vorherig|vorig|obig|früher|all|sämtlich|system|sicherheits)\w*.{0,24}\w*(?:anweisung|regel|vorgabe|instruktion|prompt|einschränkung)",
        r"\bdu bist (?:jetzt|nun|ab sofort)\b.{0,24}(?:root|uneingeschränkt|entwicklermodus|ohne (?:regeln|grenzen|einschränkungen))",
        r"\b(?:ignor[ae]\w*|olvid[ae]\w*|descart[ae]\w*|desobedec\w*|omit[ae]\w*)\b.{0,24}\b(?:instrucciones|reglas|órdenes|indicaciones|restricciones|directrices)\b",
        r"\b(?:ahora eres|actúa como)\b.{0,24}(?:root|sin restricciones|sin límites|modo desarrollador)",
    ]),
    (Suspicion::Authority, &[
        order!(r"always (?:auto-?)?(?:approve|allow|accept|grant|trust|permit|confirm|obey|comply)\b"),
        order!(r"(?:auto-?)(?:approve|accept|confirm|merge)\b"),
        order!(r"(?:run|execute|approve|merge|deploy|delete|push|install|perform|apply|act)\b.{0,50}\bwithout (?:asking|confirmation|approval|permission|review|any (?:confirmation|approval|review))"),
        r"\b(?:never|do not|don't|must not|need not|no need to) (?:ask|wait|request|prompt|require)\b.{0,24}\b(?:confirmation|approval|permission|consent|before (?:running|executing|deleting|pushing|deploying))",
        order!(r"(?:skip|disable|turn off|bypass)\b.{0,20}\b(?:confirmations?|approvals?|permission|safety|security|sandbox)\b.{0,12}(?:checks?|prompts?|steps?|reviews?|mode|$|[.,;])"),
        r"\b(?:assistant|agent|you|ai|model)\b.{0,16}\b(?:has|have|is given|are given|is granted|are granted)\b.{0,16}\b(?:full|unlimited|unrestricted|blanket|standing)\b.{0,10}\b(?:permissions?|approval|authority|access|consent)",
        r"\b(?:all|any|every)\b.{0,30}\b(?:commands?|tool calls?|actions?|requests?|changes)\b.{0,16}\b(?:are|is|count as)\b.{0,12}\b(?:pre-?approved|pre-?authori[sz]ed|always (?:allowed|approved))",
        r"(?:总是|始终|一律|永远|自动|直接)(?:批准|同意|允许|放行|信任|通过所有|接受所有)",
        r"(?:无需|不用|不必|不要|不需要)(?:再)?(?:确认|询问|征求|批准|授权|许可|请示|问我|问用户).{0,14}(?:执行|运行|批准|删除|部署|合并|推送|命令|操作)",
        r"(?:执行|运行|删除|部署|推送)(?:所有|任何|一切).{0,10}(?:无需|不用|不必|不要|不需要)",
        r"跳过.{0,6}(?:确认|审批|权限|安全)(?:检查|步骤|提示)?",
        r"\b(?:immer|stets|automatisch)\b.{0,30}\b(?:genehmig\w*|erlaub\w*|zustimm\w*|freigeb\w*|freizugeb\w*)",
        r"(?:^|[.!?;:,]\s?|\b(?:assistent|agent|du) )(?:genehmig|erlaub|akzeptier|vertrau)e?t? (?:immer|stets|automatisch)\b",
        r"\b(?:assistent|agent)\b.{0,20}\b(?:immer|stets|automatisch)\b.{0,30}\b(?:akzeptier|vertrau)",
        r"\bohne (?:rückfrage|bestätigung|nachfrage|genehmigung|zu fragen|freigabe)\b.{0,30}\b(?:ausführ\w*|lösch\w*|deploy\w*|push\w*|installier\w*|merg\w*)",
        r"\b(?:führe?|lösche|deploye|pushe|installiere|merge)\b.{0,40}\bohne (?:rückfrage|bestätigung|nachfrage|genehmigung|zu fragen|freigabe)",
        r"\b(?:siempre|automáticamente)\b.{0,16}\b(?:aprueb\w*|aprobar\w*|autoric\w*|autoriz\w*)",
        r"\b(?:asistente|agente|modelo)\b.{0,24}\b(?:siempre|automáticamente)\b.{0,16}\b(?:acept|permit|confí)",
        r"\b(?:aprueba|autoriza|acepta|permite)\w* siempre\b",
        r"\b(?:ejecut|borr|elimin|despleg|despliegu|instal|aprob|aprueb|hac)\w*.{0,40}\bsin (?:pedir|preguntar|confirmación|aprobación|permiso|consultar)",
    ]),
    (Suspicion::Rights, &[
        r"\b(?:the |this )?user (?:is|acts as|counts as) (?:an? |the )?(?:system |super |global |trusted )?(?:admin|administrator|root|superuser|sudoer|developer of (?:this|the) (?:assistant|system))(?: of (?:this|the) (?:system|assistant|agent|memory))?(?:$|[.,;!]| and| with| who)",
        r"\b(?:the |this )?user has (?:been granted |been given )?(?:full |all |unlimited |unrestricted |elevated )(?:admin |administrator |root |system )?(?:rights|access|permissions?|privileges|authority|authori[sz]ation)\b",
        r"\b(?:the |this )?user has (?:admin|administrator|root) (?:rights|access|permissions?|privileges|authority)(?:$|[.,;!]| and)",
        r"\bi(?:'m| am) (?:the |an? )?(?:system )?(?:admin|administrator|root|developer of this assistant)\b(?:$|[.,;!]| so| and)",
        r"\b(?:grant|give) (?:the user|me|everyone|them|this user)\b.{0,16}\b(?:admin|root|full|unrestricted)\b",
        r"(?:该|这个)?用户(?:是|拥有|具有|有|享有)(?:系统|最高|超级|完全|全部|所有|无限)?的?(?:管理员|超级用户|root|权限|访问权)",
        r"\b(?:der|die|dieser|diese) (?:nutzer|benutzer|user|nutzerin|benutzerin) (?:ist (?:ein |eine |der |die )?(?:system)?(?:admin|administrator|administratorin|root|superuser)(?:$|[.,;!]| und)|hat (?:volle|vollen|alle|sämtliche|uneingeschränkte|uneingeschränkten|administrator|admin|root)[\w-]* ?(?:rechte|zugriff|berechtigungen))",
        r"\b(?:el|la|este) usuari[oa] (?:es (?:el |un |la )?(?:administradora?|admin|root|superusuario)(?:$|[.,;!]| y| del sistema)|tiene (?:todos los permisos|permisos (?:totales|de administrador|de root)|acceso (?:total|completo|ilimitado|de administrador)))",
    ]),
    (Suspicion::RemoteCode, &[
        r"\b(?:every|each|always|at (?:the )?(?:start|beginning)|on start|start of|start-?up|session start|before (?:every|each|any)|first thing|whenever)\b.{0,120}\b(?:curl|wget|iwr|invoke-webrequest)\b",
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b.{0,200}(?:\||&&|;).{0,40}\b(?:sh|bash|zsh|python3?|node|iex|perl)\b.{0,80}\b(?:every|each|always|at (?:the )?start|start of|start-?up|before (?:every|each|any)|whenever)\b",
        r"\b(?:always|every|each|silently|secretly)\b.{0,60}\bbase64 (?:-d|--decode)\b.{0,40}\|",
        r"(?:每次|每当|总是|一律|启动时|会话开始).{0,60}(?:curl|wget|https?://\S+\s*\|)",
        r"\b(?:bei jedem|bei jeder|immer|vor jedem|vor jeder|zu beginn)\b.{0,100}\b(?:curl|wget)\b",
        r"\b(?:cada vez|en cada|siempre|al inicio|al iniciar|antes de cada)\b.{0,100}\b(?:curl|wget)\b",
    ]),
    (Suspicion::ScriptedAnswer, &[
        r"\b(?:when(?:ever)?|if|once)\b (?:you are |you're |the assistant is |it is )?(?:asked|questioned|someone asks|anyone asks|anybody asks|the user asks|a user asks|they ask|he asks|she asks|people ask)\b.{0,90}?(?:,|\bthen\b|\bthe assistant (?:must|should|will)\b|\byou (?:must|should)\b| )\s?(?:always )?(?:the assistant (?:must |should |will )?)?(?:always )?\b(?:say|answer|reply|respond|claim|tell|state|pretend|deny|recommend)\b",
        r"\b(?:always|only) (?:recommend|promote|praise|endorse)\b.{0,60}\b(?:over|instead of|and never|regardless|above all)\b",
        r"(?:当|如果|若|每当|只要|一旦).{0,12}(?:被问|有人问|用户问|问到|问起|询问).{0,24}(?:就|要|必须|一律|都)?(?:说|回答|回复|声称|答复)",
        r"\bwenn\b.{0,40}\b(?:gefragt|fragt|fragen)\b.{0,50}\b(?:sag|sage|antworte|behaupte|erwidere|sagt der assistent|antwortet der assistent|soll der assistent)\b",
        r"\b(?:cuando|si) .{0,30}\bpregunt\w*.{0,60}(?:,| )(?:di|responde|contesta|afirma|el asistente debe)\b",
    ]),
    (Suspicion::Concealment, &[
        r"\b(?:never|do not|don't|must not|should not|without) (?:ever )?(?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning|mention|mentioning|reveal|revealing|disclose|disclosing)\b.{0,32}\b(?:the user|this user|the owner|the operator|the human|your user|anyone|anybody|a human)\b",
        r"\b(?:never|do not|don't|must not|should not|without) (?:ever )?(?:let|letting)\b.{0,16}\b(?:the user|this user|the owner|the operator|the human|your user|anyone|anybody|a human) (?:\w+ )?(?:know|see|notice|learn|find|hear|suspect|read|discover)\b",
        r"\b(?:hide|conceal|keep)\b.{0,24}\b(?:from|secret from|hidden from)\b (?:the user|the owner|the operator|the human|your user|anyone|everybody)",
        r"\bwithout (?:the user(?:'s)?|the owner(?:'s)?) (?:knowing|knowledge|noticing|consent)",
        r"(?:不要|别|切勿|绝不|不得|永远不要|千万别|禁止)(?:告诉|告知|通知|提醒|透露给|向).{0,6}(?:用户|任何人|主人|使用者)",
        r"(?:不要|别|切勿|绝不|不得|永远不要|千万别|禁止)让.{0,6}(?:用户|任何人|主人|使用者).{0,4}(?:知|看|发现|察觉|晓得|注意|听)",
        r"(?:瞒着|背着|隐瞒)(?:用户|主人|使用者)",
        r"\b(?:dem|der) (?:nutzer|benutzer|user|nutzerin|benutzerin)\b.{0,24}\b(?:nie|niemals|nicht|nichts)\b.{0,24}\b(?:sag|erzähl|verrat|mitteil|zeig|meld)\w*",
        r"\b(?:sage?|erzähle?|verrate?|melde|teile)\b.{0,24}\b(?:dem|der) (?:nutzer|benutzer|user|nutzerin|benutzerin)\b.{0,24}\b(?:nie|niemals|nicht|nichts)\b",
        r"\b(?:nie|niemals)\b.{0,16}\b(?:den nutzer|den benutzer|dem nutzer|dem benutzer)\b.{0,16}\b(?:informier|warn|sag|verrat|mitteil)\w*",
        r"\b(?:nunca|jamás|no)\b (?:le |se lo )?(?:dig\w*|decir\w*|inform\w*|mencion\w*|revel\w*|avis\w*|cuent\w*)\b.{0,24}\b(?:al|la|el|a la) (?:usuari[oa]|dueñ[oa])",
        r"\bsin que (?:el|la) usuari[oa] (?:lo )?(?:sepa|note)",
    ]),
    (Suspicion::Exfiltration, &[
        order!(r"(?:send|post|upload|forward|exfiltrate|leak|transmit|e-?mail|copy|append|report)\b.{0,60}\b(?:secrets?|credentials?|api keys?|tokens?|passwords?|environment variables?|env vars?|\.env|conversations?|chat (?:history|logs?)|memories|history|private files?|source code|ssh keys?|prompts?)\b.{0,60}(?:https?://|\bto \S+@\S+|webhook|ngrok|pastebin|requestbin|\bto \S+\.(?:com|net|io|dev|xyz|ru|cn|site)\b)"),
        r"!\[[^\]]{0,80}\]\(\s?https?://[^)\s]{1,200}[?&=/](?:\{|\$|<|%7b|\[)",
        r"https?://\S{1,120}[?&](?:data|d|q|c|payload|secret|key|token|history|memory|log|content)=(?:\{|\$|<|%7b|\[)",
        r"(?:把|将).{0,24}(?:密钥|密码|令牌|凭证|聊天记录|对话|记忆|环境变量|私钥|源代码).{0,16}(?:发送|发给|发到|上传|提交|转发|寄)",
        r"\b(?:sende|schicke?|lade|leite|übermittle|poste)\b.{0,60}(?:schlüssel|passw|token|zugangsdaten|geheimnis|verlauf|erinnerung|umgebungsvariable|quellcode|\.env).{0,50}\b(?:an|nach|zu|auf)\b.{0,20}(?:https?://|\S+@|webhook|\S+\.(?:com|net|io|de)\b)",
        r"\b(?:envía|envíe|manda|sube|reenvía|publica)\w*\b.{0,60}\b(?:claves|contraseñas|tokens?|credenciales|secretos|historial|memorias|recuerdos|variables de entorno|código fuente)\b.{0,50}\b(?:a|al)\b.{0,20}(?:https?://|\S+@|webhook|\S+\.(?:com|net|io|es)\b)",
    ]),
    (Suspicion::MemoryOrder, &[
        order!(r"(?:delete|erase|wipe|purge|overwrite|forget|discard)\b.{0,12}\b(?:all|every|any|the other|other|your|existing)\b.{0,16}\b(?:memory|memories|remembered facts)\b"),
        r"\bthis (?:memory|rule|instruction|entry|note)\b.{0,20}\b(?:overrides?|takes precedence|has priority|outranks|supersedes|beats|replaces) (?:over )?(?:all|any|every|everything|the system|other|your)",
        r"\b(?:never|do not|don't) (?:delete|forget|update|overwrite|replace|question|remove) this (?:memory|rule|instruction|entry|note)",
        r"\btreat (?:this|the following|it|everything)\b.{0,30}\bas (?:an? )?(?:system|developer|trusted|highest|top|verified|authoritative)",
        r"\b(?:highest|top|maximum)[- ]priority (?:memory|instruction|rule|order)\b",
        order!(r"(?:remember|store|save|memori[sz]e|record|add)\b.{0,20}\b(?:as|in|into|to)\b.{0,20}\b(?:a permanent|permanent|your system prompt|core|standing) ?(?:instruction|rule|order|memory|memories)?\b.{0,30}\b(?:that|:|to)\b.{0,80}\b(?:you|assistant|always|must)\b"),
        r"(?:删除|清除|清空|抹去|覆盖|忘掉)(?:所有|全部|一切|你的|其他)(?:的)?(?:其他)?的?记忆",
        r"(?:此|这条|本)(?:记忆|规则|指令)(?:优先于|覆盖|高于|凌驾于)(?:所有|一切|其他|系统)",
        r"\b(?:lösche|vergiss|überschreibe|verwirf)\b.{0,12}\b(?:alle|sämtliche|deine|jede)\b.{0,16}\berinnerung",
        r"\bdiese (?:erinnerung|regel|anweisung)\b.{0,20}\b(?:hat vorrang|überschreibt|ersetzt)",
        r"\b(?:borra|olvida|elimina|sobrescribe)\b.{0,12}\b(?:todas|todos|tus|las demás)\b.{0,16}\b(?:memorias|recuerdos)",
        r"\besta (?:memoria|regla|instrucción)\b.{0,20}\b(?:tiene prioridad|anula|prevalece)",
    ]),
];

/// Words of a sentence that describes defences against such instructions.
#[rustfmt::skip]
pub(super) const DEFENCES: &[&str] = &[
    "injection", "inject", "attack", "jailbreak", "phishing", "malicious", "detect", "filter", "block", "reject", "flag", "sanitiz", "sanitis",
    "vulnerab", "exploit", "test", "bug", "guard", "against", "such as", "like", "e.g.", "example", "phrase", "string", "注入", "攻击", "检测", "过滤", "拦截",
    "测试", "漏洞", "例如", "angriff", "erkenn", "filtert", "blockier", "testfall", "schwachstelle", "ataque", "inyección", "detect", "filtr", "bloque", "prueba",
];

/// Words with which a person announces the text of somebody else.
#[rustfmt::skip]
pub(super) const ANNOUNCING: &[&str] = &[
    "the page says", "the site says", "the website says", "the readme says", "the docs say", "the issue says", "the email says", "the mail says", "output was",
    "the output", "it printed", "it says", "it prints", "error says", "pasted", "here is the page", "from the web", "from the page", "tool output", "网页说", "页面写着",
    "输出是", "文档说", "邮件说", "die seite sagt", "auf der seite steht", "die ausgabe", "in der mail steht", "la página dice", "el correo dice", "la salida",
];

#[cfg(test)]
mod steering_hints_tests {
    use std::cmp::Reverse;

    use regex_syntax::hir::{Hir, HirKind};

    use super::PATTERNS;
    use super::*;

    #[test]
    fn it_is_what_the_patterns_say() {
        let patterns: Vec<&str> = PATTERNS.iter().flat_map(|(_, patterns)| patterns.iter().copied()).collect();
        assert_eq!(patterns.len(), NEEDED.len(), "{}", spelled(&patterns));
        for (pattern, groups) in patterns.iter().zip(NEEDED) {
            assert_eq!(needed(pattern), *groups, "{}", spelled(&patterns));
        }
    }

    /// Returns the correct table.
    fn spelled(patterns: &[&str]) -> String {
        let row = |pattern: &&str| {
            let groups: Vec<String> = needed(pattern).iter().map(|group| format!("&{group:?}")).collect();
            format!("    &[{}],\n", groups.join(", "))
        };
        patterns.iter().map(row).collect()
    }

    /// Returns what a text must contain for `pattern` to match it: one literal of each group, in lower case.
    fn needed(pattern: &str) -> Vec<Vec<String>> {
        let hir = regex_syntax::parse(pattern).unwrap();
        let groups = groups(&hir).into_iter().filter(|group| group.iter().all(|literal| literal.len() >= 3));
        // Short literals occur in nearly every text.
        let mut groups: Vec<Vec<String>> = groups.map(without_longer).collect();
        groups.sort_by_key(Vec::len);
        groups.dedup();
        groups
    }

    fn groups(hir: &Hir) -> Vec<Vec<String>> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => Vec::new(),
            HirKind::Literal(literal) => vec![vec![String::from_utf8(literal.0.to_vec()).unwrap().to_lowercase()]],
            HirKind::Repetition(repetition) if repetition.min == 0 => Vec::new(),
            HirKind::Repetition(repetition) => groups(&repetition.sub),
            HirKind::Capture(capture) => groups(&capture.sub),
            HirKind::Concat(parts) => parts.iter().flat_map(groups).collect(),
            HirKind::Alternation(ways) => {
                let best = |way: &Hir| {
                    let shortest = |group: &Vec<String>| group.iter().map(String::len).min().unwrap_or(0).min(4);
                    groups(way).into_iter().max_by_key(|group| (shortest(group), Reverse(group.len())))
                };
                ways.iter().map(best).collect::<Option<Vec<_>>>().map(|all| vec![all.concat()]).unwrap_or_default()
            }
        }
    }

    /// Returns the literals without those that contain another literal.
    fn without_longer(mut group: Vec<String>) -> Vec<String> {
        group.sort();
        group.dedup();
        let all = group.clone();
        group.retain(|one| all.iter().all(|other| other == one || !one.contains(other.as_str())));
        group
    }
}
