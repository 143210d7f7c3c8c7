//! Tests of every row of the table, and of innocent texts that must pass unchanged.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Guard, secret_examples};
use crate::guard::rule::Part;
use crate::guard::scan::READ_BYTES;
use crate::guard::secrets::SECRETS;
use crate::guard::vendors::VENDORS;
use transcripts::{Message, Transcript};

fn redact(text: &str) -> String {
    Guard::default().redact(text.to_owned()).0.into_inner()
}

/// Assembles an example; returns it with its invented parts, which must not survive.
fn assemble(template: &str) -> (String, Vec<String>) {
    let (mut text, mut parts, mut state) = (String::new(), Vec::new(), 0x9E37_79B9_u32);
    for (index, piece) in template.split(['{', '}']).enumerate() {
        if index % 2 == 0 {
            text.push_str(piece);
            continue;
        }
        if let "(" | ")" = piece {
            text.push(if piece == "(" { '{' } else { '}' });
            continue;
        }
        let part = if piece == "U" {
            ["h8", "h4", "h4", "h4", "h12"].map(|piece| invent(piece, &mut state)).join("-")
        } else {
            invent(piece, &mut state)
        };
        text.push_str(&part);
        parts.push(part);
    }
    (text, parts)
}

fn invent(piece: &str, state: &mut u32) -> String {
    let alphabet: &[u8] = match &piece[..1] {
        "a" => b"aB3dE5gH7jK9mN2pQ4rS6tV8wXyZ",
        "h" => b"0123456789abcdef",
        "d" => b"0123456789",
        "u" => b"A2B3C4D5E6F7GHJK",
        _ => b"abcdefghijklmnopqrstuvwxyz",
    };
    (0..piece[1..].parse::<usize>().unwrap())
        .map(|_| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(alphabet[(*state >> 16) as usize % alphabet.len()])
        })
        .collect()
}

/// Whether eight consecutive characters of `secret` (or all, if it is shorter) appear in `text`.
fn survives(secret: &str, text: &str) -> bool {
    let size = secret.len().min(8);
    // A digit or two between the parts of a token reveal nothing.
    size >= 4 && (0..=secret.len() - size).any(|at| text.contains(&secret[at..at + size]))
}

#[test]
fn rows_have_unique_kebab_case_names() {
    let rows: BTreeSet<_> = SECRETS.iter().map(|row| row.name).collect();
    assert_eq!(rows.len(), SECRETS.len());
    // Several templates may have one name.
    let names: BTreeSet<_> = secret_examples().into_iter().map(|(name, _)| name).collect();
    println!("{} kinds of secrets", names.len());
    assert!(names.len() >= 200, "{}", names.len());
    let kebab = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    assert_eq!(names.into_iter().filter(|name| !kebab(name)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_row_takes_out_its_example_wherever_it_stands() {
    let mut failures = Vec::new();
    for (name, example) in secret_examples() {
        let (example, parts) = assemble(&example);
        let json = serde_json::json!({ "note": &example }).to_string();
        let places = [
            ("bare", example.clone()),
            ("in prose", format!("We set it up with {example} yesterday, and it works.")),
            ("in JSON", json.clone()),
            ("in JSON in JSON", serde_json::json!({ "log": json }).to_string()),
            ("in an env line", format!("PORT=8080\nVALUE_OF_IT={example}\nDEBUG=1")),
            ("at the start", format!("{example}\nthat was it")),
            ("at the end", format!("that was it:\n{example}")),
            ("in Chinese", format!("请用这个，{example}，谢谢")),
            ("between Chinese characters", format!("请用{example}谢谢")),
            ("in backticks", format!("run `{example}` first")),
            ("in YAML", format!("service:\n  name: shop\n  note: {example}\n  port: 80\n")),
            ("in a URL", format!("https://shop.example/callback?state=1&v={example}&next=2")),
            ("in a shell command", format!("$ deploy --host box --with '{example}' && echo done")),
            ("in a header", format!("GET / HTTP/1.1\r\nX-Note: {example}\r\nAccept: */*\r\n")),
            ("in a code block", format!("Try this:\n```sh\n{example}\n```\nand tell me")),
            (
                "in a tool's output",
                format!("$ cat notes\n     1\u{2192}first\n     2\u{2192}{example}\n     3\u{2192}last\nexit 0"),
            ),
            ("in German", format!("Bitte nimm das hier: {example}, danke.")),
        ];
        for (place, text) in places {
            let clean = redact(&text);
            // A sentence is not recognised if it is joined to other words.
            let expected = !clean.contains(&format!("[redacted:{name}]"));
            if expected || parts.iter().any(|part| survives(part, &clean)) {
                failures.push(format!("{name} {place}: {text:?} became {clean:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns every way in which the long parts of an example are broken over lines of `width`, starting `at` characters
/// in.
fn broken(example: &str, parts: &[String], at: usize, width: usize, line_end: &str) -> String {
    let longest = parts.iter().max_by_key(|part| part.len()).map_or("", String::as_str);
    let Some(start) = example.find(longest) else { return example.to_owned() };
    let (head, rest) = example.split_at((start + at).min(start + longest.len()));
    let lines: Vec<_> = rest.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    format!("{head}{line_end}{}", lines.join(line_end))
}

#[test]
fn every_token_is_found_where_a_terminal_broke_it() {
    let (mut failures, mut count) = (Vec::new(), 0);
    // In an example with more than one word, the text after the token would be broken, too.
    let rows = SECRETS.iter().filter(|row| matches!(row.part, Part::Whole) && !row.pattern.starts_with("-----"));
    let templates = VENDORS.templates.iter().map(|template| (template.name, template.example()));
    for (name, example) in rows.map(|row| (row.name, row.example.to_owned())).chain(templates) {
        let (example, parts) = assemble(&example);
        if example.contains([' ', '\n']) {
            continue;
        }
        for (at, width) in [(4, 80), (9, 16), (15, 40), (16, 24), (23, 80)] {
            for line_end in ["\n", "\r\n  ", "\\n", "\n> ", "\n    12\u{2192}"] {
                for before in ["It is ", "They said the following", "The number was 4711"] {
                    // A token follows words on the same line, or is on a separate line after a line of words.
                    let open = if before.ends_with(' ') { "" } else { line_end };
                    let token = broken(&example, &parts, at, width, line_end);
                    let text = format!("{before}{open}{token}\nand that is all.");
                    let clean = redact(&text);
                    count += 1;
                    if parts.iter().any(|part| survives(part, &clean)) {
                        failures.push(format!("{name} {at} {width} {line_end:?}: {text:?} became {clean:?}"));
                    }
                }
            }
        }
    }
    println!("{} of {count} broken tokens were missed", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Texts that contain no secret.
#[rustfmt::skip]
pub(super) const INNOCENT: &[&str] = &[
    "shop/core/tests/test_numbers.py::test_issue_3321 PASSED\nshop/core/tests/test_numbers.py::test_issue_3692 PASSED [ 22%]",
    "The key function is `convert()` which handles three cases:\n\n**Case 1: Sums**", "password rules:\n\n- at least 12 characters", "::1 is the loopback address",
    "use the API token\ncommit 4be60c1fca1a adds a test", "The users are\n2026-11-02T10:00:00Z ana\n", "password reset:\nsrc/auth/reset_v2.rs:118",
    "{\"key\":\"project.node22_version\",\"value\":\"22\"}", "the key is project.svc1000x_port",
    "the token budget is 4000", "password must be 12 characters", "the password is at least 12 characters long", "Your password is too weak.",
    "The password is required.", "the API key is missing", "the token is expired", "my password is wrong", "The token is valid for 15 minutes.",
    "We store the password hashed with bcrypt2", "max_tokens=4096", "\"max_tokens\": 4096", "token_count: 51200", "\"total_tokens\": 88123",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "id: 3f2b8c1e-9d4a-4f6b-8e7c-0a1b2c3d4e5f", "[image: token-flow.png]",
    "https://example.com/a?b=c#d", "http://localhost:8080/users@2", "ssh://git@github.com/ana/shop.git", "git@github.com:ana/shop.git",
    "fn token(&self) -> Token { self.token }", "let password = read_password()?;", "let token = self.next_token();", "password: String,",
    "pub password: Option<String>,", "token: &str", "apiKey: process.env.OPENAI_API_KEY", "api_key=os.environ[\"OPENAI_API_KEY\"]",
    "API_KEY=<your key>", "API_KEY=${OPENAI_API_KEY}", "TOKEN=$GITHUB_TOKEN", "SECRET=xxxxxxxx", "password: changeme", "token: {{ .Values.token }}",
    "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Bearer authentication is used", "Basic understanding of Rust", "use basic auth here",
    "secretary: Ana Meier", "tokenizer: o200k_base", "passwordless login", "the secret of good tea is patience", "the key is to start early",
    "the key is under the mat", "a pin is 4 digits", "PIN is 4 digits long", "spinning is fun", "my opinion is 1234", "sk-learn and task-runner-with-long-name-2024",
    "SKIP this", "AKIA is the prefix of AWS keys", "ghp_ tokens begin like that", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----", "a password manager such as 1Password",
    "密码是必填的", "密码太短", "请输入密码：", "我的密码忘了", "la contraseña es incorrecta", "Das Passwort ist falsch.", "le mot de passe est obligatoire",
    "postgres://localhost/shop", "postgres://app@db/shop", "redis://:@localhost", "docker run -u 1000:1000 alpine", "sort -u names.txt",
    "The passphrase is the thing you type in.", "password_hash = \"argon2id\"", "<input type=\"password\" name=\"password\" />", "{\"password\": \"Your password\"}",
    "secretName: shop-tls", "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "cookie: none", "v1.2.3-rc.1+build.5",
    "key = \"user.residence\"", "primary key: order_id", "foreign_key=users.id", "the keyboard is a Keychron K8", "[redacted:password]",
    "password=[redacted:password]", "[private]", "tokens: 1200", "3 secrets: a, b, c", "the credential is stored in Vault", "PWD=/home/ana/shop",
    "if password == \"\" { return }", "assert!(token != other.token)", "def login(user, password=None):", "connect(user=user, password=password)",
    "mysql -u root -p shop", "redis-cli -p 6379 ping", "docker login -u ana --password-stdin", "docker run -p 8080:80 shop", "echo done | sudo tee log", "echo $PASS | sudo -S ls",
    "machine learning with login and password fields", "_auth = none", "ENV API_KEY_FILE /run/secrets/key", "<password>secret</password>", "<password>{password}</password>",
    "name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: x", "variable \"db_password\" {\n  type = string\n}", "| Field | Type |\n| password | string |", "| password | required |",
    "password: |\n  must be long", "pass: 12 of 14", "all tests pass: 212", "compass: north-east-2", "bypass=SSE4Level", "creds: see Vault", "the door code is broken", "the error code is 4821",
    "exit code: 1234", "HTTP code 4041", "the verification code is wrong", "OTP: not set", "OTP is sent by mail", "backup codes are in the safe", "recovery code: see the mail",
    "the recovery phrase is written on paper in the drawer of my desk at home", "la clave es la paciencia", "la clave primaria es order_id", "I changed my password to something else",
    "set the password as soon as possible", "use this as the password", "that is the password", "the password column is PasswordHash", "key = 1979-05-27T07:32:00Z", "CVV: three digits", "cvc: 12",
    "change the password to be safe", "we reset the password to the default", "密码改成了新的", "密码长度至少8位", "密码 100000 次尝试", "密码 202603 版", "the user and the password are checked",
    "| Option | Secret |\n|---|---|\n| verbose | optional |", "name,password\nana,required\n", "PASS src/shop.test.js", "    --- PASS: TestShop/crc16_of_order (0.00s)", "PASS: TestCRC16Sum2", "PASS: test-crc16-b.sh", "pub const SHOP_TOKEN: _shop_ty_7 = 3;", "set_password_field2();\ncheck_pass();", "key:\n\tSHOP_SIGN_LINK_2\n",
    "Public Key Pinning: max-age=5184000", "pytest -k token --out=report-7f3a.xml", "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "API_KEY is set, so shop-model-4-5 is used", "\"sessionId\": \"9f8e7d6c-5b4a-4392-8171-605040302010\"",
    "the check must pass.\nthe next one is crc32_words", "La password è scaduta", "the phone call took 4821 seconds",
    "token=token", "export TOKEN=$(cat token.txt)", "--token-file /run/secrets/token", "token: ${{ secrets.GITHUB_TOKEN }}", "my password is in 1Password",
];

#[test]
fn innocent_texts_pass_unchanged() {
    assert!(INNOCENT.len() >= 60);
    let changed: Vec<_> =
        INNOCENT.iter().map(|text| (*text, redact(text))).filter(|(text, clean)| text != clean).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Secrets as people write them: the text, and the part of it that must be removed.
#[rustfmt::skip]
const WRITTEN: &[(&str, &str)] = &[
    ("my password is hunter2", "hunter2"), ("My password is Swordfish!", "Swordfish"), ("the password for the router is \"open sesame 9\"", "open sesame 9"),
    ("the wifi password is now Kaffee-42, ok?", "Kaffee-42"), ("Password: hunter2", "hunter2"), ("**Password:** `hunter2`", "hunter2"),
    ("password = \"hunter2\"", "hunter2"), ("PASS: Qx7RtmWp2", "Qx7RtmWp2"), ("Kx9vbQ2zLm is the admin password.", "Kx9vbQ2zLm"), ("tr0ub4dor&3 is the root password.", "tr0ub4dor&3"),
    ("登录时用 Kx9vbQ2z 当密码", "Kx9vbQ2z"), ("root:tr0ub4dor&3@10.0.0.5", "tr0ub4dor&3"),
    ("Use token 3f9c1a7be02d4c58a1b6e7f0c9d2438b5a6e1f04 for this.", "3f9c1a7be02d4c58a1b6e7f0c9d2438b5a6e1f04"), ("DB_PASSWORD=swordfish", "swordfish"), ("DB_PASSWORD='sw0rd fish'", "sw0rd fish"), ("password: swordfish\n", "swordfish"),
    ("{\"password\":\"swordfish\"}", "swordfish"), ("{\\\"password\\\": \\\"hunter2\\\"}", "hunter2"), ("--password hunter2 --user ana", "hunter2"),
    ("mysql --password=hunter2 shop", "hunter2"), ("密码是hunter2", "hunter2"), ("我的密码：hunter2。", "hunter2"), ("数据库的密码为 Abc12345，请记住", "Abc12345"),
    ("la contraseña es hunter2", "hunter2"), ("Das Passwort ist hunter2.", "hunter2"), ("Das Passwort für den Server lautet Geheim77", "Geheim77"),
    ("le mot de passe est hunter2", "hunter2"), ("パスワードは hunter2 です", "hunter2"), ("пароль: hunter2", "hunter2"), ("my PIN is 4821", "4821"),
    ("the pin for the card is 482-199", "482-199"), ("passphrase is correct horse battery staple", "correct horse battery staple"),
    ("postgres://app:s3cr3t@db/shop", "s3cr3t"), ("https://ana:p@ssw0rd@x", "p@ssw0rd"), ("curl -u ana:hunter2 https://x", "hunter2"),
    ("X-Api-Key: 9f8e7d6c5b4a", "9f8e7d6c5b4a"), ("api_key = '9f8e7d6c5b4a'", "9f8e7d6c5b4a"), ("const TOKEN: &str = \"9f8e7d6c5b4a\";", "9f8e7d6c5b4a"),
    ("password: str = \"hunter2\"", "hunter2"), ("client_secret=9f8e7d6c5b4a&grant=x", "9f8e7d6c5b4a"), ("PASSWORD=hunter2\\nPORT=1", "hunter2"),
    ("the API key is 9f8e7d6c5b4a", "9f8e7d6c5b4a"), ("SECRET_KEY=abcdefghijklmnop", "abcdefghijklmnop"), ("- name: DB_PASSWORD\n  password: \"s3cret!\"", "s3cret!"),
    ("POSTGRES_PASSWORD: tiger-42-lily", "tiger-42-lily"), ("- MYSQL_ROOT_PASSWORD=r00tme!now", "r00tme"),
    ("data:\n  password: aHVudGVyMjIyMg==", "aHVudGVyMjIyMg"), ("data:\n  db-password: czNjcjN0LXBhc3M=", "czNjcjN0"),
    ("stringData:\n  api-token: 8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"),
    ("variable \"db_password\" {\n  default = \"Maple-Syrup-9\"\n}", "Maple-Syrup"), ("master_password          = \"Maple-Syrup-9\"", "Maple-Syrup"),
    ("curl -udeploy:Maple9Syrup https://ci", "Maple9Syrup"), ("curl --user 'deploy:Maple9Syrup' https://ci", "Maple9Syrup"),
    ("psql \"host=db user=ana password=Maple9Syrup dbname=shop\"", "Maple9Syrup"), ("PGPASSWORD=Maple9Syrup psql -h db", "Maple9Syrup"),
    ("jdbc:postgresql://db/shop?user=ana&password=Maple9Syrup", "Maple9Syrup"), ("jdbc:oracle:thin:ana/Maple9Syrup@db:1521/shop", "Maple9Syrup"),
    ("mysqldump -uroot -p'Maple9Syrup' shop", "Maple9Syrup"), ("redis-cli -h cache -a Maple9Syrup ping", "Maple9Syrup"),
    ("Server=db;User Id=ana;Password=Maple9Syrup;Encrypt=true", "Maple9Syrup"), ("Server=db;Uid=ana;Pwd=Maple9Syrup;", "Maple9Syrup"),
    ("[pypi]\nusername = ana\npassword = Maple9Syrup", "Maple9Syrup"), ("machine ci login ana password Maple9Syrup", "Maple9Syrup"),
    ("machine ci\n  login ana\n  password Maple9Syrup", "Maple9Syrup"), ("| staging | ana | password | Maple9Syrup |", "Maple9Syrup"),
    ("| password | `Maple9Syrup` |", "Maple9Syrup"), ("password: |\n  Maple9Syrup\nuser: ana", "Maple9Syrup"),
    ("password: >-\n  Maple9Syrup", "Maple9Syrup"), ("my password is “Maple9Syrup”", "Maple9Syrup"), ("password → Maple9Syrup", "Maple9Syrup"),
    ("password - Maple9Syrup", "Maple9Syrup"), ("pw: Maple9Syrup", "Maple9Syrup"), ("user/pass: ana / Maple9Syrup", "Maple9Syrup"),
    ("creds: ana:Maple9Syrup", "Maple9Syrup"), ("credentials are ana / Maple9Syrup", "Maple9Syrup"),
    ("the login is ana with password Maple9Syrup", "Maple9Syrup"), ("use Maple9Syrup as the password", "Maple9Syrup"),
    ("Maple9Syrup is my password", "Maple9Syrup"), ("I changed my password to Maple9Syrup", "Maple9Syrup"), ("密码改成了Maple9Syrup", "Maple9Syrup"),
    ("我的wifi密码Maple9Syrup", "Maple9Syrup"), ("用户名ana，密码Maple9Syrup", "Maple9Syrup"), ("账号：ana 密码：Maple9Syrup", "Maple9Syrup"),
    ("la clave del wifi es Maple9Syrup", "Maple9Syrup"), ("Das WLAN-Passwort ist jetzt Maple9Syrup", "Maple9Syrup"),
    ("mon mot de passe : Maple9Syrup", "Maple9Syrup"), ("le mot de passe est « Maple9Syrup »", "Maple9Syrup"),
    ("docker login -u ana -p Maple9Syrup hub", "Maple9Syrup"), ("gpg --batch --passphrase Maple9Syrup -d x", "Maple9Syrup"),
    ("openssl enc -pass pass:Maple9Syrup -in a", "Maple9Syrup"), ("echo \"Maple9Syrup\" | docker login -u ana --password-stdin", "Maple9Syrup"),
    ("ansible_become_pass: Maple9Syrup", "Maple9Syrup"), ("smtp://ana:Maple9Syrup@mail:587", "Maple9Syrup"),
    ("mongodb+srv://ana:Maple9Syrup@cluster/shop", "Maple9Syrup"), ("<add key=\"DbPassword\" value=\"Maple9Syrup\" />", "Maple9Syrup"),
    ("<password>Maple9Syrup</password>", "Maple9Syrup"), ("- name: DB_PASSWORD\n  value: Maple9Syrup", "Maple9Syrup"),
    ("{\"name\": \"DB_PASSWORD\", \"value\": \"Maple9Syrup\"}", "Maple9Syrup"), ("curl -H 'X-Auth-Token: 8f7e6d5c4b3a2910' x", "8f7e6d5c4b3a2910"),
    ("curl -H 'PRIVATE-TOKEN: 8f7e6d5c4b3a2910' x", "8f7e6d5c4b3a2910"), ("curl 'https://x/v1?apikey=8f7e6d5c4b3a2910'", "8f7e6d5c4b3a2910"),
    ("git remote add origin https://ana:8f7e6d5c4b3a2910@git/shop.git", "8f7e6d5c4b3a2910"),
    ("//registry/:_authToken=8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"), ("_auth = 8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"),
    ("setx API_KEY 8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"), ("ENV API_KEY 8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"),
    ("$env:API_KEY = \"8f7e6d5c4b3a2910\"", "8f7e6d5c4b3a2910"), ("Set-Cookie: sid=8f7e6d5c4b3a2910; Path=/", "8f7e6d5c4b3a2910"),
    ("\"identitytoken\": \"8f7e6d5c4b3a2910\"", "8f7e6d5c4b3a2910"), ("AccountKey=8f7e6d5c4b3a2910==;EndpointSuffix=core", "8f7e6d5c4b3a2910"),
    ("the door code is 482913", "482913"), ("my verification code is 482913", "482913"), ("OTP: 482913", "482913"), ("验证码：482913", "482913"),
    ("银行卡密码是482913", "482913"), ("backup codes: 4829-1377 5510-2284", "1377"), ("backup codes: 4829-1377 5510-2284", "2284"),
    ("2FA secret: JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXP"), ("otpauth://totp/Shop:ana?secret=JBSWY3DPEHPK3PXP&issuer=x", "JBSWY3DP"),
    ("seed phrase:\nmaple river candle orbit tiger lemon window paper silver garden mirror cloud", "mirror cloud"),
    ("my seed words are maple river candle orbit tiger lemon window paper silver garden mirror cloud", "maple river"), ("the CVV is 482", "482"),
    ("Cookie: token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123456789", "eyJzdWIi"),
    ("La frase de paso de la copia es Maple9Syrup.", "Maple9Syrup"), ("mot_de_passe = \"Maple9Syrup\"", "Maple9Syrup"), ("haslo = \"Maple9Syrup\"", "Maple9Syrup"),
    ("Yedeğin parolası Maple#93syrup olarak ayarlandı.", "Maple#93syrup"), ("sifre = \"Maple9Syrup\"", "Maple9Syrup"), ("API anahtarı: 8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"),
    ("Кодовая фраза для бэкапа: Maple9Syrup", "Maple9Syrup"), ("合言葉: Maple9Syrup", "Maple9Syrup"), ("관리자 패스워드는 Maple9Syrup 입니다", "Maple9Syrup"),
    ("PASSWORD IS Maple.93syrup", "Maple.93syrup"), ("pasword: Maple9Syrup", "Maple9Syrup"), ("| Kennwort | Maple.93syrup |", "Maple.93syrup"), ("| API 키 | 8f7e6d5c4b3a2910 |", "8f7e6d5c4b3a2910"),
    ("unrar x -pMaple9Syrup a.rar", "Maple9Syrup"), ("mc alias set s3 https://s3.shop.example ana Maple9Syrup", "Maple9Syrup"), ("echo \"Maple9Syrup\" | npx wrangler secret put API", "Maple9Syrup"),
    ("conn = pymysql.connect(\"db\", \"ana\", \"Maple9Syrup\", \"shop\")", "Maple9Syrup"), ("ALTER USER ana IDENTIFIED BY Maple9Syrup ACCOUNT UNLOCK;", "Maple9Syrup"),
    ("Please use the following password to continue:\n\n8f7e6d5c4b3a2910\n", "8f7e6d5c4b3a2910"), ("the backup codes are 48291377 and 55102284", "55102284"),
    ("bob:{PLAIN}Maple9Syrup::::::", "Maple9Syrup"), ("root:Maple9Syrup@tcp(10.0.0.3:3306)/shop", "Maple9Syrup"), ("kinit ana <<< 'Maple9Syrup'", "Maple9Syrup"),
    // The value begins on the next line.
    ("redis-cli -h cache -a\nMaple9Syrup ping", "Maple9Syrup"), ("curl -u ana:\nMaple9Syrup https://x", "Maple9Syrup"), ("twine upload -u ci -p \\\n  Maple9Syrup dist/*", "Maple9Syrup"),
    ("SESSION_SECRET=\n8f7e6d5c4b3a29108f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"), ("Das Passwort lautet\nMaple.93syrup.", "Maple.93syrup"),
    ("取款密码 482913", "482913"), ("取款密码 482913，别忘了", "482913"),
    (r#"password="a\"Maple9""#, "Maple9"), (r#"password="a\\"Maple9""#, "Maple9"), (r#"{\"password\": \"abcd\\\"Maple9\"}"#, "Maple9"),
    ("key sk-proj-aB3dE5gH7jK9mN2pQ4rS\n  tV8wXyZaB3dE5gH7jK9m", "XyZaB3dE"), ("log\nghp_aB3dE5gH7jK9mN2pQ4rS \t\n6tV8wXyZaB3dE5gH7jK9\nend", "6tV8wXyZ"), ("sk-ant-api03-aB3dE5gH7jK9mN2pQ4rS\r\nrS6tV8wXyZaB3 is mine", "V8wXyZ"),
    ("\"sk-proj-aB3dE5gH7jK9mN2pQ4rS\\n    tV8wXyZaB3dE\\n    q7RkPz2LmN4x\"", "kPz2L"), ("re_aB3dE5gH_jK9mN2pQ4rS6tV8wXyZaB\n\ttV8wXyZaB3dE.", "XyZaB3"),
    ("sbp_v0_x fw_ab3de5gh7jk9mn2pq4rs6t\n 8w3x5y7z2q4r6", "5y7z"),
    // In tables, and in statements.
    ("| System | Password |\n|---|---|\n| shop | Maple9Syrup |", "Maple9Syrup"), ("name,password\nana,Maple9Syrup\nbob,Birch8Sap\n", "Birch8Sap"), ("\"Login\";\"Passwort\"\n\"ana\";\"Maple9Syrup\"", "Maple9Syrup"),
    ("user\tapi_key\nana\t8f7e6d5c4b3a2910", "8f7e6d5c4b3a2910"), ("> name | secret\n> -----+--------\n> shop | Maple9Syrup", "Maple9Syrup"), ("{\"out\": \"id,pass\\n7,Maple9Syrup\\n\"}", "Maple9Syrup"),
    ("INSERT INTO logins (id, password, mail) VALUES (1, 'Maple9Syrup', 'a@b.example'), (2, 'Birch8Sap', 'c@d.example');", "Birch8Sap"),
    // In several parts, and below their names.
    ("apiToken = \"aB3dE5gH7jK9mN2pQ4rS\" +\n  \"6tV8wXyZaB3dE5gH\";", "6tV8wXyZ"), ("token: aB3dE5gH7jK9mN2pQ4rS=\n6tV8wXyZaB3dE5gH", "6tV8wXyZ"), ("Passwort:\n\nMaple9Syrup\n", "Maple9Syrup"),
    ("requirepass Maple9Syrup\n", "Maple9Syrup"), ("Authorization: GenieKey 9f8e7d6c-5b4a-4392-8171-605040302010", "9f8e7d6c"), ("<Pass encoding=\"base64\">TWFwbGU5U3lydXA=</Pass>", "TWFwbGU5"),
    ("new Client(auth=(\"ana\", \"Maple9Syrup\"))", "Maple9Syrup"), ("https://shop.example/invite/8f7e6d5c4b3a291087f6e5d4", "8f7e6d5c4b3a"),
    ("password=ünïcödé9", "ünïcödé9"), ("token=🔑abc123456", "🔑abc123456"),
];

#[test]
fn secrets_as_people_write_them_go() {
    let left: Vec<_> = WRITTEN
        .iter()
        .map(|(text, secret)| (*text, *secret, redact(text)))
        .filter(|(_, secret, clean)| clean.contains(secret) || !clean.contains("[redacted:"))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn a_value_goes_whole_however_long_it_is() {
    let mut left = Vec::new();
    for length in [70, 200, 600, 1_200, 5_000] {
        let value = assemble(&format!("{{a{length}}}")).0;
        for text in [
            format!("la clave del correo es {value}"),
            format!("postgres://app:{value}@db/shop"),
            format!("docker login -u ana -p {value} registry"),
            format!("the password for the box is {value} since May"),
            format!("password = \"{value}\""),
            format!("<password>{value}</password>"),
            format!("use {value} as the password"),
            format!("| DB password | {value} |"),
            serde_json::json!({"client_secret": value}).to_string(),
            format!("the router is admin / {value}!1"),
        ] {
            let clean = redact(&text);
            if survives(&value[value.len() - 12..], &clean) || survives(&value[..12], &clean) {
                left.push((length, text.split(&value).collect::<String>()));
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn nothing_of_a_secret_is_left_in_a_transcript() {
    let (key, key_parts) = assemble("sk-ant-api03-{a93}AA");
    let (block, block_parts) =
        assemble("-----BEGIN OPENSSH PRIVATE KEY-----\n{a70}\n{a70}\n{a70}\n{a31}=\n-----END OPENSSH PRIVATE KEY-----");
    let (cut, cut_parts) = assemble("-----BEGIN PRIVATE KEY-----\n{a64}\n{a64}\n{a30}");
    let (password, password_parts) = assemble("{a14}");
    let said = [
        format!("Here is my key, {key}, use it."),
        format!("```\n{block}\n```\nand the password is {password}."),
        format!("cat key.pem\n     1→{}", cut.replace('\n', "\n     2→")),
        serde_json::json!({"env": {"ANTHROPIC_API_KEY": key, "DB_PASSWORD": password}, "pem": block}).to_string(),
        format!("postgres://ana:{password}@db/shop and ANTHROPIC_API_KEY={key}"),
        format!("{}\n-----END PRIVATE KEY-----", cut_parts[..2].join("\n")),
    ];
    let messages = said.iter().map(Message::user).collect();
    let (clean, _) = Guard::default().clean_transcript(Transcript { messages, ..Transcript::default() });
    let text = serde_json::to_string(&*clean).unwrap();
    let parts = [key_parts, block_parts, cut_parts, password_parts].concat();
    assert_eq!(parts.into_iter().filter(|part| survives(part, &text)).collect::<Vec<_>>(), [""; 0], "{text}");
    assert!(text.contains("Here is my key, [redacted:anthropic-key], use it."), "{text}");
}

#[test]
fn what_follows_a_token_on_the_next_line_stays_if_it_is_no_part_of_it() {
    let lines = [
        "Internationalization is hard, so use it well.",
        "  claude-sonnet-4-20250514",
        "ANTHROPIC_MODEL=claude-sonnet-4-20250514",
        "src/guard/Base64Encoder.rs is the file",
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "3f2b8c1e-9d4a-4f6b-8e7c-0a1b2c3d4e5f",
        "OAuth2ProviderName = x",
        "2026-03-01T10:00:00Z done",
        "\nrS6tV8wXyZaB3dE5",
    ];
    for line in lines {
        let text = format!("sk-proj-aB3dE5gH7jK9mN2pQ4rS\n{line}");
        assert_eq!(redact(&text), format!("[redacted:openai-project-key]\n{line}"));
    }
}

/// Pieces of generated texts that resemble secrets.
fn pieces() -> impl Strategy<Value = String> {
    let examples = secret_examples().into_iter().map(|(_, example)| assemble(&example).0);
    let fixed = [
        "password",
        "=",
        ": ",
        "\"",
        "\\n",
        "\n",
        " is ",
        "[redacted:jwt]",
        "[redacted:",
        "]",
        "[private]",
        "token",
        "://",
        "@",
        "-----BEGIN PRIVATE KEY-----",
        "密码是",
        " ",
        "&x=",
    ];
    let known: Vec<String> = examples.chain(fixed.map(str::to_owned)).collect();
    let piece = prop_oneof![4 => proptest::sample::select(known), 1 => ".{0,12}", 1 => "[A-Za-z0-9]{1,24}"];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(text in "(<system-reminder>|</system-reminder>|<private>|</private>|<task>|</task>|password: |hunter2|\n| |[a-z]){0,12}") {
        let transcript = Transcript { messages: vec![Message::user(text)], ..Transcript::default() };
        let (once, _) = Guard::default().clean_transcript(transcript);
        let (twice, _) = Guard::default().clean_transcript(once.clone().into_inner());
        prop_assert_eq!(twice, once);
    }
}

#[test]
fn hostile_repetition_without_a_secret_passes_unchanged() {
    for piece in ["密码是", "://a:", "password is ", "Q~", "\"password\":\"", "-----BEGIN PRIVATE KEY ", "eyJ", "key "]
    {
        let text = piece.repeat(100_000 / piece.len());
        assert_eq!(redact(&text), text, "{piece}");
    }
}

/// Maximum number of times that each byte of a text of 20,000 bytes may be read, on average. Reading to the end from every
/// hint, or everything again for every finding, would read at least twice as much at this size.
const READS: usize = 400;

/// Returns the number of times that each byte of a text of `bytes` bytes that repeats `piece` is read, on average.
fn reads(piece: &str, bytes: usize) -> usize {
    let text = piece.repeat(bytes / piece.len());
    READ_BYTES.set(0);
    redact(&text);
    READ_BYTES.get() / text.len()
}

#[test]
fn every_hint_repeated_is_read_in_proportion_to_its_length() {
    let prefixes = VENDORS.prefixes.iter().map(|(prefix, _)| prefix.as_str());
    let hints: BTreeSet<&str> = SECRETS.iter().flat_map(|row| row.hints).copied().chain(prefixes).collect();
    let mut failures = Vec::new();
    for hint in hints {
        for piece in [hint.to_owned(), format!("{hint}="), format!("{hint}: ")] {
            // Long texts take much longer, so they are left out if the numbers of two shorter ones stay below the limit even
            // where they go on growing at the same rate.
            let [short, long] = [2_000, 4_000].map(|bytes| reads(&piece, bytes));
            if long + 8 * long.saturating_sub(short) <= READS {
                continue;
            }
            let reads = reads(&piece, 20_000);
            if reads > READS {
                failures.push(format!("{piece:?} was read {reads} times"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
