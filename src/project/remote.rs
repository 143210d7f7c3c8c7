//! Addresses of repositories, in one canonical form without credentials.

use std::path::PathBuf;

use transcripts::folder_path;

/// Hosts that ignore case in the names of repositories.
const CASELESS: &[&str] = &["github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com"];

/// Alternative names of hosts, each with its port.
const SAME_HOST: &[(&str, &str)] = &[
    ("www.github.com", "github.com"),
    ("ssh.github.com:443", "github.com"),
    ("altssh.gitlab.com:443", "gitlab.com"),
    ("altssh.bitbucket.org:443", "bitbucket.org"),
];

/// Schemes of repository addresses, each with its default port.
const SCHEMES: &[(&str, &str)] =
    &[("https", ":443"), ("http", ":80"), ("ssh", ":22"), ("git+ssh", ":22"), ("ssh+git", ":22"), ("git", ":9418")];

/// A repository on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Host and path, such as `github.com/ana/shop`. The key is the same for all spellings of the address.
    pub key: String,
    /// The last part of the path in its original spelling, for display.
    pub name: String,
}

/// The target of a remote's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// A repository on a server.
    Server(Remote),
    /// A folder on this machine.
    Local(PathBuf),
}

impl Address {
    /// Reads the address of a remote from git's settings; `None` for other kinds of addresses.
    pub(super) fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        if let Some((scheme, rest)) = address.split_once("://") {
            return match scheme.to_ascii_lowercase().as_str() {
                "file" => Some(Self::Local(PathBuf::from(folder_path(&format!("file://{rest}"))))),
                scheme => url(scheme, rest).map(Self::Server),
            };
        }
        if let Some(remote) = scp(address) {
            return Some(Self::Server(remote));
        }
        let is_path = !address.is_empty() && (!address.contains(':') || is_drive(address));
        is_path.then(|| Self::Local(PathBuf::from(address)))
    }
}

impl Remote {
    /// Reads the address of a repository on a server; `None` for anything else, such as a folder.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        match Address::parse(address)? {
            Address::Server(remote) => Some(remote),
            Address::Local(_) => None,
        }
    }

    /// Reads the project in a log, if it is clearly the address of a repository.
    pub(super) fn named(project: &str) -> Option<Self> {
        // In some addresses, only the text after a question mark distinguishes one page from another.
        let is_whole = !project.contains(['?', '#']) && !project.contains(char::is_whitespace);
        let beyond_doubt = is_whole && (project.contains("://") || project.find('@').is_some_and(|at| at > 0));
        Self::parse(project).filter(|_| beyond_doubt)
    }

    fn new(host: &str, user: Option<&str>, path: &str) -> Option<Self> {
        let path = path.split(['?', '#']).next()?;
        if path.chars().chain(host.chars()).any(char::is_control) {
            return None;
        }
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let last = parts.pop()?;
        parts.extend(Some(last.strip_suffix(".git").unwrap_or(last)).filter(|name| !name.is_empty()));
        let name = *parts.last()?;
        // A path with `..` would result in several keys for one repository.
        if parts.contains(&"..") {
            return None;
        }
        let user = user.map(|user| format!("~{user}/")).unwrap_or_default();
        let path = parts.join("/");
        let path = if CASELESS.contains(&host) { path.to_lowercase() } else { path };
        Some(Self { key: format!("{host}/{user}{path}"), name: name.to_owned() })
    }
}

/// Reads the text after `scheme://`.
fn url(scheme: &str, rest: &str) -> Option<Remote> {
    let (_, usual_port) = SCHEMES.iter().find(|(name, _)| *name == scheme)?;
    let (authority, path) = rest.split_once('/')?;
    // Git connects to the host before one of these characters, where another reader of the address sees a user.
    if authority.contains(['?', '#', '\\']) || authority.contains(char::is_whitespace) {
        return None;
    }
    // The text is split from the right: a password may contain an `@`, but a host cannot.
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_lowercase();
    // The colons of an IPv6 address are inside brackets.
    let port = host.rsplit_once(':').filter(|_| !host.ends_with(']')).map_or("", |(_, port)| port);
    // A password that contains a slash would otherwise become part of the path.
    if host.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let known = SAME_HOST.iter().find(|(name, _)| *name == host).map(|(_, same)| *same);
    let host = known.unwrap_or_else(|| host.strip_suffix(usual_port).unwrap_or(&host));
    Remote::new(host.trim_end_matches(['.', ':']), None, path)
}

/// Reads an address of the form `user@host:path`.
fn scp(address: &str) -> Option<Remote> {
    let (before, path) = address.split_once(':')?;
    if before.is_empty() || before.contains(['/', '\\', '[', '?', '#']) || path.starts_with(':') || is_drive(address) {
        return None;
    }
    let (user, host) = before.rsplit_once('@').map_or((None, before), |(user, host)| (Some(user), host));
    let host = host.to_lowercase();
    // A relative path starts in the home folder of the user, unless that user belongs to the hosting service.
    let is_personal = !path.starts_with('/') && !CASELESS.contains(&host.as_str());
    let user = user.filter(|user| is_personal && !matches!(*user, "git" | "gitea" | "forgejo" | "gogs" | "hg"));
    let user = user.map(|user| user.split(':').next().unwrap_or(user));
    Remote::new(&host, user, path)
}

/// Returns whether the text is a path such as `C:\src`.
fn is_drive(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && chars.next() == Some(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> Option<String> {
        Remote::parse(address).map(|remote| remote.key)
    }

    #[test]
    fn one_repository_has_one_spelling() {
        let spellings = [
            "git@github.com:Ana/Shop.git",
            "git@github.com:Ana/Shop",
            "https://user:tok@github.com/ana/shop",
            "https://tok@github.com/ana/shop.git/",
            "HTTPS://GitHub.com:443/ana//shop",
            "ssh://git@github.com:22/ana/shop/",
            "ssh://git@ssh.github.com:443/ana/shop.git",
            "git://github.com/ana/shop.git?ref=main",
            "org-12@github.com:ana/shop.git",
            "  https://www.github.com/ana/shop/.git\n",
        ];
        for address in spellings {
            assert_eq!(key(address).as_deref(), Some("github.com/ana/shop"), "{address}");
        }
        assert_eq!(Remote::parse("git@github.com:Ana/Shop.git").unwrap().name, "Shop");
    }

    #[test]
    fn an_address_that_readers_understand_differently_is_none() {
        for address in [
            "http://evil.example?@github.com/acme/shop.git",
            "http://evil.example#@github.com/acme/shop.git",
            "http://evil.example\\@github.com/acme/shop.git",
            "http://evil.example:80?@github.com/acme/shop.git",
            "git?@github.com:acme/shop.git",
        ] {
            assert_eq!(key(address), None, "{address}");
        }
    }

    #[test]
    fn what_may_be_another_repository_stays_another() {
        let table = [
            ("ssh://git@host:22/ana/shop/", "host/ana/shop"),
            ("ssh://git@host:2222/ana/shop", "host:2222/ana/shop"),
            ("https://Git.Example/Ana/Shop", "git.example/Ana/Shop"),
            ("https://git.example:8443/ana/shop", "git.example:8443/ana/shop"),
            ("git@git.example:/srv/shop.git", "git.example/srv/shop"),
            ("ana@nas:shop.git", "nas/~ana/shop"),
            ("ben@nas:shop.git", "nas/~ben/shop"),
            ("nas:shop.git", "nas/shop"),
            ("https://[::1]:3000/ana/shop", "[::1]:3000/ana/shop"),
            ("https://github.com/ben/shop", "github.com/ben/shop"),
        ];
        for (address, expected) in table {
            assert_eq!(key(address).as_deref(), Some(expected), "{address}");
        }
    }

    #[test]
    fn folders_and_other_addresses_are_no_repository_on_a_server() {
        for address in [
            "",
            "/srv/git/shop.git",
            "../shop",
            "C:\\src\\Shop",
            "D:/src/shop",
            "file:///srv/shop.git",
            "shop",
            "ext::sh -c date",
            "codecommit::eu-west-1://shop",
            "https://",
            "https://host",
            "https://host/",
            "://",
            "https://host/ana/../ben",
            "https://ana:pa/ss@host/x",
            "ssh://",
            "\u{7}:x",
            ":x",
        ] {
            assert_eq!(key(address), None, "{address}");
        }
        assert_eq!(Address::parse("file:///srv/shop"), Some(Address::Local("/srv/shop".into())));
        assert_eq!(Address::parse("FILE:///C:/my%20src/shop"), Some(Address::Local("C:/my src/shop".into())));
        assert_eq!(Address::parse("../shop"), Some(Address::Local("../shop".into())));
    }

    #[test]
    fn a_page_or_a_channel_is_not_taken_for_a_repository() {
        for project in [
            "https://chat.example/room?id=5",
            "team: planning",
            "#general",
            "@ana:home",
            "ana@home: all",
            "C:\\src\\Shop",
            "shop",
        ] {
            assert_eq!(Remote::named(project), None, "{project}");
        }
        assert_eq!(Remote::named("git@host:shop.git").unwrap().key, "host/shop");
    }
}
