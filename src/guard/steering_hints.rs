//! What a text must hold for a pattern of orders to match it, so that nearly all of them need not be compiled.
//!
//! Worked out from the patterns by the test below; what it prints where they differ is what belongs here.

/// For each pattern, in its order: one text of each group stands in what it matches, in lower case.
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

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use regex_syntax::hir::{Hir, HirKind};

    use super::super::steering_words::PATTERNS;
    use super::*;

    #[test]
    fn it_is_what_the_patterns_say() {
        let patterns: Vec<&str> = PATTERNS.iter().flat_map(|(_, patterns)| patterns.iter().copied()).collect();
        assert_eq!(patterns.len(), NEEDED.len(), "{}", spelled(&patterns));
        for (pattern, groups) in patterns.iter().zip(NEEDED) {
            assert_eq!(needed(pattern), *groups, "{}", spelled(&patterns));
        }
    }

    /// Returns the table as it has to be.
    fn spelled(patterns: &[&str]) -> String {
        let row = |pattern: &&str| {
            let groups: Vec<String> = needed(pattern).iter().map(|group| format!("&{group:?}")).collect();
            format!("    &[{}],\n", groups.join(", "))
        };
        patterns.iter().map(row).collect()
    }

    /// Returns what a text must hold for `pattern` to match it: one literal of each group, in lower case.
    fn needed(pattern: &str) -> Vec<Vec<String>> {
        let hir = regex_syntax::parse(pattern).unwrap();
        let groups = groups(&hir).into_iter().filter(|group| group.iter().all(|literal| literal.len() >= 3));
        // Short ones stand nearly everywhere.
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

    /// Returns the literals without those that hold another one.
    fn without_longer(mut group: Vec<String>) -> Vec<String> {
        group.sort();
        group.dedup();
        let all = group.clone();
        group.retain(|one| all.iter().all(|other| other == one || !one.contains(other.as_str())));
        group
    }
}
