//! Addresses without the parts that may contain secrets.

/// Returns `text` without the name and password in addresses of the form `scheme://name:password@host`.
pub(crate) fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let is_host = |authority: &str| authority.split_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok());
    // A password may contain an unescaped slash.
    let until = if rest[..end].contains('@') || is_host(&rest[..end]) { end } else { rest.len() };
    let start = rest[..until].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[start..])
}

/// Returns an address as it may be printed: without name, password, query and fragment, each of which may contain a key.
pub(crate) fn printable_address(text: &str) -> String {
    without_credentials(text).split(['?', '#']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_and_the_rest_stays() {
        let table = [
            ("https://ana:Maple9Syrup@host/ana/shop?x=1", "https://host/ana/shop?x=1"),
            ("https://Maple9Syrup@host", "https://host"),
            ("https://ana:Map/le9@host/shop", "https://host/shop"),
            ("https://host:8443/@ana/shop", "https://host:8443/@ana/shop"),
            ("https://host/a@b", "https://host/a@b"),
            ("git@github.com:ana/shop.git", "git@github.com:ana/shop.git"),
            ("/home/ana/a@b", "/home/ana/a@b"),
        ];
        for (text, expected) in table {
            assert_eq!(without_credentials(text), expected);
        }
    }

    #[test]
    fn an_address_is_printed_without_what_may_be_secret() {
        for (address, printed) in [
            ("http://ana:pw@host:80/v1?key=sk#part", "http://host:80/v1"),
            ("http://ana:p/w@host/v1", "http://host/v1"),
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            ("sqlite:memories.db", "sqlite:memories.db"),
        ] {
            assert_eq!(printable_address(address), printed);
        }
    }
}
