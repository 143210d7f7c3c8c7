//! A simple browser without JavaScript that stores cookies, sends forms, and follows redirects.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use crate::desk::Desk;

/// A server of the page, and the only browser that has access to it.
pub struct Browser {
    child: Child,
    pub address: String,
    pub entry: String,
    cookies: Mutex<Vec<String>>,
    language: &'static str,
}

/// The response of the server.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answered {
    /// Returns the value of a header, given its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (field, value) = line.split_once(": ")?;
            field.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Browser {
    /// Starts `afterthought serve ui` and opens the printed URL.
    pub fn open(desk: &Desk, language: &'static str) -> Self {
        let browser = Self::start(desk, language);
        browser.enter();
        browser
    }

    /// Opens the printed URL.
    pub fn enter(&self) {
        let entered = self.send("GET", &self.entry, &[], "");
        assert_eq!(entered.status, 200, "{entered:?}");
        self.keep(&entered);
    }

    /// Starts the server without opening a page.
    pub fn start(desk: &Desk, language: &'static str) -> Self {
        Self::start_with(desk, language, &[])
    }

    /// Starts the server with additional options, without opening a page.
    pub fn start_with(desk: &Desk, language: &'static str, options: &[&str]) -> Self {
        let mut command = desk.command(&["serve", "ui", "--no-open"]);
        command.args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (address, entry) = (address.to_owned(), format!("/{token}"));
        Self { child, address, entry, cookies: Mutex::default(), language }
    }

    /// Returns a page.
    pub fn get(&self, path: &str) -> Answered {
        self.send("GET", path, &self.cookie(), "")
    }

    /// Returns a page, which must exist.
    pub fn page(&self, path: &str) -> String {
        let answered = self.get(path);
        assert_eq!(answered.status, 200, "{path}: {answered:?}");
        answered.body
    }

    /// Sends a form with the token from a page of this server, and returns the response.
    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answered {
        let page = self.page("/");
        let token = page.split("name=\"form_token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let fields = [&[("form_token", token.as_str())], fields].concat();
        let answered = self.send("POST", path, &self.cookie(), &encoded(&fields));
        self.keep(&answered);
        answered
    }

    /// Sends a form that must be accepted, and returns the page that it leads to.
    pub fn submit(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answered = self.post(path, fields);
        assert_eq!(answered.status, 303, "{path}: {answered:?}");
        self.page(answered.header("location").unwrap())
    }

    /// Returns the line with the cookies.
    pub fn cookie(&self) -> Vec<String> {
        let cookies = self.cookies.lock().unwrap();
        if cookies.is_empty() { Vec::new() } else { vec![format!("Cookie: {}", cookies.join("; "))] }
    }

    fn keep(&self, answered: &Answered) {
        if let Some(cookie) = answered.header("set-cookie") {
            self.cookies.lock().unwrap().push(cookie.split(';').next().unwrap().to_owned());
        }
    }

    /// Sends a request with only these headers and the language, and with `Host` unless it is among them.
    pub fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> Answered {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let named = headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:"));
        let host = if named { String::new() } else { format!("Host: {}\r\n", self.address) };
        let lines = headers.iter().fold(String::new(), |lines, line| lines + line + "\r\n");
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}{lines}Accept-Language: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.language,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that can decide early answers before it has read the whole request.
        let _ = stream.write_all(body.as_bytes());
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answered { status, head: head.to_owned(), body: body.to_owned() }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Encodes the fields of a form.
pub fn encoded(fields: &[(&str, &str)]) -> String {
    let spell = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
    fields.iter().map(|(name, value)| format!("{}={}", spell(name), spell(value))).collect::<Vec<_>>().join("&")
}
