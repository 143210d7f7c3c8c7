//! Finds values that look like passwords or keys near a word for a secret or for logging in, whatever is between them.
//!
//! The other tables describe the syntax around a secret. This rule does not, so the value must have the shape of a
//! password or key, and must not be the value of another name.

use std::ops::Range;

use crate::guard::values::{class_turns, is_made_up, is_marked, names_secret};

/// A word near which values are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// A word for a password. People choose passwords, so a word with a number is enough.
    Password,
    /// The same, but too short to be recognised within another word.
    ShortPassword,
    /// A word for another secret. The value may also be before the word, or on the next line.
    Secret,
    /// The same, but too short to be recognised within another word.
    ShortSecret,
    /// A word of logging in. The value follows on the same line.
    Login,
}

impl Context {
    /// Number of separate positions up to which the values of a text have been judged; see [`Context::position`].
    pub(super) const POSITIONS: usize = 3;

    /// Returns which of these positions belongs to the context. A value near a word for logging in is judged once more
    /// near a word for a password, which may follow it.
    pub(super) const fn position(self) -> usize {
        match self {
            Self::Password | Self::ShortPassword => 0,
            Self::Secret | Self::ShortSecret => 1,
            Self::Login => 2,
        }
    }
}

/// Words for passwords, as stems.
#[rustfmt::skip]
const PASSWORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "losungswort", "contraseñ", "contrasen", "mot de passe", "motdepasse", "mot_de_passe", "mot-de-passe", "frase de paso", "code d'accès", "phrase secrète",
    "senha", "palavra-passe", "parola", "wachtwoord", "hasł", "haslo", "парол", "гасло", "密码", "密碼", "口令", "通行碼", "通行码", "パスワード", "パスフレーズ", "暗証", "비밀번호", "비번", "암호", "패스워드",
    "lösenord", "adgangskode", "passord", "salasana", "heslo", "şifre", "sifre", "кодовая фраз", "кодовую фраз", "合言葉", "pasword", "jelszó", "κωδικ", "mật khẩu", "kata sandi", "كلمة المرور", "סיסמ", "पासवर्ड", "รหัสผ่าน",
];

#[rustfmt::skip]
const SHORT_PASSWORDS: &[&str] = &["pass", "pwd", "pw:", "pw ", "pw=", "pw\"", "pw'", "pw)", "psk", "mdp", "ww:", "ww ", "clave", "zugangscode", "creds"];

/// Words for other secrets, as stems.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    "secret", "token", "credential", "api key", "apikey", "api-key", "api_key", "access key", "private key", "geheim", "schlüssel", "anahtar", "zugangsdaten", "anmeldedaten", "licence", "license", "lizenz",
    "product key", "serial number", "seriennummer", "authenticator", "one-time", "credencial", "secreto", "identifiants", "clé d", "licencia", "segredo", "chave", "credenciais", "licença",
    "credenzial", "segreta", "segreto", "chiave", "licenza", "geheime", "sleutel", "inloggegevens", "licentie", "sekret", "klucz", "poświadcz", "licencj",
    "секрет", "ключ", "учётн", "учетн", "лиценз", "密钥", "密鑰", "令牌", "凭证", "凭据", "许可证", "秘密鍵", "認証情報", "トークン", "シークレット", "ライセンス", "시크릿", "토큰", "인증키", "자격 증명", "라이선스",
];

#[rustfmt::skip]
const SHORT_SECRETS: &[&str] = &["key", "pin", "auth", "totp", "otp", "2fa", "clé", "clef", "salt", "seed", "webhook", "cookie", "bearer", "/ipk"];

/// Words for logging in: the parts of commands, calls and statements in which a password follows a user.
#[rustfmt::skip]
const LOGINS: &[&str] = &[
    "login", "log in", "logged in", "sign in", "signin", "logon", "user", "account", "konto", "benutzer", "anmeld", "usuari", "utilisateur", "compte", "utente", "gebruiker", "użytkownik",
    "логин", "учётка", "пользоват", "аккаунт", "账号", "帐号", "账户", "用户", "登录", "アカウント", "ログイン", "ユーザー", "계정", "로그인", "사용자",
    "identified", "register", "admin", "root", "community", "radius", "radtest", "config ", "sudo", "ssh", "sftp", "ftp", "ldap", "kinit", "smb", "crypt", "hmac", "connect", "identity", "unlock", "vault", "wifi", "wi-fi", "wlan", "ssid", "vpn",
    " -p", " -P", " -w", " -u", " -U", " -a", " -A", " -k", " -K", "/p:", "/pass", "--pass", "--user", "--auth", "--token", "--key", "--secret",
];

/// Returns the words with their contexts.
pub(super) fn words() -> impl Iterator<Item = (&'static str, Context)> {
    let of = |words: &'static [&'static str], context| words.iter().map(move |word| (*word, context));
    of(PASSWORDS, Context::Password)
        .chain(of(SHORT_PASSWORDS, Context::ShortPassword))
        .chain(of(SECRETS, Context::Secret))
        .chain(of(SHORT_SECRETS, Context::ShortSecret))
        .chain(of(LOGINS, Context::Login))
}

/// Number of bytes after a word in which values are judged.
const AFTER_BYTES: [usize; 2] = [96, 64];

/// Number of bytes before a word in which values are judged.
const BEFORE_BYTES: usize = 40;

/// The same for values of at least [`LONG_BYTES`], which are hardly ever the name of something else.
const LONG_BEFORE_BYTES: usize = 72;

/// Minimum length of a long value.
const LONG_BYTES: usize = 24;

/// Adds the values near the word at `word` that look like secrets, starting at `read_to`, and returns the end of the
/// text that was read.
pub(super) fn find(
    text: &str,
    word: &Range<usize>,
    context: Context,
    read_to: usize,
    found: &mut Vec<Range<usize>>,
) -> usize {
    let bytes = text.as_bytes();
    let begins =
        word.start == 0 || !bytes[word.start - 1].is_ascii_alphanumeric() || !bytes[word.start].is_ascii_alphanumeric();
    let ends = !bytes[word.end - 1].is_ascii_alphanumeric()
        || bytes.get(word.end).is_none_or(|next| !next.is_ascii_lowercase());
    let is_capital = bytes[word.start].is_ascii_uppercase();
    let is_short = matches!(context, Context::ShortSecret | Context::ShortPassword);
    // Capitals before the word and a digit after it belong to a random value, as in `xERGOTP7gG`.
    let is_chance = !begins
        && bytes[word.start - 1].is_ascii_uppercase()
        && bytes.get(word.end).is_some_and(u8::is_ascii_alphanumeric);
    if is_short && is_chance || is_short && !((begins || is_capital) && ends) || context == Context::Login && !begins {
        return read_to;
    }
    let is_login = context == Context::Login;
    let is_password = matches!(context, Context::Password | Context::ShortPassword);
    // A password may be on the line before the words "that was the password".
    let from = if is_login {
        word.end
    } else {
        text.ceil_char_boundary(line_back(bytes, word.start, usize::from(is_password)))
    };
    let far = word.end + AFTER_BYTES[usize::from(is_login)];
    let mut lines = usize::from(!is_login);
    let mut at = from.max(read_to);
    while at < far.min(bytes.len()) {
        if !is_value_byte(bytes, at) {
            if at >= word.end && ends_line(bytes, at) {
                if lines == 0 {
                    break;
                }
                lines -= 1;
            }
            at += 1;
            continue;
        }
        // A value that the distance cuts is not judged.
        let is_cut = at == from && at > 0 && is_value_byte(bytes, at - 1) && !(is_login && bytes[at] == b':');
        let length = (at..bytes.len()).take_while(|&at| is_value_byte(bytes, at)).count();
        let run = &bytes[at..at + length];
        let is_far = at + BEFORE_BYTES < word.start && length < LONG_BYTES;
        if (8..=MAX_BYTES).contains(&length) && !is_cut && !is_far && run.iter().any(u8::is_ascii_digit) {
            found.extend(value_in(text, at..at + length, is_password));
        }
        at += length;
    }
    at.max(read_to)
}

/// Maximum length of a value with the name or user before it. Longer ones are data, or tokens that other rules
/// recognise.
const MAX_BYTES: usize = 100;

/// Maximum length of a value. Lines of a key or certificate in base 64 have 64 characters or more.
const MAX_VALUE_BYTES: usize = 63;

/// Whether the byte at `at` may be a part of a value. Quotes, brackets and commas separate values. The only other
/// letters that occur in passwords are those of Latin languages.
fn is_value_byte(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        byte @ b'!'..=b'~' => !b"\"'`<>()[]{},;|\\".contains(&byte),
        0xc3..=0xc5 => true,
        0x80..=0xbf => at > 0 && matches!(bytes[at - 1], 0xc3..=0xc5),
        _ => false,
    }
}

/// Whether a line, real or escaped, ends at `at`.
fn ends_line(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'\n' || bytes[at] == b'\\' && bytes.get(at + 1) == Some(&b'n')
}

/// Returns the start of the line of a word, or of the line before it if `lines` is 1, within [`LONG_BEFORE_BYTES`].
fn line_back(bytes: &[u8], word: usize, lines: usize) -> usize {
    let first = word.saturating_sub(LONG_BEFORE_BYTES);
    (first..word).rev().filter(|&at| ends_line(bytes, at)).nth(lines).map_or(first, |end| end + 1)
}

/// Returns the part of a run of characters that looks like a secret.
fn value_in(text: &str, run: Range<usize>, is_password: bool) -> Option<Range<usize>> {
    // The letter of an escaped line break is not a part of the value.
    let escaped = text[..run.start].ends_with('\\') && text[run.clone()].starts_with(['n', 'r', 't']);
    let run = run.start + usize::from(escaped)..run.end;
    let whole = &text[run.clone()];
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let is_line_of_key = whole.len() >= 56 && whole.bytes().all(is_base64);
    if whole.contains("://")
        || whole.contains("::")
        || whole.contains("../")
        || ["**", "##", "-*"].iter().any(|mark| whole.contains(mark))
        || is_line_of_key
        || has_public_beginning(whole)
    {
        return None;
    }
    // A user or a name may precede the value, and a path may contain it.
    let after = |sign: char| whole.match_indices(sign).map(|(at, _)| at + 1);
    let is_name = |at: &usize| !is_more_than_name(&whole[..at - 1]);
    let named = after(':').chain(after('=')).chain(after('%')).filter(is_name);
    let mut starts = named.chain([0]).chain(after('/').take(3));
    starts.find_map(|start| {
        let value = &whole[start..];
        // A host may follow the password of a user.
        let value = if start > 0 && whole[..start].ends_with(':') {
            value.rsplit_once('@').map_or(value, |(own, _)| own)
        } else {
            value
        };
        let trimmed = value.trim_end_matches(['.', ':', '!', '?', '*', '-', '=']);
        // A symbol at the end may belong to the password or to the sentence, so it is removed, too.
        let end = start + value.trim_end_matches(['.', ':']).len();
        let fits = trimmed.len() <= MAX_VALUE_BYTES && !trimmed.contains('=');
        let place = run.start + start..run.start + end;
        let is_own = || !is_named_otherwise(&text[..place.start]) && !is_named_otherwise(&text[..run.start]);
        (fits && (looks_secret(trimmed, value) || is_password && looks_chosen(trimmed)) && is_own()).then_some(place)
    })
}

/// Whether `text` is more than the name of a user or of a setting.
fn is_more_than_name(text: &str) -> bool {
    class_turns(text) > 2 || text.contains(|c: char| "!#$%^&*+?~".contains(c))
}

/// Whether a value has the shape of a key made by a machine, or of a password with symbols.
pub(super) fn looks_secret(value: &str, with_end: &str) -> bool {
    let count = |class: fn(&u8) -> bool| value.bytes().filter(class).count();
    let (lower, upper, digits) =
        (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase), count(u8::is_ascii_digit));
    if value.len() < 8 || digits == 0 || lower + upper < 2 || !is_marked(value) || is_public(value) {
        return false;
    }
    let longest = value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or(0);
    let turns = class_turns(value);
    let is_mixed = value.len() >= 10 && lower >= 2 && upper >= 1 && digits >= 2 && turns >= 5 && longest >= 8;
    // Identifiers of objects are hexadecimal, also after a short name.
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_small = upper == 0
        && digits >= 3
        && turns >= 6
        && longest >= 12
        && !value.split(['-', '_', '.', '+']).any(|part| part.len() == longest && is_hex(part));
    // A key of a product or of an authenticator has only capitals and digits.
    let is_capitals = lower == 0
        && upper >= 6
        && digits >= 2
        && value.len() >= 16
        && (longest >= 16 || value.split('-').filter(|part| (4..=6).contains(&part.len())).count() >= 4);
    let runs = value.split(|c: char| !c.is_ascii_lowercase()).map(str::len).max().unwrap_or(0);
    let is_short_mix = value.len() >= 10
        && lower >= 3
        && upper >= 3
        && digits == 1
        && turns >= 5
        && runs <= 3
        && longest == value.len();
    is_mixed || is_small || is_capitals || is_short_mix || is_signed_password(value, with_end, lower + upper, digits)
}

/// Whether a value near a word for a password can be a password that a person chose: words with a number, in a form
/// that host names, versions and identifiers do not have.
fn looks_chosen(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let numbers = value.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).count();
    let is_cased =
        value.bytes().any(|byte| byte.is_ascii_uppercase()) && value.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_random =
        is_cased && digits >= 1 && class_turns(value) >= 4 && value.bytes().filter(u8::is_ascii_uppercase).count() >= 3;
    let is_word_and_number = digits >= 2 && (is_cased || digits >= 3 || numbers >= 2);
    value.len() >= 8
        && letters >= 4
        && (is_random || is_word_and_number)
        && !names_secret(value)
        && value.contains(|c: char| c.is_ascii_lowercase())
        && !is_hex
        && !value.contains(['/', ':', '.'])
        && is_made_up(value)
        && !is_public(value)
}

/// Whether letters, digits and symbols are mixed as in passwords: `Rain#77wet`, `Sunset2031!`.
fn is_signed_password(value: &str, with_end: &str, letters: usize, digits: usize) -> bool {
    let is_sign = |c: char| "!#%^?~@$*&".contains(c);
    let inner = value.get(1..).is_some_and(|rest| rest.contains(is_sign));
    let last = with_end.len() > value.len()
        && with_end[value.len()..].starts_with(is_sign)
        && value.ends_with(|c: char| c.is_ascii_digit());
    let cased =
        value.bytes().any(|byte| byte.is_ascii_uppercase()) && value.bytes().any(|byte| byte.is_ascii_lowercase());
    // `#12` and `@2` after a name are a number, and a version.
    let is_numbered = value.rsplit_once(['#', '@']).is_some_and(|(name, number)| {
        !name.contains(is_sign)
            && number
                .trim_start_matches(['L', 'v', '^', '~'])
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".-L".contains(&byte))
    });
    letters >= 3
        && digits >= 2
        && !is_numbered
        && (inner && !value.contains(['/', '='])
            || last && (cased || digits >= 3) && !value.contains(['/', '=', '.', ':']))
}

/// Whether a value may be public: a public key, a checksum, an address, a version, a dotted name.
pub(super) fn is_public(value: &str) -> bool {
    let is_word = |part: &str| part.len() > 2 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_mail = || value.split_once('@').is_some_and(|(_, host)| host.contains('.'));
    has_public_beginning(value)
        || value.contains('.') && value.split(['.', '/', ':']).any(is_word)
        || value.trim_start_matches('v').split('.').filter(|part| part.parse::<u32>().is_ok()).count() >= 2
        || is_mail()
        || value.split('/').filter(|part| part.len() < 12).count() >= 3
}

fn has_public_beginning(value: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "AAAA", "MII", "pk_", "sha", "SHA256:", "h1:", "md5", "0x", "ssh-", "toolu_", "msg_", "req_", "resp_", "call_",
        "chatcmpl", "arn:",
    ];
    BEGINNINGS.iter().any(|begin| value.starts_with(begin))
}

/// Words at the end of names whose values are not secrets.
#[rustfmt::skip]
const PUBLIC_NAMES: &[&str] = &[
    "id", "ids", "uuid", "guid", "hash", "sha", "sha1", "sha256", "sha512", "md5", "digest", "checksum", "commit", "rev", "revision", "etag", "integrity", "version", "nonce", "trace", "request", "url",
    "uri", "href", "src", "path", "file", "name", "time", "date", "at", "class", "icon", "color", "model", "resolved", "email", "host", "image", "ref", "branch", "fingerprint", "public", "span", "percentage", "signature",
    "content", "thumbprint",
];

/// Whether `before` ends with the name of something else and a separator after it, as in `trace_id=`, or with a word
/// for a checksum.
fn is_named_otherwise(before: &str) -> bool {
    let quotes = ['"', '\'', '`', '\\'];
    let bare = before.trim_end_matches(quotes).trim_end_matches(' ');
    let name = bare.strip_suffix(['=', ':']).map(|name| name.trim_end_matches([' ', ':']).trim_end_matches(quotes));
    let name = name.unwrap_or(bare);
    let start = name.len()
        - name.bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
    let word = name[start..].rsplit(['_', '.', '-']).next().unwrap_or("");
    let hump = word.rfind(|c: char| c.is_ascii_uppercase()).map_or(word, |at| &word[at..]);
    let is_public = |word: &str| PUBLIC_NAMES.contains(&word.to_ascii_lowercase().as_str());
    let lower = name[start..].to_ascii_lowercase();
    lower.contains("public") || is_public(word) || is_public(hump) || word.ends_with("ID") || word.ends_with("Ids")
}

#[cfg(test)]
pub(super) mod tests {
    use crate::guard::Guard;

    fn cleaned(text: &str) -> String {
        Guard::default().redact(text.to_owned()).0.into_inner()
    }

    #[test]
    fn values_near_words_of_secrecy_go_whatever_stands_between() {
        for (text, secret) in [
            ("for the old mixer the password we all use would be Turbine-5518", "Turbine-5518"),
            ("$ fancyctl attach --as ana --pw Qz81vTn4LkWp", "Qz81vTn4LkWp"),
            ("mount the share (user ana) using Rw5#kelp2087 please", "Rw5#kelp2087"),
            ("our new Lizenz for the plotter: 7KQ2M-X94TD-PL3VW-8RZNC", "7KQ2M-X94TD-PL3VW-8RZNC"),
            ("Kaffee92Mühle?\n(das Kennwort vom Drucker)", "Kaffee92Mühle"),
            ("mật khẩu của máy in: Bamboo#5521", "Bamboo#5521"),
            ("register => 5518:h7Qw2mZx9Lp@sip.nova.example", "h7Qw2mZx9Lp"),
            ("<key>Password</key><string>vT4kQz8LmWx1</string>", "vT4kQz8LmWx1"),
            ("<tr><th>User</th><th>Password</th></tr>\n<tr><td>ana</td><td>Lantern5518</td></tr>", "Lantern5518"),
            ("логин ana, дальше Vz7#kelp2087", "Vz7#kelp2087"),
        ] {
            let clean = cleaned(text);
            assert!(!clean.contains(secret) && clean.contains("[redacted:"), "{text:?} became {clean:?}");
        }
    }

    /// Names and sums near words of secrecy.
    pub(in crate::guard) const KEPT: &[&str] = &[
        "user ana saw trace_id=2Cbe016a5e62E4fbb145240d",
        "user ana opened ticket AT-UC24-004 and PR#5518",
        "the key fingerprint is SHA256:Cj8lBNa2QDAOMSjxJtGja1kCGvnVNGuYC",
        "golang.org/x/crypto v0.24.0 h1:Gqnki5oPVH0DbXyi8doTGp2hqkqDMkRgBVqSdn7IaAg=",
        "[Peer]\nPublicKey = Rz81vTn4LkWpQz81vTn4/kWpQz81vTn4LkWpQz81vTn=",
        "the secret manager runs on node db2-prod with Python3.11",
        "password reset moved to src/auth/reset_v2.rs:118",
        "login takes 42.9% of the requests, account cli_a85b46e11ff6500d",
        "the pass over 32 files of commit 4be60c1fca1a took 3.5s",
        "Screenshot_38616518-757279_Password.png",
        "two keys and **AES-256-GCM** with utf-8",
        "the branch is lx-2210-dup-push, in lower case, and it gets its own entry on the list of passwords",
    ];

    #[test]
    fn names_and_sums_near_words_of_secrecy_stay() {
        for text in KEPT {
            assert_eq!(cleaned(text), *text);
        }
    }
}
