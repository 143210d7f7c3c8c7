//! Tests of secrets that people mention in chats, with the redacted sentences, and of sentences that only resemble
//! them.

use crate::guard::Guard;

fn redact(text: &str) -> String {
    Guard::default().redact(text.to_owned()).0.into_inner()
}

/// The text with the secret between `⟨` and `⟩`: the text between them is removed, and all the rest is kept.
#[rustfmt::skip]
const SAID: &[&str] = &[
    // Wi-Fi.
    "la clave del wifi es ⟨Cabra_9911⟩!", "la clave del wifi: ⟨Cabra_9911⟩", "La clave de la red es ⟨Cabra_9911⟩, apúntala", "WLAN-Passwort: ⟨Ziege-4417⟩",
    "der WLAN-Schlüssel ist ⟨Ziege-4417⟩", "Der Schlüssel fürs WLAN lautet ⟨Ziege-4417⟩.", "wifi 密码是⟨Goat9911x⟩", "无线密码 ⟨Goat9911x⟩", "the wifi key is ⟨Koi-Lantern-1234⟩", "wifi key: ⟨Koi-Lantern-1234⟩",
    "the Wi-Fi passkey is \"⟨seven blue geese 9⟩\"", "the key for the guest wifi is ⟨Koi-Lantern-1234⟩", "la clé du wifi est ⟨Chevre_9911⟩", "a chave do wifi é ⟨Cabra_9911⟩", "la chiave del wifi è ⟨Capra_9911⟩",
    // Doors, alarms, safes.
    "el PIN de la alarma es ⟨4821⟩", "der Code für die Haustür ist ⟨5820#⟩", "alarm code ⟨4408-Fern⟩", "the alarm code is ⟨4408-Fern⟩, don't forget", "门禁密码 ⟨3391#⟩", "门禁密码是⟨3391#⟩，别忘了",
    "the safe's combination is ⟨12-34-56⟩", "the combination to the safe is ⟨12-34-56⟩", "gate code: *⟨7741⟩", "keypad code is ⟨7741#⟩", "lockbox code ⟨0417⟩", "the code for the front door is ⟨5820#⟩",
    "we changed the garage code to ⟨9137⟩", "Der Türcode ist ⟨5820⟩", "Alarmcode: ⟨4821⟩", "Der Code der Alarmanlage lautet jetzt ⟨4821⟩.", "die Kombination vom Tresor ist ⟨12-34-56⟩", "el código de la puerta es ⟨5820#⟩",
    "código del portal: ⟨3391⟩", "la combinación de la caja fuerte es ⟨12-34-56⟩", "保险箱密码是⟨482913⟩", "大门的密码是⟨3391#⟩", "小区大门密码⟨8826#⟩", "disarm code ⟨4821⟩", "le code du portail c'est ⟨58A20⟩", "le code de la porte est ⟨58A20⟩", "o código do portão é ⟨3391⟩", "il codice del cancello è ⟨3391⟩",
    // PINs, cards, one-time codes.
    "my card PIN is ⟨4821⟩", "der PIN-Code ist ⟨4821⟩", "meine Geheimzahl ist ⟨4821⟩", "SIM PIN ⟨4821⟩", "CVV ⟨482⟩", "el CVV es ⟨482⟩", "der CVC ist ⟨482⟩", "the security code on the back is ⟨482⟩", "我的CVV是⟨482⟩",
    "your code is ⟨482913⟩", "⟨482913⟩ is your verification code", "tu código de verificación es ⟨482913⟩", "⟨482913⟩ es tu código de verificación", "Ihr Bestätigungscode lautet ⟨482913⟩", "Die TAN lautet ⟨482913⟩", "验证码 ⟨482913⟩", "您的动态码是⟨482913⟩",
    "verification code ⟨482-913⟩", "el código de un solo uso es ⟨482913⟩",
    // Logins in pairs.
    "the router is admin / ⟨Mango!Tram77⟩", "login: ana / ⟨Mango!Tram77⟩", "user: ana pass: ⟨mango77⟩", "user ana, password ⟨mango!tram⟩", "usuario ana contraseña ⟨mango77⟩", "usuario: ana, clave: ⟨mango77⟩", "Benutzer ana, Passwort ⟨mango77⟩",
    "用户名 ana 密码 ⟨mango77⟩", "账号ana，密码⟨mango77⟩", "utilisateur ana, mot de passe ⟨mango77⟩", "Zugangsdaten: ana/⟨Mango!Tram77⟩", "las credenciales son ana / ⟨Mango!Tram77⟩",
    // Recovery phrases and keys with a prefix.
    "la frase de recuperación es ⟨maple river candle orbit tiger lemon window paper silver garden mirror cloud⟩",
    "Meine Wiederherstellungsphrase: ⟨maple river candle orbit tiger lemon window paper silver garden mirror cloud⟩",
    "助记词：⟨maple river candle orbit tiger lemon window paper silver garden mirror cloud⟩",
    "I put ⟨bwk_live_8f3a91c07d2e4b6598fa⟩ into the script", "curl -d k=⟨acme_prod_9Qw3eRt5yUi8oPa1sDf⟩ x",
];

/// Sentences without a secret.
#[rustfmt::skip]
pub(super) const UNTOUCHED: &[&str] = &[
    "code 4.20", "código de error F4", "code E7", "Fehlercode 0x13", "exit code 3", "exit code is 1234", "error code: 5820", "der Fehlercode ist 5820", "el código de error es 4821", "错误码 4821", "状态码是4041",
    "my postcode is 10115", "Postleitzahl 10115", "el código postal es 28013", "邮编 100084", "country code 0049", "the country code is +4912", "area code 4155", "order number 482913", "Bestellnummer 482913", "el pedido 482913", "订单号是482913",
    "the code is on GitHub", "the code is in src/main2.rs", "your code is 1200 lines long", "your code is clean2go", "the code for the door sensor is in door2.py", "code for the alarm module: alarm_v2.rs", "el código de la puerta está en puerta2.py",
    "PIN the version to 3.2", "pin it", "pin the version: 1.2345", "the pin is GPIO17", "pinned to 4821", "key is user.residence", "the key is user.residence", "clave es la paciencia", "la clave del éxito", "la clave del éxito es dormir 8 horas",
    "la clave está en los 4 pasos", "der Schlüssel liegt unter der Matte", "der Schlüssel zum Erfolg ist Geduld", "the password policy is 12 characters", "password must be changed every 90 days", "密码长度至少8位", "密码至少8位", "门禁密码要4位数字",
    "the alarm code is 4 digits long", "the alarm code has 4821 possible values", "the door code is broken", "the alarm code is in the safe", "alarm code changed yesterday", "door code: ask Ana", "the gate code is 4 digits, ask at reception",
    "der Türcode ist kaputt", "el código de la puerta no funciona", "门禁密码忘了", "the safe combination is unknown", "the combination to the safe is lost", "the safe code path takes 1200 ms", "it is safe code 2 of 4",
    "the wifi key is on the fridge", "the wifi is slow", "wifi: 802.11ac", "wifi 6 and wpa2-psk", "WPA2 key management", "der WLAN-Schlüssel steht auf dem Router", "la clave del wifi está en la nevera", "wifi 密码忘了", "the wifi password is printed on the router",
    "CVV is three digits", "the security code review is 100% done", "the CVV check is 100% covered", "cvc-complex-type.2.4", "your verification code is invalid", "verification codes expire after 4821 seconds", "OTP 27 and Elixir 1.17", "Die TAN kommt per SMS", "tan 45", "验证码已发送",
    "1234 is your lucky number", "user ana with password authentication", "default login anonymous password user@site", "user anonymous, passwd anonymous@", "user: ana, password: required", "the user and the password are checked", "usuario y contraseña incorrectos", "Benutzer und Passwort prüfen", "用户名和密码不能为空", "输入用户名 密码",
    "login / logout", "admin / user roles", "src / Main2Test", "root / usr / local", "login page / Step2", "read / write", "GET /admin/Users2List", "admin / Python3 developer", "admin / Python3Developer", "admin / UserManagement", "credentials: see Vault/Team2",
    "EFI_KEY_B4: Key = 0x00000013", "const MASTER_KEY: Key = 0x0000_0013;", "key = 0xdeadbeef", "the key is 0x1F4A22", "TOKEN = -1073741700i32", "pub const STATUS_TOKEN: Status = -1073741700i32;", "my_live_data_pipeline_2024_version", "test_live_reload_of_configuration",
    "run api_test_integrationsuite", "la frase de recuperación es una lista de doce palabras que nadie debe ver nunca más", "access code review 2024", "unlock codes are sold for 4.20",
];

#[test]
fn what_is_said_goes_and_the_sentence_stays() {
    let mut failures = Vec::new();
    for row in SAID {
        let (before, rest) = row.split_once('⟨').unwrap();
        let (secret, after) = rest.split_once('⟩').unwrap();
        let clean = redact(&format!("{before}{secret}{after}"));
        let marker = clean.strip_prefix(before).and_then(|clean| clean.strip_suffix(after));
        // A character that can end both secrets and sentences may be removed with the secret.
        let marker = marker.or_else(|| clean.strip_prefix(before).filter(|_| after.len() == 1));
        let name = marker.and_then(|marker| marker.strip_prefix("[redacted:")?.strip_suffix(']'));
        if name.is_none_or(|name| name.contains(['[', ' '])) {
            failures.push(format!("{row} became {clean}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), SAID.len(), failures.join("\n"));
}

#[test]
fn sentences_that_only_sound_like_it_stay_untouched() {
    assert!(UNTOUCHED.len() >= SAID.len(), "{} and {}", UNTOUCHED.len(), SAID.len());
    let changed: Vec<_> =
        UNTOUCHED.iter().map(|text| (*text, redact(text))).filter(|(text, clean)| text != clean).collect();
    assert!(changed.is_empty(), "{} of {}: {changed:#?}", changed.len(), UNTOUCHED.len());
}
