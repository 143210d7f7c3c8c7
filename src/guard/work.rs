//! Rows of the table for secrets that occur at work: on command lines, in sessions with servers, in calls, and in the
//! files of tools.

use crate::guard::rule::{Part, Secret, inner};
use crate::guard::values::{
    has_digit, is_credential_value, is_keyed, is_login_password, is_made_up, is_marked, is_opaque, is_strong,
    is_user_password,
};

/// The end of a line, real or escaped, with the marks of a quotation after it.
macro_rules! line_end {
    () => {
        r"(?:\\{1,3}r)?(?:\\{1,3}n|\r?\n)[ \t>|]{0,12}(?:[0-9]{1,5}(?:→|\\?\t|\\t)|[A-Za-z0-9_./-]{1,24}:[0-9]{1,5}:)?[ \t]{0,12}"
    };
}

/// The beginning of a line.
macro_rules! line_start {
    () => {
        r"(?:\A|\n|\\n)[ \t>|]{0,16}(?:[0-9]{1,5}(?:→|\\?\t|\\t)|[A-Za-z0-9_./-]{1,24}:[0-9]{1,5}:)?[ \t]{0,16}"
    };
}

/// An argument of a call, with the comma after it.
macro_rules! argument {
    () => {
        r#"[ \t\r\n]{0,12}(?:[bru]?\\{0,3}"[^"\n]{0,160}"|[bru]?'[^'\n]{0,160}'|\{[^{}\n]{0,80}\}|[^"',\n{}]{1,80})[ \t\r\n]{0,4},"#
    };
}

/// A quoted argument that is the secret.
macro_rules! quoted {
    () => {
        r#"[ \t\r\n]{0,12}[bru]?\\{0,3}["'`](?P<secret>[^"'`\n\\]{4,})"#
    };
}

/// The value after a flag.
macro_rules! value {
    () => {
        r#"\\{0,3}["']?(?P<secret>[^ \t\r\n"'$\\][^ \t\r\n"'\\]{3,})"#
    };
}

#[rustfmt::skip]
pub(super) const WORK_ROWS: &[Secret] = &[
    // Command lines.
    inner("curl-user", &["curl -u", "-u ", "--user "], r#"(?:curl -u|(?:-u|--user)[ \t\r\n]{1,4})["']?[^ \t\r\n:"'$]{1,64}:(?P<secret>[^ \t\r\n"']{4,})"#, "curl -u ana:{a16} https://x").taking(Part::Group(is_user_password)),
    inner("sshpass", &["sshpass -p"], r#"sshpass -p[ \t\r\n]{0,4}["']?(?P<secret>[^ \t\r\n"'$]{4,})"#, "sshpass -p {a16} ssh box"),
    inner("command-password", &["mysql", "mariadb"], r#"(?:mysql(?:dump|admin)?|mariadb)[ -~]{0,96}? -p["']?(?P<secret>[^ \t\r\n"'$]{4,})"#,
        "mysql -u root -p{a14} shop").taking(Part::Group(is_made_up)),
    inner("argument-password", &["redis-cli", "docker login", "podman login", "az login", "ssh-keygen", "openssl ", "jarsigner", "apksigner", "twine ", "http ", "https ", "zip ", "rar ", "7z ", "keytool", "smbclient", "net use", "sqlcmd", "bcp ", "osql ", "mongo", "ldap", "ipmitool", "psexec", "rdesktop", "winrs", "useradd", "usermod", "snmp", "mosquitto_"],
        concat!(r"(?:redis-cli[ -~]{0,96}? -a |(?:docker|podman|az) login[ -~]{0,96}? -p |ssh-keygen[ -~]{0,96}? -[NP] |openssl [ -~]{0,96}? -k |(?:jar|apk)signer [ -~]{0,160}?-storepass |twine [ -~]{0,96}? -p |https? (?:-a|--auth) [^ \t\r\n:]{1,64}:|(?:un)?zip[ -~]{0,96}? -P |(?:7z|(?:un)?rar) [ -~]{0,96}? -p",
            r"|keytool[ -~]{0,160}? -(?:store|key|srcstore|deststore)pass |smbclient[ -~]{0,96}? -U [^ \t\r\n%]{1,64}%|net use[ -~]{0,96}? /user:[^ \t\r\n]{1,64} ",
            r"|(?:sqlcmd|bcp|osql)[ -~]{0,160}? -P ?|mongo(?:sh|dump|restore|export|import)?[ -~]{0,160}? -p |ldap(?:search|modify|add|delete|whoami|passwd|compare)[ -~]{0,200}? -[ws] ",
            r"|ipmitool[ -~]{0,120}? -P |psexec[ -~]{0,120}? -p |rdesktop[ -~]{0,120}? -p |winrs[ -~]{0,120}? -p:|user(?:add|mod)[ -~]{0,120}? -p |snmp[a-z]{2,9}[ -~]{0,160}? -[AcX] |snmp-server community |mosquitto_(?:pub|sub|rr)[ -~]{0,160}? -P )", value!()),
        "docker login -u ana -p {a14} registry.example").taking(Part::Group(is_credential_value)),
    inner("environment-call", &["setenv(", "putenv(", "set_env(", "set_var(", "setdefault("],
        r#"(?i:setenv|putenv|set_env|set_var|setdefault)\([ \t\r\n]{0,4}\\{0,3}["'][A-Za-z0-9_]{0,40}(?i:secret|token|passw|pwd|key|credential|auth)[A-Za-z0-9_]{0,24}\\{0,3}["'], ?\\{0,3}["'](?P<secret>[^"'\n\\]{8,})"#,
        "os.Setenv(\"API_SECRET\", \"{h40}\")").taking(Part::Group(is_credential_value)),
    inner("header-call", &["_header "], r#"(?i:proxy_set|add|more_set|set|fastcgi|grpc_set)_header [A-Za-z-]{0,32}(?i:secret|token|key|auth|password)[A-Za-z-]{0,16} \\{0,3}["']?(?P<secret>[^ \t\r\n"';$\\]{12,})"#,
        "proxy_set_header X-Internal-Secret \"{h40}\";").reaching(12).taking(Part::Group(is_made_up)),
    inner("key-password", &["-keypass "], r#"-keypass ["']?(?P<secret>[^ \t\r\n"'$][^ \t\r\n"']{3,})"#, "-keypass {a14}").taking(Part::Group(is_credential_value)),
    inner("snmp-privacy-password", &[" -X "], concat!("-x [A-Z0-9]{3,8} -X ", value!()), "-x AES -X {a14}").reaching(12).taking(Part::Group(is_credential_value)),
    inner("mapped-drive-password", &["net use "], r#"net use (?:[^ \t\r\n]{1,3} )?\\\\[^ \t\r\n]{1,120} (?P<secret>[^ \t\r\n/"'][^ \t\r\n"']{3,})(?: /|[ \t\r\n]{0,2}(?:\n|\z))"#, "net use Z: \\\\nas\\data {a14} /user:ana").taking(Part::Group(is_credential_value)),
    inner("account-password", &["mc alias set ", "mc config host add ", "add-generic-password ", "add-internet-password ", "net user ", "htpasswd ", "wpa_passphrase ", "rabbitmqctl ", "lftp ", "kinit ", "chpasswd"],
        concat!(r"(?:mc (?:alias set|config host add) [^ \t\r\n]{1,40} [^ \t\r\n]{1,120} [^ \t\r\n]{1,64} |add-(?:generic|internet)-password [ -~]{0,120}?-w |net user [^ \t\r\n]{1,40} |htpasswd -[a-zA-Z]{0,4}b[a-zA-Z]{0,4} (?:[^ \t\r\n]{1,120} )?[^ \t\r\n/]{1,64} |wpa_passphrase [^ \t\r\n]{1,40} |rabbitmqctl (?:add_user|change_password) [^ \t\r\n]{1,64} ",
            r"|kinit [^ \t\r\n<]{1,64} ?<<< ?\\?|lftp [ -~]{0,120}?-u [^ \t\r\n,]{1,64},|chpasswd ?<<< ?\\?[\x22'][^ \t\r\n:]{1,64}:)", r#"["']?(?P<secret>[^ \t\r\n"'$\\/*-][^ \t\r\n"'\\]{3,})"#),
        "net user ana {a14} /add").taking(Part::Group(is_credential_value)),
    inner("remote-desktop-password", &["rdp", "/v:"], concat!(r"(?:rdp|/v:[^ \t\r\n])[ -~]{0,120}? /p(?:ass)?:", value!()), "xfreerdp /u:ana /p:{a14}").taking(Part::Group(is_credential_value)),
    inner("oracle-login", &["sqlplus ", "rman target ", "expdp ", "impdp ", "sqlldr "], r"(?:sqlplus|rman target|expdp|impdp|sqlldr) (?:-[a-zA-Z]+ ){0,3}[A-Za-z0-9_.$-]{1,40}/(?P<secret>[^ \t\r\n@/]{4,})", "sqlplus ana/{a14}@db").taking(Part::Group(is_credential_value)),
    inner("otp-seed-argument", &["oathtool "], r"oathtool (?:--?[^ \t\r\n]{1,24} ){0,4}(?P<secret>[A-Za-z2-7=]{16,}|[0-9a-fA-F]{20,})", "oathtool --totp -b {u32}"),
    inner("stored-secret", &["secret set ", "variable set ", "variable create ", "secrets set ", "secret put ", "secret add ", "secrets put ", "secrets add ", "user-secrets set ", "config set ", "config:set ", "env set ", "env add "],
        r#"(?:secrets?|variable|config|env)[ :](?:set|create|put|add) (?:--?[a-z-]{1,16}[= ])?(?:["']?[A-Za-z0-9_:./-]{1,80}["']?(?: [ -~]{0,64}?(?:--body|--value|-b|-v|<<<))?[ =])["']?(?P<secret>[^ \t\r\n"'$-][^ \t\r\n"']{3,})"#,
        "gh secret set DEPLOY_KEY --body {a20}").taking(Part::Group(is_made_up)),
    inner("piped-password", &["echo ", "printf "], r#"(?:echo|printf)(?: -[a-z]{1,2})? \\{0,3}["']?(?:[A-Za-z0-9._-]{1,40}:)?(?P<secret>[^ \t\r\n"'$|:\\]{4,})\\{0,3}["']? ?\| ?(?:sudo )?(?:-[a-zA-Z]+ )?(?:sudo (?:-[a-zA-Z]+ )?-S|[a-z]{2,12} (?:[^ \t\r\n]{1,24} )?login|[ -~]{1,48}?secrets? (?:put|set|add)|kinit|pass insert|chpasswd|passwd|smbpasswd|cryptsetup|ssh-add|su |[ -~]{1,80}--?(?:password|pass(?:phrase)?|token|key)?-?(?:stdin|fd 0))"#,
        "echo {a14} | sudo -S ls").taking(Part::Group(is_credential_value)),
    inner("secure-string", &["convertto-securestring "], r#"(?i:convertto-securestring) (?:-string )?\\{0,3}["'](?P<secret>[^"'\n\\$][^"'\n\\]{3,})\\{0,3}["']"#, "ConvertTo-SecureString \"{a14}\" -AsPlainText").taking(Part::Group(is_credential_value)),
    inner("environment-key", &["setx ", "ENV "], r#"(?i:setx|env) [A-Z0-9_]{0,32}(?:KEY|TOKEN|SECRET|PASSWORD|PASS)[A-Z0-9_]{0,16} ["']?(?P<secret>[^ \t\r\n"']{6,})"#, "setx API_KEY {a16}")
        .taking(Part::Group(is_opaque)),
    inner("expected-password", &["ssword", "assphrase"], concat!(r#"(?:ssword|assphrase)[^\n]{0,24}"#, line_end!(), r#"{1,2}[ \t\r\n]{0,8}send(?:line)?(?: --)? \\{0,3}[{"'](?P<secret>[^"'\n\\}$]{4,})"#), "expect \"password:\"\nsend \"{a14}\\r\"").taking(Part::Group(is_credential_value)),

    // Sessions with servers.
    inner("session-password", &["USER "], concat!(r"USER [^ \t\r\n]{1,64}", line_end!(), r"(?:[^\n]{0,80}", line_end!(), r"){0,1}(?:C: |-> ?|← )?PASS (?P<secret>[^ \t\r\n\\]{4,})"), "USER ana\n331 ok\nPASS {a14}").taking(Part::Group(is_credential_value)),
    inner("mail-login", &["UGFzc3dvcmQ6"], concat!(r"UGFzc3dvcmQ6", line_end!(), r"(?:[A-Z]: |-> ?| )*(?P<secret>[A-Za-z0-9+/]{4,}={0,2})"), "334 UGFzc3dvcmQ6\n{a24}"),
    inner("sasl-login", &["AUTH PLAIN ", "AUTHENTICATE PLAIN ", "AUTH XOAUTH2 ", "AUTH LOGIN "], r"AUTH(?:ENTICATE)? (?:PLAIN|XOAUTH2|LOGIN) (?P<secret>[A-Za-z0-9+/]{12,}={0,2})", "AUTH PLAIN {a24}=="),
    inner("redis-login", &["AUTH "], r#"(?:\A|[>\n`]|\\n) ?AUTH (?:[a-z][a-z0-9_-]{0,31} )?["']?(?P<secret>[^ \t\r\n"'\\]{6,})"#, "6379> AUTH {a16}").reaching(3).taking(Part::Group(is_marked)),
    inner("mailbox-login", &[" LOGIN "], r#" LOGIN \\{0,3}"?[^ \t\r\n"]{2,64} \\{0,3}"?(?P<secret>[^ \t\r\n"'\\()]{5,})(?:[ \t\r\n"'\\]|\z)"#, "a1 LOGIN ana {a16}").taking(Part::Group(is_login_password)),

    // Databases.
    inner("sql-password", &["identified", "with password", "login password", "set password"], r#"(?i:identified(?: with [^ \t\r\n]{1,40})?(?: by| as)(?: password)?|(?:with|login) password|set password(?: for [^ \t\r\n]{1,60})? ?=) \\{0,3}["'](?P<secret>[^\n;]{4,}?)\\{0,3}["'](?:[^A-Za-z0-9_]|\z)"#, "ALTER USER shop IDENTIFIED BY \"{a14}\"").taking(Part::Group(is_credential_value)),
    inner("plain-sql-password", &["identified by "], r"(?i:identified by) (?P<secret>[^ \t\r\n\x22'`;]{6,})", "ALTER USER shop IDENTIFIED BY {a14}").taking(Part::Group(is_marked)),
    inner("password-call", &["password('", "password(\"", "crypt('"], r#"(?i:password|crypt)\(\\{0,3}["'](?P<secret>[^"'\n\\]{4,})\\{0,3}["'](?:\)|, ?gen_salt)"#, "PASSWORD('{a14}')").taking(Part::Group(is_marked)),
    inner("named-setting", &["value = '", "value='"], r"(?i:value) ?= ?'(?P<secret>[^'\n]{4,})' (?i:where) [^\n]{0,80}?(?i:pass|secret|token|key)", "UPDATE settings SET value = '{a14}' WHERE name = 'smtp_password'").taking(Part::Group(is_marked)),
    inner("encryption-call", &["_encrypt(", "_decrypt(", "hmac(", "hash_hmac("], concat!(r"(?i:_(?:en|de)crypt(?:_bytea)?|hmac)\((?:", argument!(), "){1,2}", quoted!()), "pgp_sym_decrypt(iban, '{a14}')").taking(Part::Group(is_marked)),
    inner("pgpass", &[":5432:", ":5433:", ":6432:", ":*:"], r":(?:[0-9]{4}|\*):[^: \t\r\n]{1,64}:[^: \t\r\n]{1,64}:(?P<secret>[^ \t\r\n:]{4,})", "db.internal:5432:shop:ana:{a16}").taking(Part::Group(is_credential_value)),
    inner("oracle-password", &["jdbc:oracle:thin:"], r"jdbc:oracle:thin:[A-Za-z0-9_]{1,64}/(?P<secret>[^ \t\r\n@/]{4,})@", "jdbc:oracle:thin:ana/{a14}@db:1521/shop"),

    // Calls.
    inner("constant-secret", &["define("], r#"(?i:define\([ \t\r\n]{0,4}["'][A-Z0-9_]{0,40}(?:PASS|PWD|SECRET|KEY|SALT|TOKEN|AUTH)[A-Z0-9_]{0,20}["'][ \t\r\n]{0,4},[ \t\r\n]{0,16}["'])(?P<secret>[^\n]{4,}?)["'][ \t\r\n]{0,4}\)"#,
        "define('DB_PASSWORD', '{a14}')").taking(Part::Group(is_credential_value)),
    inner("connection-password", &["mysqli_connect(", "mysql_connect(", "new mysqli(", "new pdo(", "getconnection(", "->connect(", "sql.connect(", "psycopg2.connect(", "createconnection("],
        concat!(r#"(?i:mysqli?_connect|new mysqli|new pdo|getconnection|->connect|sql\.connect|psycopg2\.connect|createconnection)\((?:"#, argument!(), "){2}", quoted!()), "mysqli_connect('db', 'shop', '{a14}')").taking(Part::Group(is_credential_value)),
    inner("credential-call", &["credentials.basic(", "credential(", "basicauth(", "basic_auth(", "auth=(", "auth = (", "authtokens.basic(", "authentication(", "credentials(", ".login("],
        concat!(r#"(?i:credentials?(?:\.basic|impl)?|basic_?auth|authtokens\.basic|auth ?= ?|authentication|\.login)\("#, argument!(), quoted!(), r#"\\{0,3}["'`][ \t\r\n]{0,4}[,)]"#), "new NetworkCredential(\"ana\", \"{a14}\")").taking(Part::Group(is_credential_value)),
    inner("signing-call", &["jwt.sign(", "jwt.verify(", "jwt.encode(", "jwt.decode(", "createhmac(", "hmac.hexdigest(", "createcipheriv(", "createdecipheriv("],
        concat!(r"(?i:jwt\.(?:sign|verify|encode|decode)|createhmac|hmac\.hexdigest|create(?:de)?cipheriv)\(", argument!(), quoted!()), "jwt.sign(payload, '{a14}')").taking(Part::Group(is_marked)),
    inner("keyed-call", &["hmac.new(", "fernet(", "secretkeyspec(", "aes.new(", "hmacsha", "secretbox("], concat!(r"(?i:hmac\.new|fernet|secretkeyspec|aes\.new|hmacsha[0-9]{1,3}|secretbox)\(", quoted!()), "hmac.new(b\"{a20}\", body)").taking(Part::Group(is_marked)),
    inner("decoded-key", &["buffer.from(", "fromhex(", "b64decode(", "unhexlify(", "hex.decodestring(", "base64.decode("],
        concat!(r"(?i:key|secret|salt|seed)[a-zA-Z_]{0,16} ?(?::?=|:) ?[A-Za-z0-9_.]{0,32}(?i:buffer\.from|fromhex|b64decode|unhexlify|decodestring|decode)\(", quoted!()), "KEY = Buffer.from(\"{h64}\", \"hex\")").reaching(60).taking(Part::Group(is_opaque)),
    inner("typed-password", &["send_keys(", "sendkeys(", ".type(", ".fill(", "setvalue(", "set_value(", "settext(", "fill_in"],
        concat!(r"(?i:pass|pwd|kennwort|\bpin\b|otp|secret)[^\n]{0,40}?(?i:send_?keys|\.type|\.fill|set_?value|settext|fill_in)", r#"[( ](?:[ \t\r\n]{0,4}["'][^"'\n]{1,60}["'], ?(?:with: ?)?)?\\{0,3}["'`](?P<secret>[^"'`\n\\{]{4,})"#), "find('password').send_keys(\"{a14}\")").reaching(64).taking(Part::Group(is_marked)),

    // Files of tools.
    inner("netrc-password", &["machine "], concat!(r"machine [^ \t\r\n]{1,96}(?:", line_end!(), r"|[ \t\r\n]){1,4}[ \t\r\n]{0,4}login [^ \t\r\n]{1,64}(?:", line_end!(), r"|[ \t\r\n]){1,4}[ \t\r\n]{0,4}password (?P<secret>[^ \t\r\n\\]{4,})"), "machine ci.internal login ana password {a14}")
        .taking(Part::Group(is_credential_value)),
    inner("registry-auth", &["_auth", "\"auth\\", "\"auth\""], r#"(?:_auth|"auth)\\{0,3}"?[ \t\r\n]{0,3}[:=][ \t\r\n]{0,3}\\{0,3}"?(?P<secret>[A-Za-z0-9+/]{12,}={0,2})"#, "_auth = {a20}==")
        .taking(Part::Group(is_opaque)),
    inner("xml-password", &["pass", "passwd>", "secret", "token", "kennwort", "pwd"], r#"(?i:password|passwd|pass|pwd|secret|token|passwort|kennwort)(?: [a-zA-Z:]{1,20}=\\{0,3}"[^"<>\n]{0,120}")?>(?:[ \t\r\n]{0,4}<(?i:value)>|[ \t\r\n]{0,4}<!\[CDATA\[)?(?P<secret>[^<> \t\r\n\]]{4,})(?:\]\]>)?</"#, "<password>{a14}</password>")
        .taking(Part::Group(is_marked)),
    inner("paired-password", &["password", "passwd", "secret", "token", "api_key", "apikey"],
        r#"(?i:password|passwd|secret|token|api_?key)\\{0,3}["']?,?(?:\\n|[ \t\r\n]){1,12}\\{0,3}["']?value\\{0,3}["']?[ \t\r\n]{0,2}[:=][ \t\r\n]{0,2}\\{0,3}["']?(?P<secret>[^ \t\r\n"'<>\\]{4,})"#,
        "- name: DB_PASSWORD\n  value: {a14}").taking(Part::Group(is_made_up)),
    inner("default-password", &["password\" {", "secret\" {", "token\" {", "password\\\" {", "secret\\\" {", "token\\\" {", "password\\\\\\\" {"],
        r#"(?i:password|secret|token)\\{0,3}" \{[^}]{1,200}?default[ \t\r\n]{0,8}=[ \t\r\n]{0,4}\\{0,3}"(?P<secret>[^"\n\\]{4,})\\{0,3}""#,
        "variable \"db_password\" {(}\n  default = \"{a14}\"\n{)}").taking(Part::Group(is_credential_value)),
    inner("changed-password", &["password = ", "password\" = ", "secret = ", "token = "], r#"(?i:password|secret|token)\\{0,3}"? = \\{0,3}"[^"\n]{1,400}" -> \\{0,3}"(?P<secret>[^"\n\\]{4,})"#, "password = \"old\" -> \"{a14}\"").taking(Part::Group(is_credential_value)),
    inner("block-password", &["password", "passwd", "secret", "token", "_key", "api-key"], r#"(?i:password|passwd|secret|token|_key|api-key)\\{0,3}["']?: ?[|>][+-]?(?:\\{1,3}n|[ \t]{0,4}\r?\n)(?P<secret>(?:[ \t>]{1,12}[^ \t\r\n\\]{4,}(?:\\{1,3}n|\r?\n|\\{0,3}"|\z))+)"#,
        "password: |\n  {a14}\nuser: ana").taking(Part::Group(is_block)),
    inner("router-password", &["password ", "secret ", "key ", "key-string "], r"(?i:(?:password|secret|key(?:-string)?) [05789]) (?P<secret>[^ \t\r\n\\]{4,})", "password 7 {h24}").taking(Part::Group(is_marked)),
    inner("chap-secret", &["\" * \"", "\" * \\"], r#"" \* \\{0,3}"(?P<secret>[^"\n\\]{4,})"#, "\"ana\" * \"{a16}\" *"),
    inner("dialled-secret", &["pptpd ", "l2tpd ", "pptp "], r"(?:pptpd?|l2tpd)[ \t]{1,8}(?P<secret>[^ \t\r\n]{6,})[ \t]{1,8}(?:\*|[0-9]{1,3}\.)", "ana  pptpd  {a16}  *").taking(Part::Group(is_marked)),
    inner("network-login", &["@tcp(", "@unix("], r"(?-u:\b)[A-Za-z0-9_.-]{1,64}:(?P<secret>[^ \t\r\n:@\x22'/]{4,64})@(?:tcp|unix)\(", "ana:{a14}@tcp(db:3306)/shop").reaching(132).taking(Part::Group(is_credential_value)),
    inner("acl-password", &[" on >"], r"user [^ \t\r\n]{1,64} on >(?P<secret>[^ \t\r\n\x22']{4,})", "user ana on >{a16} ~* +@all").reaching(72).taking(Part::Group(is_credential_value)),
    inner("relay-login", &["]:587", "]:465", "]:25"], r"\]:(?:587|465|25)[ \t]{1,8}[^ \t\r\n:]{1,80}:(?P<secret>[^ \t\r\n]{4,})", "[smtp.shop.example]:587 ana:{a14}").taking(Part::Group(is_credential_value)),
    inner("magic-link", &["magic?"], r"magic\?(?:[a-z_]{1,16}=[^&\s]{0,64}&){0,3}(?:code|token|t|key)=(?P<secret>[A-Za-z0-9_-]{16,})", "https://shop.example/login/magic?code={a32}").taking(Part::Group(is_opaque)),
    inner("plain-scheme", &["{plain}", "{cleartext}", "{clear}"], r"(?i:\{(?:plain|cleartext|clear)\})(?P<secret>[^ \t\r\n:\x22'\\]{4,})", "ana:{(}PLAIN{)}{a16}::::::").taking(Part::Group(is_credential_value)),
    inner("named-auth", &["auth\"", "auth\\"], r#"auth\\{0,3}": ?\[\\{0,3}"[^"\n\\]{1,64}\\{0,3}", ?\\{0,3}"(?P<secret>[^"\n\\]{4,})"#, "\"auth\":[\"ana\",\"{a16}\"]").taking(Part::Group(is_credential_value)),
    inner("network-begin", &["wifi.begin("], concat!(r"(?i:wifi\.begin)\(", argument!(), quoted!()), "WiFi.begin(\"Shop\", \"{a16}\")").taking(Part::Group(is_credential_value)),
    inner("typed-field", &["type=\"password", "type=\\"], r#"type=\\{0,3}"password\\{0,3}"[^>\n]{0,120}? value=\\{0,3}"(?P<secret>[^"\n\\]{4,})"#, "<input type=\"password\" name=\"pin\" value=\"{a14}\">").taking(Part::Group(is_credential_value)),
    inner("compared-password", &["password '", "password \""], r#"(?i:password) ["'][^"'\n]{0,40}["'] (?i:but (?:got|was|found)|to (?:equal|be)|got|!=|==) ["'](?P<secret>[^"'\n\\]{4,})"#, "expected password 'x' but got '{a14}'").taking(Part::Group(is_marked)),
    inner("server-password", &["requirepass ", "masterauth "], r#"(?:requirepass|masterauth) ["']?(?P<secret>[^ \t\r\n"'\\]{4,})"#, "requirepass {a14}").taking(Part::Group(is_credential_value)),
    inner("preshared-key", &["psk "], r#"(?i:psk) \\{0,3}"(?P<secret>[^"\n\\]{4,})"#, ": PSK \"{a20}\"").taking(Part::Apart(is_marked)),
    inner("wifi-code", &["wifi:"], r"(?i:wifi):[^\n]{0,96}?P:(?P<secret>(?:[^;\\ \t\r\n]|\\.){4,})", "WIFI:T:WPA;S:Shop;P:{a16};;"),
    inner("wifi-label", &["wlan", "wi-fi", "wifi", "netzwerkschl", "key", "router", "schlüssel", "clé", "clave", "chave", "chiave", "sleutel", "klucz", "ключ"],
        r"(?i:wlan|wi-?fi|netzwerk|key|router|schlüssel|clé|clave|chave|chiave|sleutel|klucz|ключ)[^\n0-9]{0,40}(?P<secret>[0-9]{4}(?:[ -]?[0-9]{4}){3,4})(?:\D|\z)", "WLAN-Schlüssel: {d4} {d4} {d4} {d4} {d4}"),
    inner("saml-response", &["samlresponse"], r#"(?i:samlresponse)(?:=|" ?value=")\\{0,3}(?P<secret>[A-Za-z0-9+/%]{40,}={0,2})"#, "SAMLResponse={a80}"),
    inner("new-relic-license", &["FFFFNRAL"], r"(?-u:\b)(?P<secret>[0-9a-f]{32}FFFFNRAL)", "{h32}FFFFNRAL").reaching(32),
    inner("windows-hash", &[":::"], r"(?-u:\b)(?P<secret>[0-9a-f]{32}:[0-9a-f]{32}):::", "{h32}:{h32}:::").reaching(66),
    inner("printed-variable", &["echo $", "echo \\\"$", "echo \"$", "printenv "], concat!(r#"(?:echo \\{0,3}"?\$\{?|printenv )[A-Z0-9_]{0,40}(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PWD|PAT|AUTH)[A-Z0-9_]{0,20}\}?\\{0,3}"?[ \t]{0,4}"#, line_end!(), r"(?P<secret>[^ \t\r\n\\]{8,})"), "$ echo $API_TOKEN\n{a24}\n").taking(Part::Group(is_marked)),
    inner("password-file", &["secret", "passw", "_pass", "pass.", ".key", "auth.", "cred", "token", "login"],
        concat!(line_start!(), r"(?:\$ |# |% )?(?:sudo )?(?:cat|less|head|tail|type|more|bat|kubectl|vault|op|pass|aws|gcloud|az|doppler|security|printenv|echo) [^\n]{0,120}?(?i:secret|passw|_pass|pass\.|\.key|auth\.|cred|token|login)[^\n]{0,80}", line_end!(),
            r"(?:[A-Za-z0-9._@-]{1,40}(?:", line_end!(), r"|:))??(?P<secret>[^ \t\r\n\\]{8,})(?:[ \t\r\n]|\\|\z)"), "\n$ cat config/master.key\n{h32}\n").reaching(140).taking(Part::Group(is_marked)),
    inner("spoken-variable", &["_KEY", "_TOKEN", "_SECRET", "_PASS", "_PAT", "AUTHTOKEN"],
        concat!(r"(?:(?-u:\b)|_)(?:[A-Z0-9]{1,24}_){0,5}(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PAT|AUTHTOKEN)`?(?:(?:,? [^ \n0-9=]{1,10}){1,3}:? [`\x22']?| \()", r"(?P<secret>[A-Za-z0-9_+/=.~-]{12,})"), "I set API_TOKEN to {a24}").reaching(60).taking(Part::Group(is_keyed)),
    inner("variable-after", &["_KEY", "_TOKEN", "_SECRET", "_PASS", "_PAT"],
        r"(?P<secret>[A-Za-z0-9_+/=.~-]{12,})[`\x22']?(?: [^ \n0-9=]{1,10}){1,4} `?(?:[A-Z0-9]{1,24}_){1,5}(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PAT)", "put {a24} in as API_TOKEN").reaching(200).taking(Part::Group(is_keyed)),

    // Addresses.
    inner("link-token", &["/reset/", "/magic/", "/verify/", "/confirm/", "/activate/", "/invite/", "/invitation/", "/accept/", "/magic-link/", "/reset-password/", "/share/", "/private-", "/recover/", "/token/", "/unlock/", "/otp/", "/one-time/"],
        r"/(?i:reset|magic|verify|confirm|activate|invite|invitation|accept|magic-link|reset-password|share|private|recover|token|unlock|otp|one-time)[/-](?P<secret>[A-Za-z0-9_-]{20,}(?:\r?\n[ >]{0,4}[A-Za-z0-9_-]{8,})?)", "https://shop.example/password/reset/{h40}").taking(Part::Group(is_link_token)),
    inner("parameter-token", &["?access_key=", "&access_key=", "?accesskey=", "&accesskey=", "?api_key=", "&api_key=", "?apikey=", "&apikey=", "?appid=", "&appid=", "?app_id=", "&app_id=", "?auth=", "&auth=", "?key=", "&key=", "?k=", "&k=", "?token=", "&token=", "?t=", "&t=", "?ticket=", "&ticket=", "?signature=", "&signature=", "?secret=", "&secret=", "?jwt=", "&jwt=", "?otp=", "&otp=", "?passcode=", "&passcode=", "?password=", "&password=", "?pwd=", "&pwd=", "?sid=", "&sid=", "?session=", "&session="], r"[?&](?i:access_?key|api_?key|appid|app_id|auth|key|k|token|t|ticket|signature|sig|secret|jwt|otp|passcode|pass|password|pwd|sid|session)=(?P<secret>[A-Za-z0-9_.~+/%-]{8,}={0,2})", "https://api.example/data?appid={h32}").taking(Part::Group(is_parameter)),
    inner("recovery-codes", &["recovery code", "backup code", "scratch code", "rescue code", "emergency code", "wiederherstellungscode", "notfallcode", "ersatzcode", "codes de secours", "codes de récupération", "códigos de r", "codici di ", "резервные коды", "kody zapasowe", "herstelcodes", "恢复代码", "备用代码", "バックアップコード", "복구 코드"],
        r"(?i:recovery codes?|backup codes?|scratch codes?|rescue codes?|emergency codes?|wiederherstellungscodes?|notfallcodes?|ersatzcodes?|codes de (?:secours|récupération)|códigos de (?:recuperación|respaldo|recuperação)|codici di (?:backup|recupero|ripristino)|резервные коды|kody zapasowe|herstelcodes|恢复代码|备用代码|バックアップコード|복구 코드)[^\n\\]{0,120}(?:\\{1,3}n|\n)[ \t\r\n>]{0,8}(?:\\{1,3}n){0,3}(?P<secret>(?:[0-9]{1,2}[.)] |[-*•] )?[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{3,10})*(?:(?:\\{1,3}n|[ \t\r\n,;|>])+(?:[0-9]{1,2}[.)] |[-*•] )?[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{3,10})*)+)",
        "recovery codes:\n{d4}-{d4}\n{d4}-{d4}").taking(Part::Group(are_codes)),
    inner("recovery-key", &["recovery key", "bitlocker", "wiederherstellungsschl", "filevault"], r"(?i:recovery key|bitlocker|wiederherstellungsschlüssel|filevault)[^0-9\n\\]{0,48}(?:\\{1,3}n|\n)?[ \t\r\n>]{0,8}(?P<secret>[0-9]{6}(?:-[0-9]{6}){7}|[A-Z0-9]{4}(?:-[A-Z0-9]{4}){5})", "BitLocker recovery key:\n{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}"),
    inner("spaced-seed", &["setup key", "secret key", "authenticator", "2fa", "totp", "two-factor"], r"(?i:setup key|secret key|authenticator|2fa|totp|two-factor)[^\n]{0,80}?[: ](?P<secret>(?:[A-Za-z2-7]{4}[ -]){3,15}[A-Za-z2-7]{2,4})", "enter this setup key: {u4} {u4} {u4} {u4}").taking(Part::Group(is_spaced_seed)),
    inner("openssl-password", &["pass:"], r#"pass:(?P<secret>[^ \t\r\n"']{4,})"#, "-pass pass:{a14}").taking(Part::Group(is_strong)),
    inner("line-password", &["pass", "pw ", "psk", "secret", "masterauth"],
        concat!(line_start!(), r#"[A-Za-z_.-]{0,24}(?i:pass(?:word|wd|phrase)?|pw|psk|secret|masterauth)[ \t]{1,16}(?:[05789] |pass:)?\\{0,3}["']?(?P<secret>[^ \t\r\n"'\\=]{6,})\\{0,3}["']?[ \t;]{0,4}(?:\\|\r?\n|\z)"#), "\nvault_pass {a14}\n").reaching(40).taking(Part::Group(is_marked)),
];

/// Whether the lines of a block are a secret: one long value, or several.
fn is_block(value: &str) -> bool {
    value.split_whitespace().any(is_made_up)
}

/// Whether the end of an address, which may be broken over two lines, is a token.
fn is_link_token(value: &str) -> bool {
    value.split_whitespace().next().is_some_and(is_opaque)
}

/// Whether a parameter of an address is a secret: values that are not secrets are usually words and numbers.
fn is_parameter(value: &str) -> bool {
    is_opaque(value) && value.bytes().filter(u8::is_ascii_digit).count() >= 2 && value.len() >= 10 && is_marked(value)
}

/// Whether a list consists of codes, each with a digit.
fn are_codes(list: &str) -> bool {
    let codes = list.split(|c: char| c.is_whitespace() || ",;|\\>".contains(c)).filter(|code| code.len() >= 4);
    codes.clone().count() >= 2 && codes.filter(|code| has_digit(code)).count() * 4 >= 3
}

/// Whether groups of letters are a key in base 32: unlike words, a key has digits.
fn is_spaced_seed(value: &str) -> bool {
    value.bytes().filter(u8::is_ascii_digit).count() >= 2
}
