//! Tests of names of several words in every syntax of an assignment.

use super::Guard;

fn redacted(text: &str) -> String {
    Guard::default().redact(text.to_owned()).0.into_inner()
}

/// Assertion that no text keeps its secret.
fn assert_gone(texts: impl IntoIterator<Item = (String, String)>) {
    let texts = texts.into_iter().map(|(text, secret)| (redacted(&text), text, secret));
    let left: Vec<_> =
        texts.filter(|(clean, _, secret)| clean.contains(secret.as_str()) || !clean.contains("[redacted:")).collect();
    assert!(left.is_empty(), "{} left: {left:#?}", left.len());
}

/// Assertion that no text is changed.
fn assert_kept(texts: &[&str]) {
    let changed: Vec<_> =
        texts.iter().map(|text| (*text, redacted(text))).filter(|(text, clean)| text != clean).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Names of secrets in many languages, with a value.
const NAMED: &[(&str, &str)] = &[
    ("deploy_token", "wQz7LmVt#bXk2RpD"),
    ("service_token", "hTvLqwNZbCkJ+RMxe"),
    ("mailSecret", "Gk4tWq=BnLzPxVrT"),
    ("api_schluessel", "8be1c07f42d95a6634f0ab127de98c51"),
    ("lizenz-schluessel", "8be1c07f42d95a6634f0ab127de98c51"),
    ("zugangsschlüssel", "8be1c07f42d95a6634f0ab127de98c51"),
    ("anmeldetoken", "wQz7LmVt#bXk2RpD"),
    ("jeton_connexion", "rYd5NcKv_JhB8tQz"),
    ("cle_acces", "8be1c07f42d95a6634f0ab127de98c51"),
    ("clave_servicio", "Ciruela.Niebla1987!"),
    ("llave_privada", "8be1c07f42d95a6634f0ab127de98c51"),
    ("chave_privada", "8be1c07f42d95a6634f0ab127de98c51"),
    ("chiave_accesso", "8be1c07f42d95a6634f0ab127de98c51"),
    ("klucz_prywatny", "8be1c07f42d95a6634f0ab127de98c51"),
    ("toegangssleutel", "8be1c07f42d95a6634f0ab127de98c51"),
    ("api_sleutel", "8be1c07f42d95a6634f0ab127de98c51"),
    ("токен_доступа", "wQz7LmVt#bXk2RpD"),
    ("секретный_ключ", "8be1c07f42d95a6634f0ab127de98c51"),
    ("令牌", "wQz7LmVt#bXk2RpD"),
    ("口令", "wQz7LmVt#bXk2RpD"),
    ("シークレット", "wQz7LmVt#bXk2RpD"),
    ("APIキー", "8be1c07f42d95a6634f0ab127de98c51"),
    ("パスフレーズ", "Kirsche.Nebel1987!"),
    ("토큰", "wQz7LmVt#bXk2RpD"),
    ("safe_pin", "60417295"),
    ("gatePin", "60417295"),
    ("garden_passphrase", "plum-river-mango-quilt-57"),
];

#[test]
fn the_value_of_a_name_goes_in_every_syntax() {
    let syntaxes: &[&str] = &[
        "{n} = {v}",
        "{n}: {v}",
        "{n}={v}",
        "it reads {\"{n}\": \"{v}\", \"port\": 80} at start",
        "const {n}: string = \"{v}\";",
        "const {n}: &str = \"{v}\";",
        "export {n}={v} && ./run",
        "ENV {n}={v}",
        "docker run -e {n}={v} shop",
        "[auth]\n{n} = {v}",
        "{n} = \"{v}\"",
        "service:\n  {n}: {v}\n  port: 80",
        "<{n}>{v}</{n}>",
        "<string name=\"{n}\">{v}</string>",
        "<add key=\"{n}\" value=\"{v}\"/>",
        "<input name=\"{n}\" type=\"hidden\" value=\"{v}\">",
        "<input name='{n}' value='{v}'>",
        "sends Cookie: theme=dark; {n}={v}",
        "| name | value |\n|---|---|\n| {n} | {v} |",
        "INSERT INTO settings (name, value) VALUES ('{n}', '{v}');",
        "define('{n}', '{v}');",
        "env:\n  {n}: {v}",
        "the mail said:\n> {n}: {v}",
        "ENV['{n}'] = '{v}'",
        "process.env.{n} = '{v}'",
        "os.environ[\"{n}\"] = \"{v}\"",
        "- name: {n}\n  value: {v}",
        "{\"name\": \"{n}\", \"value\": \"{v}\"}",
        "{\\\"{n}\\\": \\\"{v}\\\"}",
        "spring.datasource.{n}={v}",
        "+{n}={v}",
        "the header X-{n}: {v}",
        "error: the shop rejected {n} {v}",
        "/srv/shop/{n}={v}",
    ];
    let cases = NAMED.iter().flat_map(|(name, value)| {
        syntaxes.iter().map(move |syntax| (syntax.replace("{n}", name).replace("{v}", value), (*value).to_owned()))
    });
    assert_gone(cases);
}

#[test]
fn the_value_of_a_name_in_capitals_goes() {
    assert_gone(
        NAMED
            .iter()
            .filter(|(name, _)| name.contains('_'))
            .map(|(name, value)| (format!("run `{}={value}` first", name.to_uppercase()), (*value).to_owned())),
    );
}

#[test]
fn values_in_sentences_and_file_names_go() {
    let texts = [
        ("For the shop I prefer wQzLmVtb_BXkRpD as the deploy token.", "wQzLmVtb_BXkRpD"),
        ("I prefer plum-river-mango-quilt-57 as our Wi-Fi passphrase", "plum-river-mango-quilt-57"),
        ("we take 8be1c07f42d95a6634f0ab127de98c51 as the API key", "8be1c07f42d95a6634f0ab127de98c51"),
        ("nimm wQz7LmVt#bXk2RpD als Zugangstoken", "wQz7LmVt#bXk2RpD"),
        ("utilise rYd5NcKv_JhB8tQz comme jeton", "rYd5NcKv_JhB8tQz"),
        ("请用 wQz7LmVt#bXk2RpD 作为令牌", "wQz7LmVt#bXk2RpD"),
        ("Merk dir: es gilt (API-Schlüssel) 8be1c07f42d95a6634f0ab127de98c51.", "8be1c07f42d95a6634f0ab127de98c51"),
        ("it is (Wi-Fi passphrase) plum-river-mango-quilt-57.", "plum-river-mango-quilt-57"),
        ("(Zugangstoken) wQz7LmVt#bXk2RpD", "wQz7LmVt#bXk2RpD"),
        ("Never use the deploy token wQzKmVtb_JXk9RpD for the shop again.", "wQzKmVtb_JXk9RpD"),
        ("Never use the PIN 60417295 for the shop again.", "60417295"),
        ("curl -H \"Authorization: Bearer wQzmVLtbNJ!XK7R\" https://shop.example", "wQzmVLtbNJ!XK7R"),
        ("shop: door_pin 60417295", "60417295"),
        ("shop: 令牌 8be1c07f42d95a6634f0ab127de98c51", "8be1c07f42d95a6634f0ab127de98c51"),
        ("shop-deploy_token-wQz7LmVt#bXk2RpD.jsonl", "wQz7LmVt#bXk2RpD"),
        ("logs/shop-door_pin-60417295.jsonl", "60417295"),
        ("logs/shop-令牌-8be1c07f42d95a6634f0ab127de98c51.json#1: read", "8be1c07f42d95a6634f0ab127de98c51"),
        ("/srv/shop/トークン=wQzLmVtBXkR=RpDN", "wQzLmVtBXkR=RpDN"),
        ("env: JETON_SERVICE: wQzLmVtBXkR=RpDN", "wQzLmVtBXkR=RpDN"),
        ("shop-chave_api-8be1c07f42d95a6634f0ab127de98c51", "8be1c07f42d95a6634f0ab127de98c51"),
        ("shop-garden_passphrase-plum-river-mango-quilt-57", "plum-river-mango-quilt-57"),
        ("shop-пароль-MangoRiver1987", "MangoRiver1987"),
        ("shop-クラウドトークン-wQz7LmVt#bXk2RpD", "wQz7LmVt#bXk2RpD"),
    ];
    assert_gone(texts.map(|(text, secret)| (text.to_owned(), secret.to_owned())));
}

/// Values that are no secrets, although their names resemble those of secrets.
pub(super) const OTHERS: &[&str] = &[
    "token_count: 51200",
    "deploy_token_file: /run/secrets/deploy-2024a",
    "the access_token_url is https://shop.example/v2/token",
    "max_token_length = 4096",
    "const token: string = readToken2();",
    "deploy_token: ${{ secrets.DEPLOY_TOKEN_2 }}",
    "DEPLOY_TOKEN=$CI_TOKEN_2",
    "rename access_token to CustomerProfileId",
    "the deploy token expires on 2026-03-01",
    "the deploy token is rotated by terraform-0.14.2",
    "led_pin = 13",
    "pin: 12 of the header",
    "the PIN pad is broken",
    "error_code: 40412345",
    "zip_code: 80331",
    "| deploy_token | string | required |",
    "<token>string</token>",
    "fix-token-refresh-on-login-2024",
    "password-reset-flow-for-users-42",
    "spin-pin-20240102.log",
    "api-token-2024-01-02.jsonl",
    "use PostgreSQL16 as the token store",
    "treat OrderService2 as the key example",
    "as the key point of 2024",
    "キー: 値",
    "密钥管理: 见文档第12页",
    "ключевое слово: поиск2024",
    "code: ERR_2024_41",
    "a token = 4 characters",
    "<input name=\"token\" type=\"hidden\" value=\"\">",
    "The response has ETag W/\"ab123-xERGOTP7gGeajQPZgCbFvxsmiQEO\"",
    "x-request: 9f8e7d6c-5b4a-4392-8171-605040302010 with key order",
];

#[test]
fn other_values_of_similar_names_stay() {
    assert_kept(OTHERS);
}
