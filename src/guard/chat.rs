//! Rows of the table for secrets that people mention in chats: Wi-Fi keys, codes of doors and alarms, one-time codes,
//! logins.

use crate::guard::named::is_word_list;
use crate::guard::rule::{Part, Secret, anything, inner};
use crate::guard::values::{
    NameStrength, has_digit, is_made_up, is_marked, is_signed, is_slashed_password, is_vendor_key,
};

/// The text between the name of a secret and its value in a chat, which is often empty. A number ends the words in
/// between, since it is the value.
macro_rules! joining_words {
    () => {
        concat!(
            r#"(?:(?:[ *"'`_][^\n.:!?=&：。！？0-9]{0,40}?)?(?: (?:is|was|ist|war|lautet|es|est|è|é|c'est|to|auf|a|à)\b"#,
            r#"(?: (?:now|still|jetzt|ahora|maintenant)\b)?:?|=|[:：]| ?(?:→|—))[ \t]{0,4}"#,
            r"|[\x{2e80}-\x{ffef}]{0,6}?(?:是|为|為|改成了?|改为|换成了?|：) ?|[ \t]{0,2})"
        )
    };
}

/// The things that a code opens.
macro_rules! place {
    () => {
        concat!(
            r"(?:alarm|door|gate|garage|keypad|lock ?box|key ?box|key ?safe|safe|locker|padlock|intercom|entrance|entry|elevator|disarm)",
        )
    };
}

#[rustfmt::skip]
pub(super) const WIFI_KEY: Secret = Secret {
    name: "wifi-key",
    hints: &[
        "wifi", "wi-fi", "wlan", "key for", "key to", "key of", "clave d", "contra d", "clé d", "chave d",
        "chiave d", "schlüssel f", "schlüssel z", "schlüssel v", "无线",
    ],
    pattern: concat!(
        r"(?i:(?:wi-?fi|wlan)(?:'s|’s)?[ -]?(?:passkey|passphrase|network key|key|code|schlüssel|密码)",
        r"|key (?:for|to|of) [^\n.:!?=0-9]{0,20}?(?:wi-?fi|wlan|hotspot)",
        r"|(?:clave|contra|clé|chave|chiave) d[a-z']{1,4} ?(?:l[ao] |l')?(?:wi-?fi|red|wlan|router|internet|réseau|box)",
        r"|schlüssel (?:fürs|für das|zum|vom) (?:wlan|wi-?fi)|无线(?:网络?)?密码)",
        joining_words!()
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Login),
    example: "the wifi key is {a6}-{a12}",
};

#[rustfmt::skip]
pub(super) const ACCESS_CODE: Secret = Secret {
    name: "access-code",
    hints: &[
        "alarm", "door c", "door p", "door's c", "gate c", "gate p", "gate's c", "garage", "keypad", "lockbox",
        "lock box", "keybox", "key box", "key safe", "safe c", "safe p", "safe's c", "safe’s c", "locker", "padlock",
        "intercom", "entrance c", "entry c", "elevator c", "disarm c", "code for ", "code to ", "code of ",
        "combination ", "code für ", "code fürs ", "code der ", "code des ", "code vom ", "code zum ",
        "kombination ", "türcode", "haustürcode", "tür-code", "torcode", "safe-code", "tresorcode", "código d",
        "codigo d", "clave de la ", "combinación ", "code de l", "code du ", "code d'", "digicode", "codice d", "门禁",
        "门锁", "大门", "开门", "保险", "报警", "警报", "车库",
    ],
    pattern: concat!(
        r"(?i:",
        place!(),
        r"(?:'s|’s)?[ -]?(?:system |panel |pad )?(?:code|pin|combination|combo)",
        r"|(?:code|combination) (?:for|to|of) (?:[^\n.:!?=0-9]{0,24}? )?",
        place!(),
        r"|(?:code|kombination) (?:für|fürs|der|des|vom|zum) (?:[^\n.:!?=0-9]{0,16}?)(?:tür|tor|garage|tresors?|safes?|alarmanlage|alarm|schließfach|schlüsselbox|schlüsselkasten|eingang)",
        r"|haustürcode|türcode|tür-code|torcode|safe-code|tresorcode",
        r"|(?:c[oó]digo|clave|combinación) d(?:e la|e el|el|e) (?:puerta|alarma|portal|portón|garaje|entrada|caja fuerte|candado|reja|verja)",
        r"|código d[oae] (?:porta|portão|alarme|cofre|garagem)|digicode",
        r"|code (?:de la |de l'|du |d')(?:porte|portail|entrée|alarme|coffre|garage|immeuble|interphone)",
        r"|codice d(?:el|ella|ell'|i) ?(?:porta|portone|cancello|allarme|cassaforte|garage))",
        r"(?-u:\b)",
        joining_words!(),
        r"|(?:门禁|门锁|大门|开门|保险[箱柜]|报警器?|警报器?|车库)的?(?:密?码|PIN)",
        joining_words!()
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Code),
    example: "the alarm code is {d8}",
};

#[rustfmt::skip]
pub(super) const ONE_TIME_CODE: Secret = Secret {
    name: "one-time-code",
    hints: &[
        "verification code", "confirmation code", "one-time code", "login code", "2fa code", "mfa code", "sms code",
        "authenticator code", "card pin", "sim pin", "sim-pin", "phone pin", "bestätigungscode", "sicherheitscode",
        "einmalcode", "verifizierungscode", "geheimzahl", "zugangscode", "zutrittscode", "entsperrcode",
        "número secreto", "numero secreto", "código de ", "codigo de ", "code de vérification", "codice di verifica",
        "验证码", "动态码", "动态口令", "校验码", "驗證碼", "code de ", "codice di ", "код ", "kod ", "verificatiecode", "bevestigingscode", "beveiligingscode",
        "認証コード", "確認コード", "セキュリティコード", "인증번호", "인증 코드", "인증코드", "확인 코드", "보안 코드",
    ],
    pattern: concat!(
        r"(?i:(?:verification|confirmation|one-time|login|2fa|mfa|sms|authenticator) code|(?:card|sim|phone)[ -]pin",
        r"|bestätigungscode|sicherheitscode|einmalcode|verifizierungscode|geheimzahl|zugangscode|zutrittscode|entsperrcode|n[uú]mero secreto",
        r"|c[oó]digo de (?:verificaci[oó]n|confirmaci[oó]n|seguridad|acceso|un solo uso|verificação)",
        r"|code de (?:vérification|validation|confirmation|sécurité)|codice di (?:verifica|conferma|sicurezza|accesso)",
        r"|код (?:подтверждения|безопасности|доступа|из смс|из sms|от карты)|kod (?:weryfikacyjny|potwierdzający|sms|autoryzacyjny|dostępu)",
        r"|(?:verificatie|bevestigings|beveiligings)code|認証コード|確認コード|セキュリティコード|인증번호|인증 ?코드|확인 코드|보안 코드",
        r"|验证码|驗證碼|校验码|动态码|动态口令)",
        joining_words!()
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Pin),
    example: "verification code {d8}",
};

#[rustfmt::skip]
pub(super) const YOUR_CODE: Secret = Secret {
    name: "your-code",
    hints: &[
        "your code", "tu código", "su código", "dein code", "ihr code", "die tan", "deine tan", "ihre tan",
        "meine tan",
    ],
    pattern: r"(?i:your code|[ts]u código|dein code|ihr code|(?:die|deine|ihre|meine) tan)(?: (?:is|es|ist|war|lautet)|:) ",
    reach: 0,
    part: Part::Spoken(NameStrength::Pin),
    example: "your code is {d8}",
};

pub(super) const CODE_NAMED_AFTER: Secret = inner(
    "code-named-after",
    &[" is your ", " es tu c", " es su c", " ist ihr ", " ist dein ", "是您的", "是你的"],
    concat!(
        r"(?-u:\b)(?P<secret>[0-9]{4,8})(?i: is your [a-z0-9 -]{0,32}?(?:code|pin|otp|passcode)",
        r"| es [ts]u código| ist (?:ihr|dein) [a-zäöüß-]{0,24}code| ?是[您你]的[\x{2e80}-\x{ffef}]{0,6}?码)"
    ),
    "{d8} is your verification code",
)
.reaching(12);

pub(super) const CARD_CODE: Secret = inner(
    "card-code",
    &["cvv", "cvc", "security code", "sicherheitscode", "código de seguridad", "prüfnummer", "安全码"],
    concat!(
        r"(?:(?i:cv[vc]2?)(?: (?:code|number))?(?: (?:is|es|ist|lautet|est|è|é))?(?:[ :=：]{1,3}|(?:是|为) ?)",
        r"|(?i:security code|sicherheitscode|código de seguridad|prüfnummer|安全码)",
        r"(?: (?:on|of|auf|der|de|en)\b[^\n.:!?=0-9]{0,24}?)?(?: (?:is|es|ist|lautet) |是))(?P<secret>[0-9]{3,4})(?-u:\b)"
    ),
    "the CVV is {d4}",
)
.taking(Part::Apart(anything));

#[rustfmt::skip]
pub(super) const LOGIN_PAIR: Secret = Secret {
    name: "login-pair",
    hints: &[
        "user ", "user:", "user=", "username", "login ", "login:", "usuario", "usuária", "usuário", "benutzer",
        "utilisateur", "identifiant", "utente", "用户", "账号", "帐号", "账户",
    ],
    pattern: concat!(
        r"(?i:user(?:name)?|login|usuari[oa]|usuári[oa]|benutzer(?:name)?|utilisateur|identifiant|utente|用户名?|账[号户]|帐号)",
        r#"(?:(?: (?:is|es|ist|est|è|é))?[:=：]?|[是为]) ?["'`]?[A-Za-z0-9._@+-]{1,40}["'`]?(?: ?[,;，；、/|]|\\n|\s)(?:\\n|\s){0,2}"#,
        r"(?:(?:and|y|und|et|e|with|mit|con|the|la|das|le) ){0,2}",
        r"(?i:password|passwd|passwort|pass|pwd|pw|contraseña|contrasena|clave|kennwort|mot de passe|mdp|senha|密码|口令)",
        r"(?:(?: (?:is|es|ist|lautet|est|è|é))?[:=：]? ?|[是为] ?)"
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Login),
    example: "usuario ana, clave {a8}-{d8}",
};

pub(super) const SLASHED_LOGIN: Secret = inner(
    "slashed-login",
    &[
        "admin /", "administrator /", "root /", "login:", "login is", "credentials", "creds", "zugangsdaten",
        "anmeldedaten", "logindaten", "login ist", "login es", "credenciales", "acceso:", "de acceso", "identifiants", "credenziali", "登录：",
    ],
    concat!(
        r"(?:(?i:admin(?:istrator)?|root) / |(?i:login|credentials|creds|zugangsdaten|anmeldedaten|logindaten|credenciales|acceso|identifiants|credenziali|登录)",
        r"(?: (?:is|are|ist|sind|lauten|es|son|sont|sono))?[:：]? ?[A-Za-z0-9._@+-]{2,40} ?[/:] ?)",
        r#"["'`]?(?P<secret>[^\s/"'`,;\\\x{2e80}-\x{ffef}]{7,}[^\s/"'`,;.:!?)\\\x{2e80}-\x{ffef}])"#
    ),
    "the router is admin / {a10}!{d8}",
)
.taking(Part::Apart(is_slashed_password));

/// Keys of vendors without their own row, as in `<vendor>_live_…`.
pub(super) const MAKER_KEY: Secret = inner(
    "maker-key",
    &["_live_", "_prod_", "_test_"],
    r"(?-u:\b)(?P<secret>[A-Za-z][A-Za-z0-9]{1,11}_(?:live|prod|test)_[A-Za-z0-9]{16,})(?-u:\b)",
    "bwk_live_{a24}",
)
.reaching(12)
.taking(Part::Group(is_vendor_key));

pub(super) const RECOVERY_WORDS: Secret = inner("recovery-words", &["seed phrase", "recovery phrase", "mnemonic", "seed words", "seed-phrase", "24 words", "12 words", "24 wörter", "12 wörter", "24 palabras", "12 palabras", "24 mots", "12 mots", "secret phrase", "сид-фраз", "frase de recuperación", "frase semilla", "wiederherstellungsphrase", "助记词"],
        r"(?i:mnemonic|seed[ -](?:words|phrase)|(?:recovery|secret) phrase|(?:12|24) (?:words|wörter|palabras|mots)|frase de recuperación|frase semilla|wiederherstellungsphrase|сид-фраз[аы]|助记词)[^\n:：]{0,40}?(?: (?:is|are|es|ist|lautet)|是)?(?:[:：](?:\\n|[\s>]){0,6}|(?:\\n|[\s>]){1,6})(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?-u:\b)",
        "seed words are {w5} {w6} {w5} {w7} {w5} {w6} {w5} {w7} {w5} {w6} {w5} {w7}").taking(Part::Group(is_word_list));

pub(super) const CLAVE: Secret = inner(
    "spoken-clave",
    &["clave"],
    r#"(?i:clave)[^\n.:]{0,32}?(?: es|:) (?P<secret>[^\s,;&"'`<>\\\x{2e80}-\x{ffef}]{6,})"#,
    "la clave del correo es {a14}",
)
.taking(Part::Group(is_made_up));

/// `clave` also means "key point", so a number is a secret only if the sentence ends with it.
pub(super) const CLAVE_NUMBER: Secret = inner(
    "spoken-clave-number",
    &["clave"],
    r"(?i:clave)(?: d[^\n.:!?=0-9]{0,28}?)?(?: es|:) (?P<secret>[0-9]{4,8})(?:[.,;!?)]|\s{0,2}(?:\n|\z))",
    "la clave de la tarjeta es {d4}.",
)
.taking(Part::Group(has_digit));

/// Things that people lock, in the languages of the guard.
macro_rules! locked {
    () => {
        concat!(
            r"(?i:alarm|door|gate|garage|keypad|lock ?box|key ?box|safe|locker|padlock|intercom|phone|tablet|ipad|laptop|tresor|(?:haus|wohnungs)?tür|schließfach|schlüsselbox|handy",
            r"|puerta|alarma|caja fuerte|porte|coffre|portail|porta|cofre|cassaforte|cancello|portone|сейф|двер[ьи]|домофон|drzwi|sejf|brama|domofon|deur|kluis|poort)"
        )
    };
}

/// The end of a line, real or escaped, with the marks of a quotation after it.
macro_rules! next_line {
    () => {
        r"(?:\\{1,3}r)?(?:\\{1,3}n|\r?\n)[ \t>]{0,8}(?:[0-9]{1,5}(?:→|\\?\t|\\t)|[A-Za-z0-9_./-]{1,24}:[0-9]{1,5}:)?[ \t]{0,8}"
    };
}

#[rustfmt::skip]
pub(super) const CHAT_ROWS: &[Secret] = &[
    inner("said-password", &["pw", "pwd", "pass ", "pass'", "pass’", "mdp", "비번", "passcode"],
        r#"(?i:(?:pwd?|passcode|mdp|비번)(?:[ *][^\n.:!?=0-9]{0,40}?)?(?:['’]s|,? (?:is|was|ist|est|es|è|it['’]?s|now|to)(?: now| still)?:?| ?=|:| ?(?:→|->))|pass(?:['’]s| is| was|:| ?=| ?(?:→|->))) ["'`]?(?P<secret>[^\s"'`,;]{6,})"#, "the pw for the printer is {a12}").taking(Part::Apart(is_marked)),
    inner("password-beside", &["pw ", "pwd ", "ww ", "mdp ", "password ", "passwort ", "kennwort ", "contraseña ", "senha ", "wachtwoord ", "hasło ", "пароль ", "mot de passe ", "parola d'ordine ", "parola d’ordine ", "비번 ", "비밀번호 ", "パスワード "],
        r#"(?i:pwd?|ww|mdp|password|passwort|kennwort|contraseña|senha|wachtwoord|hasło|пароль|mot de passe|parola d['’]ordine|비번|비밀번호|パスワード)(?: :|：)? ["'`*]{0,2}(?P<secret>[^\s"'`,;]{6,})"#, "ww {a12}").taking(Part::Apart(is_beside)),
    inner("password-below", &["password", "passwort", "kennwort", "contraseña", "mot de passe", "senha", "wachtwoord", "hasło", "пароль", "密码", "パスワード", "비밀번호", "pin", "token", "key", "secret"],
        concat!(r#"(?i:(?:password|passwort|kennwort|contraseña|mot de passe|senha|wachtwoord|hasło|пароль|密码|パスワード|비밀번호)(?: [^\n:：]{1,88}| (?:for|of) [^\n]{1,88})?|token|key|secret)\*{0,2} ?[:：]\*{0,2}[ \t]{0,4}(?:"#, next_line!(), r"){1,2}[`*]{0,3}(?P<secret>[^\s`*\\][^\s`\\]{5,}?)[`*]{0,3}(?:\s|\\|\x22|\z)"), "Password:\n{a16}\n").taking(Part::Group(is_marked)),
    inner("password-answered", &["password", "passwort", "kennwort", "contraseña", "mot de passe", "пароль", "密码", "security question", "sicherheitsfrage", "pregunta de seguridad"],
        concat!(r"(?i:password|passwort|kennwort|contraseña|mot de passe|пароль|密码|security question|sicherheitsfrage|pregunta de seguridad)[^\n?]{0,60}(?:[?？] ?(?:", next_line!(), r#"){1,2}(?:[\p{L}]{1,12}: ?)?|[^\n]{0,40}(?i:answer|antwort|respuesta)(?: is| ist| es|:) )["'`]?(?P<secret>[^\s"'`\\]{6,})"#), "what is the root password?\nA: {a16}").taking(Part::Group(is_marked)),
    inner("password-above", &["the password", "my password", "your password", "the pw", "the key", "the token", "das passwort", "la contraseña", "le mot de passe"],
        concat!(r"(?P<secret>[^\s\\=\x22]{8,})(?:", next_line!(), r"){1,2}\(?(?i:(?:that|this)(?:['’]s| is) (?:the|my|your) (?:password|pw|key|token)|das ist das passwort|(?:esa|esta) es la contraseña|c['’]est le mot de passe)"), "{a16}\n(that's the password)").reaching(80).taking(Part::Group(is_marked)),
    inner("opening-code", &["alarm", "door", "gate ", "gate's", "garage", "keypad", "lockbox", "lock box", "key box", "safe ", "locker", "padlock", "intercom", "phone", "tablet", "ipad", "laptop", "tresor", "tür", "schließfach", "schlüsselbox", "handy",
        "puerta", "alarma", "caja fuerte", "porte ", "coffre", "portail", "porta ", "cofre", "cassaforte", "cancello", "portone", "сейф", "двер", "домофон", "drzwi", "sejf", "brama", "domofon", "deur", "kluis", "poort"],
        concat!(locked!(), r"[^\n.!?0-9]{0,40}?(?i:code|код|kod|código|codice|kombination|combination|(?:opens?|unlocks?) with|öffnet mit|type|enter|press|keypad is)(?i: is| ist| es| est| è|:)? (?P<secret>[0-9]{4,8}[#*]?)(?:[^0-9A-Za-z%€$.:*-]|[.:-](?:\D|\z)|\z)"), "the safe has the code {d6}").taking(Part::Apart(has_digit)),
    inner("sim-code", &["puk"], r"(?i:puk)[^\n0-9]{0,28}?(?P<secret>[0-9]{8})(?:\D|\z)", "PUK {d8}").taking(Part::Apart(anything)),
    inner("lettered-pin", &["PIN "], r"PIN(?::| is| ist)? (?P<secret>[A-Za-z0-9]{5,8})(?:[^A-Za-z0-9_.]|\z)", "PIN a1{a4}9").taking(Part::Apart(is_lettered_pin)),
    inner("brief-login", &["u:", "u=", "user:", "usr:"], r"(?i:u|usr|user)[:=] ?\S{1,40}[ ,;/|]{1,3}(?i:p|pw|pass)[:=] ?(?P<secret>[^\s,;]{6,})", "u: ana p: {a14}").taking(Part::Apart(is_marked)),
    inner("login-slash", &["login "], r"(?i:login) [A-Za-z0-9._@-]{2,40} / (?P<secret>[^\s,;]{8,})", "login ana / {a14}").taking(Part::Apart(is_marked)),
    inner("named-login", &["логин", "gebruiker", "użytkownik", "login", "ユーザー", "id:", "id：", "아이디", "anmeldename", "kennung", "identifiant", "account", "konto", "utente", "utilizador"],
        r#"(?i:логин|gebruiker(?:snaam)?|użytkownik|login|ユーザー名?|id|아이디|anmeldename|(?:benutzer)?kennung|identifiant|account|konto|utente|utilizador)(?: ?[:：])? ?[A-Za-z0-9._@+-]{1,40}(?: ?[,;/|] ?|\\n|\s){1,3}(?i:password|passwort|kennwort|pass|pw|pin|wachtwoord|ww|hasło|пароль|비번|비밀번호|パスワード|parola d['’]ordine|mdp|mot de passe|senha|palavra-passe)(?: ?[:：=])? ?["'`]?(?P<secret>[^\s"'`,;]{6,})"#, "Anmeldename ana, PIN {a14}").taking(Part::Apart(is_marked)),
];

/// Whether a value right after the name of a password is a password rather than the next word of the sentence.
fn is_beside(value: &str) -> bool {
    let body = value.trim_end_matches(['.', '!', '?', ')', ':']);
    let stem = body.trim_end_matches(|c: char| c.is_ascii_digit());
    // The number at the end of a name such as `field2` is only a counter.
    let is_numbered = stem.len() + 2 >= body.len() && !has_digit(stem);
    is_marked(body) && (is_signed(body) || is_made_up(body) && !is_numbered)
}

/// Whether a value with letters can be a PIN: it has a lower-case letter, a capital and a digit, or a digit between
/// letters.
fn is_lettered_pin(value: &str) -> bool {
    is_beside(value) && value.chars().any(char::is_lowercase)
}
