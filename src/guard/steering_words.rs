//! The words by which orders are told from facts, in English, Chinese, German and Spanish.

use super::steering::Suspicion;

/// What stands before an order: the start of a clause, whoever is told, or a word that presses.
macro_rules! told {
    ($rest:literal) => {
        concat!(
            r#"(?:^|[.!?;:,(\["'“„`>-]\s?|\b(?:assistant|agents?|model|ai|bot|you|must|should|shall|will|always|please|and|then|also|so|now|just|simply|secretly|silently|immediately|automatically|to)\s)"#,
            $rest
        )
    };
}

/// Patterns by what they would steer; matched in any case, on text with single spaces.
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
        told!(r"always (?:auto-?)?(?:approve|allow|accept|grant|trust|permit|confirm|obey|comply)\b"),
        told!(r"(?:auto-?)(?:approve|accept|confirm|merge)\b"),
        told!(r"(?:run|execute|approve|merge|deploy|delete|push|install|perform|apply|act)\b.{0,50}\bwithout (?:asking|confirmation|approval|permission|review|any (?:confirmation|approval|review))"),
        r"\b(?:never|do not|don't|must not|need not|no need to) (?:ask|wait|request|prompt|require)\b.{0,24}\b(?:confirmation|approval|permission|consent|before (?:running|executing|deleting|pushing|deploying))",
        told!(r"(?:skip|disable|turn off|bypass)\b.{0,20}\b(?:confirmations?|approvals?|permission|safety|security|sandbox)\b.{0,12}(?:checks?|prompts?|steps?|reviews?|mode|$|[.,;])"),
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
        told!(r"(?:send|post|upload|forward|exfiltrate|leak|transmit|e-?mail|copy|append|report)\b.{0,60}\b(?:secrets?|credentials?|api keys?|tokens?|passwords?|environment variables?|env vars?|\.env|conversations?|chat (?:history|logs?)|memories|history|private files?|source code|ssh keys?|prompts?)\b.{0,60}(?:https?://|\bto \S+@\S+|webhook|ngrok|pastebin|requestbin|\bto \S+\.(?:com|net|io|dev|xyz|ru|cn|site)\b)"),
        r"!\[[^\]]{0,80}\]\(\s?https?://[^)\s]{1,200}[?&=/](?:\{|\$|<|%7b|\[)",
        r"https?://\S{1,120}[?&](?:data|d|q|c|payload|secret|key|token|history|memory|log|content)=(?:\{|\$|<|%7b|\[)",
        r"(?:把|将).{0,24}(?:密钥|密码|令牌|凭证|聊天记录|对话|记忆|环境变量|私钥|源代码).{0,16}(?:发送|发给|发到|上传|提交|转发|寄)",
        r"\b(?:sende|schicke?|lade|leite|übermittle|poste)\b.{0,60}(?:schlüssel|passw|token|zugangsdaten|geheimnis|verlauf|erinnerung|umgebungsvariable|quellcode|\.env).{0,50}\b(?:an|nach|zu|auf)\b.{0,20}(?:https?://|\S+@|webhook|\S+\.(?:com|net|io|de)\b)",
        r"\b(?:envía|envíe|manda|sube|reenvía|publica)\w*\b.{0,60}\b(?:claves|contraseñas|tokens?|credenciales|secretos|historial|memorias|recuerdos|variables de entorno|código fuente)\b.{0,50}\b(?:a|al)\b.{0,20}(?:https?://|\S+@|webhook|\S+\.(?:com|net|io|es)\b)",
    ]),
    (Suspicion::MemoryOrder, &[
        told!(r"(?:delete|erase|wipe|purge|overwrite|forget|discard)\b.{0,12}\b(?:all|every|any|the other|other|your|existing)\b.{0,16}\b(?:memory|memories|remembered facts)\b"),
        r"\bthis (?:memory|rule|instruction|entry|note)\b.{0,20}\b(?:overrides?|takes precedence|has priority|outranks|supersedes|beats|replaces) (?:over )?(?:all|any|every|everything|the system|other|your)",
        r"\b(?:never|do not|don't) (?:delete|forget|update|overwrite|replace|question|remove) this (?:memory|rule|instruction|entry|note)",
        r"\btreat (?:this|the following|it|everything)\b.{0,30}\bas (?:an? )?(?:system|developer|trusted|highest|top|verified|authoritative)",
        r"\b(?:highest|top|maximum)[- ]priority (?:memory|instruction|rule|order)\b",
        told!(r"(?:remember|store|save|memori[sz]e|record|add)\b.{0,20}\b(?:as|in|into|to)\b.{0,20}\b(?:a permanent|permanent|your system prompt|core|standing) ?(?:instruction|rule|order|memory|memories)?\b.{0,30}\b(?:that|:|to)\b.{0,80}\b(?:you|assistant|always|must)\b"),
        r"(?:删除|清除|清空|抹去|覆盖|忘掉)(?:所有|全部|一切|你的|其他)(?:的)?(?:其他)?的?记忆",
        r"(?:此|这条|本)(?:记忆|规则|指令)(?:优先于|覆盖|高于|凌驾于)(?:所有|一切|其他|系统)",
        r"\b(?:lösche|vergiss|überschreibe|verwirf)\b.{0,12}\b(?:alle|sämtliche|deine|jede)\b.{0,16}\berinnerung",
        r"\bdiese (?:erinnerung|regel|anweisung)\b.{0,20}\b(?:hat vorrang|überschreibt|ersetzt)",
        r"\b(?:borra|olvida|elimina|sobrescribe)\b.{0,12}\b(?:todas|todos|tus|las demás)\b.{0,16}\b(?:memorias|recuerdos)",
        r"\besta (?:memoria|regla|instrucción)\b.{0,20}\b(?:tiene prioridad|anula|prevalece)",
    ]),
];

/// Words of a sentence that speaks of orders as something to be kept off.
#[rustfmt::skip]
pub(super) const DEFENCES: &[&str] = &[
    "injection", "inject", "attack", "jailbreak", "phishing", "malicious", "detect", "filter", "block", "reject", "flag", "sanitiz", "sanitis",
    "vulnerab", "exploit", "test", "bug", "guard", "against", "such as", "like", "e.g.", "example", "phrase", "string", "注入", "攻击", "检测", "过滤", "拦截",
    "测试", "漏洞", "例如", "angriff", "erkenn", "filtert", "blockier", "testfall", "schwachstelle", "ataque", "inyección", "detect", "filtr", "bloque", "prueba",
];

/// Words with which a person announces what somebody else wrote.
#[rustfmt::skip]
pub(super) const ANNOUNCING: &[&str] = &[
    "the page says", "the site says", "the website says", "the readme says", "the docs say", "the issue says", "the email says", "the mail says", "output was",
    "the output", "it printed", "it says", "it prints", "error says", "pasted", "here is the page", "from the web", "from the page", "tool output", "网页说", "页面写着",
    "输出是", "文档说", "邮件说", "die seite sagt", "auf der seite steht", "die ausgabe", "in der mail steht", "la página dice", "el correo dice", "la salida",
];
