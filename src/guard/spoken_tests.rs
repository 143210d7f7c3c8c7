//! Tests of sentences about passwords, keys and codes, and of the same sentences with a secret.

use crate::guard::Guard;

fn redact(text: &str) -> String {
    Guard::default().redact(text.to_owned()).0.into_inner()
}

/// Sentences about a secret that contain no secret.
#[rustfmt::skip]
pub(super) const ABOUT: &[&str] = &[
    // Programs that store passwords.
    "The password manager of the user is Bitwarden.", "Our password manager is KeePassXC", "Password manager: Dashlane", "the password vault is Vaultwarden, self-hosted", "my password app is Enpass",
    "The password generator is Diceware.", "we use a password manager, it's NordPass", "El gestor de contraseñas es Bitwarden.", "el administrador de contraseñas del equipo es LastPass", "Gestor de contraseñas: Bitwarden",
    "Der Passwortmanager ist Bitwarden", "Unser Passwort-Manager ist KeePassXC.", "Als Passwort-Manager nehmen wir Dashlane.", "Der Manager für Passwörter ist Bitwarden", "密码管理器是Bitwarden", "我们的密码管理器是 Bitwarden", "密码管理工具：Enpass", "密码生成器是Diceware",
    // Requirements for passwords.
    "The password policy is strict", "the password rule is simple: long", "The password length is twelve", "the password strength is medium", "The password hint is useless", "The password field is called secretbox",
    "password requirements are in the handbook", "the password column is nullable", "the password prompt is annoying", "the password dialog is modal", "the passphrase rule is five words", "the PIN pad is by the door",
    "La política de contraseñas es estricta", "la longitud de la contraseña es doce", "el campo de contraseña es opcional", "Die Passwortlänge ist zwölf", "Die Passwortrichtlinie ist streng", "Das Passwortfeld ist optional",
    "密码长度是十二位", "密码策略是每季度更换", "密码框是灰色的", "密码强度为medium", "密码提示是可选的",
    // States of passwords.
    "the password is expired", "my password is the same everywhere", "The password was changed last week", "the password is stored as a hash", "the password is written on a note", "Das Passwort ist abgelaufen.", "Das Passwort ist gesperrt", "das Passwort ist unbekannt",
    "Das Passwort ist verschlüsselt gespeichert", "Das Passwort ist dasselbe wie immer", "das Passwort war ungültig", "Mein Passwort ist geheim", "La contraseña es obligatoria", "la contraseña es secreta", "La contraseña es compartida", "la contraseña es demasiado corta",
    "la contraseña es desconocida", "la contraseña es siempre distinta", "密码是加密存储的", "密码是随机生成的", "密码已过期", "密码错误",
    // Sentences and steps in several words.
    "the password is case sensitive everywhere", "the password is stored encrypted using bcrypt", "password: see vault entry", "Password: click forgot password link", "password: minimum length eight characters", "password: enter current password twice",
    "the password is kept next to the printer", "pwd: print working directory", "the password is longer than twelve characters", "Password: required field missing", "the passcode is six digits long", "password: ask Ana for it",
    "The password is Bitwarden territory, not ours", "das Passwort ist im Tresor hinterlegt", "la contraseña es la misma de siempre", "password: same as before", "password = read line input", "the password was never shared between users",
    // Keys and codes.
    "la clave es 2024 usuarios", "La clave es la constancia", "El acceso es por la puerta lateral", "Der Schlüssel liegt unter der Matte", "der Schlüssel zum Erfolg ist Geduld",
    "the API key is in the vault", "API keys are rotated every ninety days", "the key rotation is automatic", "der Schlüssel ist im Tresor", "la clave es importante", "密钥是自动轮换的", "the token type is bearer", "the secret store is HashiCorp Vault",
];

/// Sentences that contain a secret; the text between `⟨` and `⟩` is removed.
#[rustfmt::skip]
const TOLD: &[&str] = &[
    "the master password of my password manager is ⟨swordfish⟩", "password manager password: ⟨swordfish⟩", "The password for the password manager is ⟨Maple9Syrup⟩", "my Bitwarden password is ⟨swordfish⟩", "the vault password is ⟨swordfish⟩",
    "the password hint is ⟨Fluffy77⟩", "the password policy is ⟨Min12Chars⟩", "password field: ⟨Maple9Syrup⟩", "the wifi password is ⟨swordfish⟩", "my password is ⟨sunflower⟩", "Password: ⟨Maple9Syrup⟩", "until now the password was ⟨swordfish⟩",
    "the password for the staging box is ⟨Tern-4471⟩", "our password for the field laptop is ⟨swordfish⟩", "the password of the rule engine is ⟨swordfish⟩", "The staging password is ⟨correct horse battery staple⟩.", "The root password is ⟨orange juice tuesday⟩.", "password for the wiki: ⟨open sesame thunder⟩", "my passphrase is ⟨correct horse battery staple⟩",
    "Password: ⟨violet tractor ladder piano⟩", "Das Passwort ist ⟨blaue kuh wiese regen⟩", "la contraseña es ⟨mesa verde lluvia tigre⟩", "the password to the manager account is ⟨swordfish⟩", "the password on the label printer is ⟨swordfish⟩", "\"password\": \"⟨swordfish⟩\"",
    "Das Passwort ist ⟨Sommerwiese⟩", "Das Passwort für den Manager ist ⟨Sommerwiese⟩", "mein Passwort lautet ⟨Geheim77⟩", "Das Passwort vom Passwortmanager ist ⟨Sommerwiese⟩", "Das Kennwort ist ⟨Ziege-4417⟩", "das WLAN-Passwort ist ⟨Sommerwiese⟩", "Passwort: ⟨Ziege-4417⟩", "das Passwort ist jetzt ⟨Sommerwiese⟩",
    "Mein Passwort ist ⟨Gelato99⟩", "La contraseña es ⟨mariposa⟩", "la contraseña del gestor es ⟨mariposa⟩", "la contraseña del wifi es ⟨Cabra_9911⟩", "La contraseña del gestor de contraseñas es ⟨mariposa⟩", "contraseña: ⟨Cabra_9911⟩", "mi contraseña es ⟨girasol77⟩", "mi contraseña es ⟨pescado⟩", "Mein Passwort ist ⟨verliebt⟩", "la contraseña de la política es ⟨mariposa⟩",
    "密码是⟨hunter2⟩", "密码管理器的密码是⟨hunter2⟩", "我的密码是 ⟨swordfish⟩", "密码提示是⟨Fluffy77⟩", "Bitwarden 的密码：⟨Maple9Syrup⟩", "密码为⟨Abc12345⟩", "数据库密码是⟨Goat9911x⟩", "新密码是⟨swordfish⟩",
    "the alarm code is ⟨4408-Fern⟩", "Zugangscode: ⟨882144⟩", "Der PIN vom Handy ist ⟨4821⟩", "El pin del móvil es ⟨4821⟩", "El número secreto es ⟨4821⟩",
    "Fürs VPN nehme ich ⟨Herbstlaub!88⟩ als Passwort", "He puesto ⟨Otono!88⟩ de contraseña", "mi contraseña sigue siendo ⟨Otono!88⟩", "Der API-Schlüssel ist ⟨abc123def456ghi789⟩",
    "meine TAN ist ⟨448812⟩", "Die TAN war ⟨448812⟩", "la clave de la tarjeta es ⟨4471⟩", "Clave: ⟨4471⟩", "contraseña -> ⟨Otono!88⟩",
    "la contra del wifi es ⟨mariposa88⟩", "Te paso la clave: ⟨mariposa88⟩", "my PIN is ⟨4821⟩", "the API key is ⟨9f8e7d6c5b4a⟩", "the key for maps is ⟨9f8e7d6c5b4a⟩",
];

#[test]
fn what_only_tells_about_a_secret_stays() {
    let changed: Vec<_> =
        ABOUT.iter().map(|text| (*text, redact(text))).filter(|(text, clean)| text != clean).collect();
    assert!(changed.is_empty(), "{} of {}: {changed:#?}", changed.len(), ABOUT.len());
}

#[test]
fn what_tells_one_goes() {
    let left = |row: &&&str| {
        let (before, rest) = row.split_once('⟨').unwrap();
        let (secret, after) = rest.split_once('⟩').unwrap();
        redact(&format!("{before}{secret}{after}")).contains(secret)
    };
    let left: Vec<_> = TOLD.iter().filter(left).collect();
    assert!(left.is_empty(), "{} of {}: {left:#?}", left.len(), TOLD.len());
}
