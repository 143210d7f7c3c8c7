//! Tests of personal data under its settings, and of numbers that only look like it.

use super::{Guard, GuardSettings, Treatment};

const ALL: GuardSettings = GuardSettings {
    cards: Treatment::Redact,
    ibans: Treatment::Redact,
    ids: Treatment::Redact,
    emails: Treatment::Redact,
    phones: Treatment::Redact,
    addresses: Treatment::Redact,
};

fn redact(settings: GuardSettings, text: &str) -> String {
    Guard::new(&settings).redact(text.to_owned()).0.into_inner()
}

#[test]
fn cards_and_accounts_go_by_default_and_addresses_stay() {
    let text = "card 4111 1111 1111 1111, amex 3782-822463-10005, iban DE89 3704 0044 0532 0130 00; ana@shop.example, +49 30 901820";
    assert_eq!(
        redact(GuardSettings::default(), text),
        "card [redacted:card], amex [redacted:card], iban [redacted:iban]; ana@shop.example, +49 30 901820"
    );
    assert_eq!(
        redact(ALL, text),
        "card [redacted:card], amex [redacted:card], iban [redacted:iban]; [redacted:email], [redacted:phone]"
    );
}

#[test]
fn numbers_without_a_valid_check_digit_stay() {
    let text = "4111 1111 1111 1112, DE88 3704 0044 0532 0130 00, 1700000000000, 0.4111111111111111, id-4111111111111111, 4111111111111111111";
    assert_eq!(redact(ALL, text), text);
}

#[test]
fn phones_and_addresses_go_where_they_stand_between_chinese() {
    assert_eq!(redact(ALL, "电话13812345678，邮箱ana@shop.example。"), "电话[redacted:phone]，邮箱[redacted:email]。");
    assert_eq!(redact(ALL, "call (555) 010-4477 or 555-010-4478"), "call [redacted:phone] or [redacted:phone]");
}

#[test]
fn an_address_goes_with_its_town_and_postcode() {
    for address in [
        "12 Baker Street, London NW1 6XE",
        "12 Baker Street, London, NW1 6XE",
        "7 Mill Lane, Newcastle upon Tyne NE1 4ST",
        "1600 Amphitheatre Parkway, Mountain View, CA 94043",
        "350 Fifth Avenue, New York, NY 10118-0110",
        "24 Sussex Drive, Ottawa, ON K1M 1M4",
        "221 Baker Street",
    ] {
        let text = format!("It goes to {address}, and the bill to Ana.");
        assert_eq!(redact(ALL, &text), "It goes to [redacted:address], and the bill to Ana.");
    }
}

/// Texts that each contain one piece of personal data, with the name of its marker.
#[rustfmt::skip]
pub(super) const HOLDING: &[(&str, &str)] = &[
    ("us-ssn", "my SSN is 536-22-8726"), ("us-ssn", "social security: 536 22 8726"), ("cn-resident-id", "身份证号11010519491231002X。"),
    ("cn-resident-id", "id 440524188001010014"), ("de-steuer-id", "Steuer-ID: 86095742719"), ("de-steuer-id", "meine IdNr 47 036 892 816"), ("es-dni", "DNI 12345678Z"),
    ("es-dni", "NIE X1234567L"), ("gb-nino", "NI number AB 12 34 56 C"), ("fr-nir", "NIR 2 55 08 14 168 025 38"), ("it-codice-fiscale", "CF RSSMRA85T10A562S"),
    ("br-cpf", "CPF 529.982.247-25"), ("ch-ahv", "AHV 756.9217.0769.85"), ("email", "write to ana@shop.example"), ("phone", "call +49 30 901820"),
    ("address", "I live at 221 Baker Street, London"), ("address", "Sie wohnt Lindenstraße 12, 10969 Berlin"), ("address", "Calle Mayor 14, 28013 Madrid"),
    ("address", "12 rue de Rivoli, 75001 Paris"), ("address", "我住在北京市朝阳区建国路88号"),
];

/// Texts without personal data: order numbers, versions, times, hashes, sizes, addresses of machines.
#[rustfmt::skip]
pub(super) const LIKE: &[&str] = &[
    "order 536-22-872", "order 536-22-87265", "ticket 000-12-3456", "area 666-12-3456", "part 912-34-5678", "version 1.2.3-45", "build 20260301.123",
    "2026-03-01T10:00:00Z", "1700000000000", "110105194912310021", "110105194913310025", "invoice 86095742719", "Steuer-ID: 86095742718", "12345678A", "sku 1234567-L",
    "GB 12 34 56 C", "2 55 08 14 168 025 39", "RSSMRA85T10A562T", "529.982.247-24", "111.111.111-11", "756.9217.0769.84", "git@github.com:ana/shop.git",
    "npm i left-pad@1.3.0", "@types/node@20.11.5", "icon@2x.png", "user@localhost", "127.0.0.1:8080", "10.0.0.1", "0x7fff5fbff8c0", "3.14159265358979", "1920x1080",
    "chapter 12 of the book", "section 3.2.1", "5 Street View requests", "route 66", "port 8080", "HTTP 404", "RE-2026-000123", "1Z999AA10123456784", "978-3-16-148410-0",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "3f2b8c1e-9d4a-4f6b-8e7c-0a1b2c3d4e5f", "1234567890123456", "100000000000", "第88号文件", "the 2nd Avenue of attack",
];

#[test]
fn each_kind_goes_and_what_only_looks_like_it_stays() {
    let missed = HOLDING.iter().filter(|(name, text)| !redact(ALL, text).contains(&format!("[redacted:{name}]")));
    let missed: Vec<_> = missed.map(|(name, text)| (name, redact(ALL, text))).collect();
    let changed: Vec<_> =
        LIKE.iter().map(|text| (text, redact(ALL, text))).filter(|(text, clean)| **text != clean).collect();
    assert!(missed.is_empty() && changed.is_empty(), "missed {missed:#?}\nchanged {changed:#?}");
}

#[test]
fn what_is_to_be_dropped_is_marked_so() {
    let settings = GuardSettings { emails: Treatment::Drop, ..GuardSettings::default() };
    assert_eq!(redact(settings, "mail ana@shop.example"), "mail [redacted:dropped-email]");
    assert!(redact(settings, "mail ana@shop.example").contains(crate::guard::DROPPED_MARKER));
}

#[test]
fn numbers_of_identity_go_by_default_and_homes_stay() {
    let text = "SSN 536-22-8726, 221 Baker Street";
    assert_eq!(redact(GuardSettings::default(), text), "SSN [redacted:us-ssn], 221 Baker Street");
}
