//! The table of known secrets: one row for each kind of secret, with an example that tests assemble.

use std::sync::LazyLock;

use crate::guard::chat::{
    ACCESS_CODE, CARD_CODE, CHAT_ROWS, CLAVE, CLAVE_NUMBER, CODE_NAMED_AFTER, LOGIN_PAIR, MAKER_KEY, ONE_TIME_CODE,
    RECOVERY_WORDS, SLASHED_LOGIN, WIFI_KEY, YOUR_CODE,
};
use crate::guard::rule::{Part, Secret, inner, token};
use crate::guard::values::{
    NameStrength, has_digit, has_letters_and_digits, is_credential_value, is_marked, is_opaque, is_random, is_session,
    is_strong,
};
use crate::guard::vendors::VENDORS;
use crate::guard::work::WORK_ROWS;

/// Returns an example of every kind of secret, with its name. The example is a text in the notation of the table of
/// secrets.
#[must_use]
pub fn secret_examples() -> Vec<(&'static str, String)> {
    let rows = SECRETS.iter().map(|row| (row.name, row.example.to_owned()));
    rows.chain(VENDORS.templates.iter().map(|template| (template.name, template.example()))).collect()
}

/// A pattern that matches a secret only after its vendor's name and a word such as "key".
macro_rules! behind {
    ($maker:literal, $shape:literal) => {
        concat!(
            "(?i:",
            $maker,
            r#")[^\n]{0,40}?(?i:key|token|secret|auth)[a-zA-Z_]{0,8}[^\nA-Za-z0-9]{1,8}"#,
            r#"(?:(?i:is|was)[^\nA-Za-z0-9]{1,4})?(?P<secret>"#,
            $shape,
            r")(?-u:\b)"
        )
    };
}

/// The text between a secret's name and its value in code, configuration, JSON and on a command line.
macro_rules! assign {
    () => {
        concat!(
            r#"(?P<suffix>[A-Za-z0-9_.-]{0,32})(?:\\{0,3}["'`]|\]|\*\*){0,3}"#,
            r#"(?P<sign>\s{0,8}(?::\s{0,2}&?(?:'static )?[A-Za-z][A-Za-z<>\[\]]{0,16}\s{0,2}=|:=|=>|::[ \t]|[:=：＝])(?: ?<[a-z]{1,6}>|\*{0,2})[ \t]{0,8}|[ \t]{1,4})"#
        )
    };
}

/// The text between a secret's name and its value in a sentence.
macro_rules! says {
    () => {
        concat!(
            r#"(?:[ *"'`_][^\n.:!?=&：。！？]{0,48}?|[\x{2e80}-\x{ffef}]{0,8}?)"#,
            r"(?: (?:(?i:is|was)|ist|war|lautet|heißt|es|est|è|é|är|jest)\b(?: (?:now|still|currently|set to|jetzt|ahora|maintenant)\b)?:?|=|：|:",
            r"| ?(?:是|为|為|は、?|은|는|—|→))[ \t]{0,4}"
        )
    };
}

// The table of secrets has one row per kind, each with an example that the tests assemble.

/// The names of a password in the languages of the guard.
macro_rules! password_words {
    () => {
        concat!(
            r"(?i:password|passwd|passphrase|passcode|pwd|(?-u:\b)psk|passwort|kennwort|contraseña|contrasena|senha|palavra-passe",
            r"|mot[ _-]de[ _-]passe|parola(?: d['’]ordine|sı|m|nız)?|frase de (?:paso|contraseña)|wachtwoord|lösenord|adgangskode|passord|salasana|(?-u:\b)heslo|hasł(?:o|a|em|u)|(?-u:\b)haslo",
            r"|парол(?:ь|я|ю|ем)|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호|패스워드|كلمة (?:السر|المرور)|पासवर्ड|şifre(?:si|m)?|(?-u:\b)sifre(?:si)?|кодов(?:ая|ую|ой) фраз[а-я]{1,2}|合言葉|(?-u:\b)pass?w(?:or|ro|o)d(?-u:\b))"
        )
    };
}

/// Literals that occur in the names of a password.
#[rustfmt::skip]
const PASSWORD_WORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "pwd", "psk", "passwort", "kennwort", "contraseña", "contrasena", "senha", "palavra-passe", "mot de passe", "mot_de_passe", "mot-de-passe",
    "parola", "frase de ", "wachtwoord", "lösenord", "adgangskode", "passord", "salasana", "heslo", "hasł", "haslo", "парол", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "비번", "암호", "패스워드", "sifre", "кодов", "合言葉", "pasw", "passwr", "passwo",
    "كلمة السر", "كلمة المرور", "पासवर्ड", "şifre",
];

/// All kinds, specific before general. If two rows match the same place, the earlier row determines the name.
pub(super) static SECRETS: LazyLock<Vec<&Secret>> =
    LazyLock::new(|| [TOKEN_ROWS, WORK_ROWS, GENERAL_ROWS, CHAT_ROWS].into_iter().flatten().collect());

#[rustfmt::skip]
const TOKEN_ROWS: &[Secret] = &[
    // Key blocks. The first alternative requires the END line. The second alternative matches the key lines of a block
    // that was cut.
    token("private-key", &["-----BEGIN "],
        concat!(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-[^-])*-----END [A-Z0-9 ]{0,40}-----",
            r#"|(?:(?:\\+[nrt]|[\s>|+:"',0-9→]){1,24}(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,80}|[A-Za-z0-9+/]{16,}={0,2}))*"#,
            r"(?:(?:\\+[nr]|\s){1,4}(?:=?[A-Za-z0-9+/]{1,15}={1,2}|[A-Za-z0-9+/]{1,15}\s*\z))?)"),
        "-----BEGIN RSA PRIVATE KEY-----\n{a64}\n{a64}\n{a20}==\n-----END RSA PRIVATE KEY-----"),
    token("private-key-tail", &["-----END "],
        r"(?:[A-Za-z0-9+/]{32,}={0,2}(?:\\+[nr]|\s){1,4})+(?:=?[A-Za-z0-9+/]{1,31}={0,2}(?:\\+[nr]|\s){1,4}){0,2}-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
        "{a64}\n{a64}\n-----END OPENSSH PRIVATE KEY-----").reaching(4096),
    inner("putty-key", &["Private-Lines:"], r"Private-Lines: [0-9]{1,4}(?:\\+[nr]|[\s>*|#/])+(?P<secret>[A-Za-z0-9+/=]{16,}(?:(?:\\+[nr]|[\s>*|#])+[A-Za-z0-9+/=]{16,})*(?:(?:\\+[nr]|[\s>*|#])+[A-Za-z0-9+/]{1,31}={0,2})?)",
        "Private-Lines: 2\n{a64}\n{a60}"),
    token("openvpn-key", &["-----BEGIN OpenVPN"], r"-----BEGIN OpenVPN Static key V1-----(?:(?:\\+[nr]|[\s>]){1,6}[0-9a-f]{32})+", "-----BEGIN OpenVPN Static key V1-----\n{h32}\n{h32}"),

    // Clouds.
    inner("aws-secret-key", &["aws_secret", "aws secret", "secret_access_key", "secretaccesskey", "secret access key"],
        r#"(?i:aws[_ ]secret|secret_?access_?key|secret access key)[^\n]{0,40}?[\s"'=:`](?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#,
        "aws_secret_access_key = {a40}"),
    inner("azure-storage-key", &["AccountKey="], r"(?i:AccountKey)=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})", "AccountName=shop;AccountKey={a86}==;"),
    inner("azure-shared-access-key", &["SharedAccessKey="], r"(?i:SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})", "SharedAccessKey={a43}="),
    inner("azure-sas-signature", &["sig="], r"sig=(?P<secret>[A-Za-z0-9%+/_-]{20,}={0,2})", "https://shop.blob.core.windows.net/a?sv=2024&sig={a43}%3D"),
    token("azure-client-secret", &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], r"(?-u:\b)[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", "{a3}8Q~{a34}").reaching(4),
    token("azure-devops-token", &["AZDO"], r"(?-u:\b)[A-Za-z0-9]{75,76}AZDO[A-Za-z0-9]{4}", "{a76}AZDO{a4}").reaching(77),
    inner("presigned-url", &["x-amz-signature=", "x-goog-signature=", "x-amz-security-token="], r"(?i:x-(?:amz|goog)-(?:signature|security-token))=(?P<secret>[A-Za-z0-9%/+_-]{32,})", "https://b.example/a?X-Amz-Signature={h64}"),
    inner("kubernetes-client-key", &["client-key-data"], r#"client-key-data\\{0,3}"?:\s{0,4}\\{0,3}"?(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"#, "client-key-data: {a80}=="),
    inner("heroku-key", &["heroku"], behind!("heroku", "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"), "HEROKU_API_KEY={U}"),
    inner("vercel-key", &["vercel"], behind!("vercel", "[A-Za-z0-9]{24}"), "VERCEL_TOKEN={a24}").taking(Part::Group(has_letters_and_digits)),
    inner("cloudflare-key", &["cloudflare", "CF_API"], behind!("cloudflare|CF_API", "[A-Za-z0-9_-]{37,40}"), "CLOUDFLARE_API_TOKEN={a40}").taking(Part::Group(has_letters_and_digits)),
    token("terraform-token", &[".atlasv1."], r"(?-u:\b)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", "{a14}.atlasv1.{a67}").reaching(15),

    // Code and packages.
    inner("snyk-token", &["snyk"], behind!("snyk", "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "SNYK_TOKEN={U}"),

    // Models.
    inner("wandb-key", &["wandb"], behind!("wandb", "[a-f0-9]{40}"), "WANDB_API_KEY={h40}"),

    // Payment and commerce.

    // Messages and mail.
    token("telegram-bot-token", &[":AA"], r"(?:(?-u:\b)|bot)[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}", "{d10}:AA{a33}").reaching(14),
    inner("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/[0-9]{15,20}/(?P<secret>[A-Za-z0-9_-]{40,})", "https://discord.com/api/webhooks/112233445566778899/{a68}"),
    inner("twilio-auth-token", &["twilio"], behind!("twilio", "[0-9a-f]{32}"), "TWILIO_AUTH_TOKEN={h32}"),
    token("maxmind-key", &["_mmk"], r"(?-u:\b)[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", "{a6}_{a29}_mmk").reaching(36),
    inner("adyen-key", &["AQE"], r#"(?-u:\b)(?P<secret>AQE[A-Za-z0-9+/=]{16,}-?[A-Za-z0-9+/=]{40,}-[^\s"'`<>\\]{12,40})"#, "AQE{a80}=-{a16}"),
    token("azure-identifiable-key", &["APIM", "ACDb", "+ABa", "+AMC", "+ASt", "AIoT", "+ASb", "+AEh", "+ARm", "+ACR", "AzSe", "AzFu", "AzCa", "JQQJ9"],
        concat!(r"(?-u:\b)?(?:[A-Za-z0-9/+]{76}(?:APIM|ACDb|\+(?:ABa|AMC|ASt))[A-Za-z0-9/+]{5}[AQgw]==|[A-Za-z0-9/+]{33}(?:AIoT|\+(?:ASb|AEh|ARm))[A-Za-z0-9/+]{5}[AEIMQUYcgkosw048]=",
            r"|[A-Za-z0-9/+]{42}\+ACR[A-Za-z0-9/+]{6}|[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5,6}={0,2}|[A-Za-z0-9]{33}AzCa[A-P][A-Za-z0-9]{5}=|[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27})"), "{a42}AzSeA{a5}").reaching(76),
    token("mailchimp-key", &["-us"], r"(?-u:\b)[0-9a-f]{32}-us[0-9]{1,2}", "{h32}-us12").reaching(33),
    token("firebase-server-key", &[":APA91"], r"(?-u:\b)AAAA[A-Za-z0-9_-]{7}:APA91[A-Za-z0-9_-]{130,}", "AAAA{a7}:APA91{a135}").reaching(12),

    // Monitoring, and office tools.
    inner("datadog-key", &["datadog", "DD_API", "DD_APP"], behind!("datadog|DD_API|DD_APP", "[a-f0-9]{40}|[a-f0-9]{32}"), "DATADOG_API_KEY={h32}"),
    token("salesforce-token", &["00D"], r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}", "00D{a12}!{a96}"),
    inner("algolia-key", &["algolia"], behind!("algolia", "[a-f0-9]{32}"), "ALGOLIA_ADMIN_KEY={h32}"),
    inner("okta-ssws-token", &["ssws"], r#"(?i:ssws)(?:\s{1,4}|["': =]{1,4})(?P<secret>[A-Za-z0-9._~+/=-]{16,})"#, "curl -H 'x: SSWS {a40}'").taking(Part::Group(is_opaque)),
    token("newrelic-license", &["NRAL"], r"(?-u:\b)(?:[a-z]{2}[0-9]{2}xx)?[0-9a-f]{28,36}NRAL", "eu01xx{h32}NRAL").reaching(44),
    inner("okta-token", &["okta"], behind!("okta", "00[A-Za-z0-9_-]{40}"), "OKTA_TOKEN=00{a40}"),

    // Formats that can contain any vendor's secret.
    token("jwt", &["eyJ"], r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?|[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){3})", "eyJ{a33}.eyJ{a60}.{a43}"),
    inner("url-password", &["://"], r#"://[^\s/?#:@"'<>`]{0,96}:(?P<secret>[^\s/"'<>`]+)@[A-Za-z0-9\[]"#, "postgres://app:{a16}@db.internal:5432/shop")
        .taking(Part::Group(is_credential_value)),
    // The password is broken over two lines. The number of a port, which an address on the next line may follow, is none.
    inner("broken-url-password", &["://"], r#"://[^\s/?#:@"'<>`]{1,96}:(?P<secret>[^\s/"'<>`@]{0,128}[^\s/"'<>`@\x00-@\[\\\]^_{|}~][^\s/"'<>`@\\]{0,128}(?:\r?\n|(?:\\+r)?\\+n)[ \t>|│]{0,24}[^\s/"'<>`@]{1,128})@[A-Za-z0-9\[]"#,
        "postgres://app:{a8}\n  {a8}@db.internal:5432/shop").taking(Part::Group(is_credential_value)),
    inner("url-token", &["://"], r"://(?P<secret>[A-Za-z0-9_-]{20,})@[A-Za-z0-9]", "https://{a32}@git.internal/shop.git").taking(Part::Group(is_opaque)),
    inner("authorization", &["authorization"],
        r#"(?i:authorization)\\?["']?\s{0,4}[:=,]\s{0,4}\\?["']?(?:(?i:[a-z][a-z0-9-]{2,24})\s{1,4}(?:Credential=)?)?(?P<secret>[A-Za-z0-9._~+/=-]{8,})"#,
        "Authorization: Basic {a24}==").taking(Part::Group(is_opaque)),
    inner("bearer", &["bearer"], r"(?i:bearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{8,})", "curl -H 'x: Bearer {a32}'").taking(Part::Group(is_opaque)),
    inner("basic-auth", &["basic"], r"(?i:basic)\s(?P<secret>[A-Za-z0-9+/]{8,}={1,2})", "Basic {a22}==").taking(Part::Group(is_opaque)),
    inner("cookie", &["cookie:"], r#"(?i:cookie):\s{0,4}(?P<secret>[A-Za-z0-9_.-]{1,64}=[^\s;"',]{6,}(?:;\s{0,2}[A-Za-z0-9_.-]{1,64}(?:=[^\s;"',]*)?)*)"#, "Cookie: session={a32}; theme=dark"),
    inner("session-cookie", &["sessionid=", "connect.sid=", "session_id=", "sessid=", "_session=", "sessionid'", "sessionid\"", "sessionid\\"],
        r#"(?i:(?:php|j)?sess(?:ion_?)?id|connect\.sid|_session)(?:\\{0,3}["'] ?: ?\\{0,3}["']|=\\{0,3}["']?)(?P<secret>[^\s;&,"'\\]{16,})"#, "sessionid={a32}").taking(Part::Group(is_session)),
    inner("java-session-cookie", &["jsessionid."], r"(?i:jsessionid)\.[0-9a-f]{6,12}=(?P<secret>[A-Za-z0-9._!-]{20,})", "JSESSIONID.1a2b3c4d={a26}.node0"),
    inner("wordpress-cookie", &["wordpress_logged_in_", "wordpress_sec_"], r#"wordpress_(?:logged_in|sec)_[0-9a-f]{8,32}=(?P<secret>[^\s;"'`,]{30,})"#, "wordpress_logged_in_5f4dcc3b5aa765d6=ana%7C1785499200%7C{a43}%7C{h64}"),
    inner("code-parameter", &["?code=", "&code="], r"[?&]code=(?P<secret>[A-Za-z0-9_/+%-]{40,}={0,2})", "https://shop.example/api/orders?code={a54}==").taking(Part::Group(is_random)),
    inner("webhook", &["/hook/", "/hooks/", "/webhook/", "/webhooks/"], r"(?i:/(?:web)?hooks?)/(?:[A-Za-z0-9_.-]{1,19}/){0,3}(?P<secret>[A-Za-z0-9_-]{20,}(?:/[A-Za-z0-9_-]+)*)",
        "https://shop.example/webhook/{h32}").taking(Part::Group(is_opaque)),
    token("password-hash", &["$apr1$", "$1$", "$5$", "$6$", "$2a$", "$2b$", "$2x$", "$2y$", "$argon2", "$y$", "$gy$", "$7$", "{sha", "{ssha"],
        r"(?:\$(?:apr1|1|5|6)\$(?:rounds=[0-9]{1,9}\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{22,86}|\$2[abxy]\$[0-9][0-9]\$[A-Za-z0-9./]{53}|\$(?:g?y|7)\$[A-Za-z0-9./]{1,24}\$[A-Za-z0-9./]{1,86}\$[A-Za-z0-9./]{43}|(?i:\{S?SHA(?:256|384|512)?\})[A-Za-z0-9+/]{27,}={0,2}|\$argon2(?:id|i|d)\$v=[0-9]+\$m=[0-9]+,t=[0-9]+,p=[0-9]+\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{20,128})",
        "ana:$apr1${a8}${a22}"),
    token("password-hash-of-a-program", &["pbkdf2_sha", "SCRAM-SHA-", "$P$", "$H$", "$krb5"],
        r#"(?:pbkdf2_sha(?:1|256|512)\$[0-9]{1,9}\$[A-Za-z0-9+/.=]{4,64}\$[A-Za-z0-9+/.=]{20,}|SCRAM-SHA-(?:1|256)\$[0-9]{1,9}:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=:]{20,}|\$[PH]\$[A-Za-z0-9./]{31}|\$krb5(?:tgs|asrep|pa)\$[^\s"'`\\]{40,})"#,
        "pbkdf2_sha256$600000${a22}${a43}="),
    token("tableau-token", &["==:"], r"(?-u:\b)[A-Za-z0-9+/]{22}==:[A-Za-z0-9]{32}", "{a22}==:{a32}").reaching(22),
    inner("login-with", &["log in as ", "login as ", "sign in as ", "logged in as "], r"(?i:(?:log|sign|logged) ?in as) \S{1,64} (?:with|and|using|/)(?: the)?(?: password)? (?P<secret>\S{8,})", "log in as admin with {a14}").taking(Part::Group(is_strong)),
    inner("key-handed-over", &["key ", "token ", "secret "],
        r"(?i:(?:api|access|auth|secret)[ _-]?key|token|secret)(?: to)? (?P<secret>[A-Za-z0-9_-]{32,})", "set the API key to {h40}").taking(Part::Group(is_opaque)).reaching(8),
    inner("one-time-seed", &["totp", "otpauth", "2fa", "mfa"], r"(?i:totp|otpauth|2fa|mfa)[^\n]{0,48}?(?i:seed|secret|key)[^\nA-Za-z0-9]{1,4}(?:(?i:is) )?(?P<secret>[A-Z2-7]{16,})", "TOTP seed: {u32}"),
    inner("password-before-is", &["पासवर्ड"], r"पासवर्ड (?P<secret>[^ \t\r\n]{6,64}) है", "डेटाबेस का पासवर्ड {a14} है").taking(Part::Group(is_marked)),
    inner("jwk-private", &["\"d\"", "\"d\\", "\"k\"", "\"k\\", "\"p\"", "\"p\\", "\"q\"", "\"q\\", "\"dp\"", "\"dp\\", "\"dq\"", "\"dq\\", "\"qi\"", "\"qi\\"],
        r#""(?:d|k|p|q|dp|dq|qi)\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}"(?P<secret>[A-Za-z0-9_-]{40,})"#, "\"d\": \"{a43}\"").taking(Part::Group(is_opaque)),
];

#[rustfmt::skip]
const GENERAL_ROWS: &[Secret] = &[
    inner("table-password", PASSWORD_WORDS, concat!(password_words!(), r"[ *`]{0,4}\|[ \t]{0,4}[`*]{0,3}(?P<secret>[^\s|`]{4,}?)[`*]{0,3}[ \t]{0,24}\|"),
        "| DB password | {a14} |").taking(Part::Group(is_marked)),
    inner("table-secret", &["secret", "token", "_pass", "api", "key", "klucz", "clé", "clave", "chave", "schlüssel", "ключ"],
        r"(?i:secret|token|_pass|api[ _-]?(?:key|키|キー)|(?:api|secret|private|access|tajny|clé|clave|chave|ключ)[ _-](?:key|klucz|secrète|api|secreta|secreto)|schlüssel|ключ)[ *`]{0,4}\|[ \t]{0,4}[`*]{0,3}(?P<secret>[^\s|`]{6,}?)[`*]{0,3}[ \t]{0,24}\|",
        "| Client secret | {a14} |").taking(Part::Group(is_marked)),
    inner("short-named-password", &["pass:", "pass=", "pass =", "pass: ", "pw:", "pw=", "creds:", "creds ", "credentials are"],
        r#"(?i:pass|pw|creds|credentials)(?:(?: ?[:=]| are) ?["'`]?(?:[A-Za-z0-9._@-]{1,40}(?: ?/ ?|:))?| [A-Za-z0-9._@-]{1,40}:)(?P<secret>[^\s"'`,;]{6,})"#, "login ana, pass: {a14}").taking(Part::Apart(is_marked)),

    // Named values: NAME=value in all its spellings.
    Secret {
        name: "password", reach: 0, part: Part::Assigned(NameStrength::Password),
        hints: PASSWORD_WORDS,
        pattern: concat!(password_words!(), assign!()),
        example: "DB_PASSWORD={a12}",
    },
    Secret {
        name: "secret", reach: 0, part: Part::Assigned(NameStrength::Key),
        hints: &["secret", "token", "api_key", "apikey", "api-key", "api key", "access_key", "accesskey", "access-key", "private_key", "privatekey", "private-key", "shared_key", "sharedkey", "shared-key", "master_key", "auth_key", "authkey", "account_key", "accountkey", "encryption_key", "signing_key", "credential", "密钥", "令牌", "_auth", "unseal", "_salt",
            "schlüssel", "schluessel", "sleutel", "clé", "clef", "clave", "chave", "chiave", "ключ", "klucz", "キー", "鍵", "api 키", "api키", "anahtar"],
        pattern: concat!(r"(?i:secret|token|api[_ -]?key|access[_-]?key|private[_-]?key|shared[_-]?key|master_key|auth_?key|account_?key|encryption_key|signing_key|credential|密钥|令牌|_auth|unseal|_salt|schlüssel|schluessel|sleutel",
            r"|(?:clé|clef|clave|chave|chiave|ключ|klucz)(?: d[e'’] ?)? ?api|anahtarı?|キー|鍵|api ?키)", assign!()),
        example: "CLIENT_SECRET: \"{a24}\"",
    },

    Secret {
        name: "short-name", reach: 0, part: Part::Assigned(NameStrength::Brief),
        hints: &["pass", "pw", "_pat", "psk", "mdp", "appid", "community", "salt"],
        pattern: concat!(r"(?i:pass|pw|_pat|psk|mdp|appid|community|salt)", assign!()),
        example: "smtpPass={a12}",
    },

    // Stated in a sentence.
    WIFI_KEY, ACCESS_CODE, ONE_TIME_CODE,
    Secret {
        name: "spoken-passphrase", reach: 0, part: Part::Phrase, hints: &["passphrase", "seed phrase", "recovery phrase", "mnemonic", "助记词"],
        pattern: concat!(r"(?i:passphrase|seed phrase|recovery phrase|mnemonic|助记词)", says!()),
        example: "my passphrase is {w8} {w9} {w8} {w10}",
    },
    Secret {
        name: "spoken-password", reach: 0, part: Part::Spoken(NameStrength::Password),
        hints: PASSWORD_WORDS,
        pattern: concat!(password_words!(), says!()),
        example: "the password for the staging box is {a12}",
    },
    Secret {
        name: "spoken-password-words", reach: 0, part: Part::Words, hints: PASSWORD_WORDS,
        pattern: concat!(password_words!(), says!()),
        example: "the vault password is {w7} {w6} {w8}",
    },
    // Here "to" is Polish for "is".
    Secret {
        name: "spoken-haslo", reach: 0, part: Part::Spoken(NameStrength::Login), hints: &["hasł", "klucz"],
        pattern: r"(?i:hasł(?:o|a|em|u))(?: [^\n.:!?=&]{0,48}?)? (?i:to|brzmi):? ", example: "hasło do bazy to {a12}",
    },
    Secret {
        name: "spoken-pin", reach: 0, part: Part::Spoken(NameStrength::Pin), hints: &["pin", "otp", "security code"],
        pattern: concat!(r"(?i:pin(?:[ -]?code| number|-nummer)?|otp|security code)", says!()),
        example: "my PIN is {d8}",
    },
    Secret {
        name: "spoken-key", reach: 0, part: Part::Spoken(NameStrength::Key), hints: &["key", "token", "secret", "credential", "schlüssel", "schluessel", "密钥", "令牌", "sleutel", "clé", "clef", "chave", "chiave", "ключ", "klucz", "キー", "鍵", "키"],
        pattern: concat!(r"(?i:keys?|tokens?|secrets?|credentials?|schl(?:ü|ue)ssel|密钥|令牌|sleutel|cl[ée]|clef|chave|chiave|ключ|klucz|キー|鍵|키)", says!()),
        example: "our API key for maps is {a24}",
    },
    CARD_CODE, YOUR_CODE, CODE_NAMED_AFTER,
    RECOVERY_WORDS, CLAVE, CLAVE_NUMBER,
    inner("recovery-code", &["backup code", "recovery code", "rescue code", "scratch code", "backup-code", "wiederherstellungscode", "códigos de recup", "codes de secours", "codici di recupero", "резервные коды", "恢复码", "恢复代码", "备用码", "バックアップコード", "복구 코드", "백업 코드"],
        r"(?i:(?:backup|recovery|rescue|scratch)[ -]codes?|wiederherstellungscodes?|códigos de recupera[a-zçã]{2,4}|codes de secours|codici di recupero|резервные коды|恢复码|恢复代码|备用码|バックアップコード|복구 코드|백업 코드)(?: [^\n:：]{1,48}[:：]| (?:is|are))?[:： ]{0,3}(?:\\n|\s){0,2}(?P<secret>(?:[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}|[0-9]{6,10})(?:(?:\\n|[\s,]|(?: and | und | y | et | e )){1,3}(?:[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}|[0-9]{6,10})){0,20})",
        "backup codes: {d4}-{d4} {d4}-{d4}").taking(Part::Group(has_digit)),
    inner("given-password", &["password", "passwort", "kennwort", "contraseña", "mot de passe", "密码", "口令", "パスワード"],
        r#"(?i:password|passwort|kennwort|contraseña|mot de passe|密码|口令|パスワード)(?:(?: (?:of|for|von|für|de|du|del) \S{1,40})? (?:(?:(?:has been|was|is) )?(?:changed|set|reset|updated)(?: from [^\n.:;=]{1,32}?)? to|to|as|auf|a|bleibt|sigue siendo|geändert auf)|改成了?|改为|设成了?|设为| -|=| →| ->)? ?["'“`]?(?P<secret>[A-Za-z0-9!#$%&*+/:=?@_^~.-]{7,}[A-Za-z0-9!#$%&*+/=@_^~-])"#,
        "I changed my password to {a14}").taking(Part::Group(is_strong)),
    inner("replaced-password", &["password", "passwort", "kennwort", "contraseña", "mot de passe", "пароль", "hasło", "wachtwoord", "senha"],
        r#"(?i:password|passwort|kennwort|contraseña|mot de passe|пароль|hasło|wachtwoord|senha)(?: \S{1,24}){0,3}? (?i:(?:changed|set|reset|updated|rotated)(?: from [^\n.:;=]{1,32}?)? to|(?:geändert|gesetzt|zurückgesetzt) auf|cambiada? a|(?:changé|remplacé) par|(?:изменён|изменен|сброшен) на|zmienione na|gewijzigd in|alterada para) ["'`]?(?P<secret>[^\s"'`,;]{6,})"#,
        "пароль сброшен на {a14}").taking(Part::Group(is_marked)),
    inner("numeric-password", &["密码 ", "密碼 ", "口令 "], r"(?:密码|密碼|口令) {1,2}(?P<secret>[0-9]{6})(?: [^ 0-9位个個次年元字版]|[^ 0-9位个個次年元字版A-Za-z.:-]| ?\z)", "取款密码 {d6}"),
    inner("password-named-after", &[" as the ", " as password", " as passphrase", " is my ", " is the ", " is our ", " als passwort", " als kennwort", " de contraseña", " como contraseña"],
        r#"(?P<secret>[A-Za-z0-9!#%&*+/:?@_^~.-]{8,})["'”`]? (?:(?:as|is) (?:(?:the|my|our) (?:[A-Za-z0-9-]{1,16} ){0,2})?pass(?:word|phrase)|(?i:als (?:passwort|kennwort)|(?:de|como) contraseña))"#, "use {a14} as the password").reaching(66).taking(Part::Group(is_strong)),
    inner("near-secret-word", &["key", "token", "secret", "passw", "credential", "密码", "密钥", "令牌", "schlüssel", "sleutel", "wachtwoord", "clé", "clave", "contraseña", "chave", "senha", "chiave", "ключ", "парол", "klucz", "hasł", "mot de passe", "パスワード", "キー", "鍵", "비밀번호", "암호", "키"],
        r"(?i:key|token|secret|password|credential|密码|密钥|令牌|schlüssel|sleutel|wachtwoord|passwort|clé|clave|contraseña|chave|senha|chiave|ключ|парол[а-я]{1,2}|klucz|hasł[a-z]{1,2}|mot de passe|パスワード|キー|鍵|비밀번호|암호|키)s?[^\n]{0,24}?(?:\\+[nrt]|[^\nA-Za-z0-9+/_=.\\-])(?P<secret>[A-Za-z0-9+/_=-]{24,})",
        "use this key instead -> {a40}").taking(Part::Group(is_random)),
    LOGIN_PAIR, SLASHED_LOGIN, MAKER_KEY,
];
