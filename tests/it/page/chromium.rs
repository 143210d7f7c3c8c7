//! Tests of the page in a real browser, if one is installed: every page in both languages, themes and two widths, the
//! life of a memory using mouse and keyboard, without scripts, and after the server has ended.
//!
//! The tests need Chromium, Node and fonts for Chinese. Without these, they print a line and are skipped, unless
//! `AFTERTHOUGHT_NEEDS_BROWSER` is set. `AFTERTHOUGHT_PICTURES=FOLDER` writes a picture of every page to a folder, and
//! `AFTERTHOUGHT_UPDATE=1` renews the pictures of the guide.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::browser::Browser;
use super::reading::{demo, first_id};
use super::reviewing::contradicted;
use crate::desk::Desk;
use crate::sources::session;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The accessibility checker, from the npm registry.
const AXE: &str = "axe-core@4.10.3";
/// Maximum size of a page, including all resources, in bytes.
const MAX_BYTES: f64 = 250_000.0;

/// Chromium, controlled by a script.
struct Chromium {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn runs(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Prints that a test is skipped, or fails if skipping is not allowed.
#[expect(clippy::print_stderr, reason = "the output of a test is where a skipped part is reported")]
fn skip(reason: &str) {
    assert!(std::env::var_os("AFTERTHOUGHT_NEEDS_BROWSER").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
}

/// Returns the source text of axe-core, which is downloaded once; `None` if the registry is unavailable.
fn axe() -> Option<&'static str> {
    static SOURCE: OnceLock<Option<String>> = OnceLock::new();
    let source = SOURCE.get_or_init(|| {
        let folder = Path::new(ROOT).join("target/axe");
        let file = folder.join("node_modules/axe-core/axe.min.js");
        if !file.exists() {
            std::fs::create_dir_all(&folder).ok()?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(AXE);
            npm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        }
        std::fs::read_to_string(file).ok()
    });
    source.as_deref()
}

impl Chromium {
    /// Starts the browser with a profile in `desk`; `None` if a prerequisite is missing.
    fn start(desk: &Desk) -> Option<Self> {
        let Some(program) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| runs(name))
        else {
            skip("no Chromium is installed");
            return None;
        };
        if !runs("node") {
            skip("no Node is installed");
            return None;
        }
        let script = Path::new(ROOT).join("tests/it/page/drive.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(program).arg(desk.path("browser")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, input, output })
    }

    fn run(&mut self, mut command: Value, name: &str) -> Value {
        command["command"] = json!(name);
        writeln!(self.input, "{command}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{name}: {line:?}"));
        assert!(answer.get("error").is_none(), "{name} {command}: {}", answer["error"]);
        answer["answer"].take()
    }

    /// Opens a page of the server in English at full width.
    fn open(&mut self, browser: &Browser, path: &str) -> Value {
        self.run(json!({"address": format!("http://{}{path}", browser.address)}), "open")
    }

    fn evaluate(&mut self, script: &str) -> Value {
        self.run(json!({"script": script}), "evaluate")
    }

    fn text(&mut self) -> String {
        self.evaluate("document.getElementById('main').innerText").as_str().unwrap_or_default().to_owned()
    }

    fn click(&mut self, selector: &str, leads: bool) {
        self.run(json!({"selector": selector, "leads": leads}), "click");
    }

    fn press(&mut self, key: &str, leads: bool) {
        self.run(json!({"key": key, "leads": leads}), "press");
    }

    /// Presses the Tab key until the element has the focus.
    fn tab_to(&mut self, selector: &str) {
        for _ in 0..150 {
            self.press("Tab", false);
            let script = format!("document.activeElement.matches({})", json!(selector));
            if self.evaluate(&script) == json!(true) {
                let outline = self.evaluate("getComputedStyle(document.activeElement).outlineStyle");
                assert_ne!(outline, "none", "the focus on {selector} is not visible");
                return;
            }
        }
        panic!("{selector} cannot be reached by keyboard");
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The script ends the browser when its input ends.
        let _ = self.input.write_all(b"");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a browser that has access to a server of `desk`.
fn entered(desk: &Desk, language: &'static str) -> Option<(Chromium, Browser)> {
    let mut chromium = Chromium::start(desk)?;
    let browser = Browser::start(desk, language);
    let entry = browser.entry.clone();
    chromium.open(&browser, &entry);
    // The entry page redirects by itself, and no other page may be opened before it has done so.
    while chromium.evaluate("document.readyState === 'complete' && document.getElementById('search') !== null")
        != json!(true)
    {
        chromium.evaluate("new Promise((done) => setTimeout(done, 50))");
    }
    Some((chromium, browser))
}

/// Returns the paths of all pages.
fn every_page(desk: &Desk) -> Vec<String> {
    let memories = desk.json(&["memory", "list", "--all"]);
    let id = |part: &str| {
        let found = memories.iter().find(|memory| memory["content"].as_str().unwrap_or_default().contains(part));
        found.unwrap_or_else(|| panic!("{part}"))["id"].as_str().unwrap().to_owned()
    };
    let (fly, heroku) = (id("Fly.io"), id("Heroku"));
    evaluated(desk, &[("a", "smoke", "rules"), ("b", "smoke", "every-sentence")]);
    let names = memories.iter().filter_map(|memory| memory["namespace"].as_array());
    let mut namespaces = names.map(|names| names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("%2F"));
    let namespace = namespaces.find(|namespace| namespace.starts_with("project"));
    let run = desk.json(&["runs", "list"]).remove(0)["id"].as_str().unwrap().to_owned();
    let mut pages: Vec<String> = [
        "/",
        "/?q=where+is+the+API+deployed",
        "/?q=zeppelin&category=mistake",
        "/inbox",
        "/projects",
        "/timeline",
        "/graph",
        "/brief",
        "/runs",
        "/analytics",
        "/evals",
        "/evals?a=a.json",
        "/evals?a=a.json&b=b.json",
        "/health",
        "/settings",
        "/nowhere",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.extend([
        format!("/memory/{fly}"),
        format!("/memory/{fly}/quote?at=0"),
        format!("/memory/{fly}/merge"),
        format!("/erase?memory={fly}"),
        format!("/memory/{heroku}/merge?with={}", id("pnpm")),
        format!("/graph?memory={fly}"),
        format!("/project?namespace={}", namespace.unwrap()),
        format!("/runs/{run}"),
    ]);
    pages
}

/// Writes the results of evaluations, each with the name of its file, its suite and its extractor.
fn evaluated(desk: &Desk, evaluations: &[(&str, &str, &str)]) {
    for (name, suite, extractor) in evaluations {
        let (file, suite) = (format!("afterthought/evals/{name}.json"), format!("{ROOT}/evals/{suite}"));
        desk.write(&file, "");
        let told = desk.run(&["eval", &suite, "--extractor", extractor, "--out", &file, "-q"]);
        assert_eq!(told.code, 0, "{told:?}");
    }
}

#[test]
fn every_page_is_whole_and_accessible_in_both_languages_themes_and_widths() {
    let desk = contradicted();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    let axe = axe();
    if axe.is_none() {
        skip("axe-core cannot be fetched");
    }
    let mut faults = Vec::new();
    for path in every_page(&desk) {
        for (language, theme, width) in [
            ("en", "light", 1440),
            ("en", "dark", 390),
            ("en", "light", 390),
            ("en", "dark", 1440),
            ("zh", "light", 390),
            ("zh", "dark", 1440),
            ("zh", "light", 1440),
            ("zh", "dark", 390),
        ] {
            let seen = format!("{path} {language} {theme} {width}");
            let address = format!("http://{}{path}", browser.address);
            let opened =
                chromium.run(json!({"address": address, "language": language, "theme": theme, "width": width}), "open");
            if let Some(folder) = std::env::var_os("AFTERTHOUGHT_PICTURES") {
                let name: String = seen.chars().map(|one| if one.is_alphanumeric() { one } else { '-' }).collect();
                chromium.run(json!({"file": Path::new(&folder).join(name + ".png")}), "picture");
            }
            let wanted = usize::from(path == "/nowhere");
            if opened["complaints"].as_array().unwrap().len() > wanted {
                faults.push(format!("{seen}: {}", opened["complaints"]));
            }
            if opened["bytes"].as_f64().unwrap() > MAX_BYTES {
                faults.push(format!("{seen}: {} bytes", opened["bytes"]));
            }
            let wide = "[...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll, svg, .frame nav, .hidden, .skip') \
                && one.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map((one) => one.outerHTML.slice(0, 120))";
            let wide = chromium.evaluate(wide);
            if wide != json!([]) {
                faults.push(format!("{seen} is wider than the screen: {wide}"));
            }
            // The themes and widths differ in contrast and in the displayed elements.
            if let Some(axe) = axe {
                let found = chromium.run(json!({"source": axe}), "axe");
                if found != json!([]) {
                    faults.push(format!("{seen}: {found}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_printed_address_works_once() {
    let desk = demo();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    // The page of the printed URL redirects by itself.
    chromium.open(&browser, "/");
    assert!(chromium.text().contains("Last changed"));
    let again = Desk::new();
    let mut other = Chromium::start(&again).unwrap();
    other.open(&browser, &browser.entry.clone());
    assert!(!other.text().contains("Last changed"));
}

#[test]
fn the_whole_life_of_a_memory_by_mouse() {
    let desk = demo();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    let path = format!("/memory/{}", first_id(&desk_page(&desk, "Fly.io")));
    chromium.open(&browser, &path);
    chromium.evaluate("document.querySelector('.edit').open = true");
    chromium
        .evaluate("document.querySelector('textarea[name=content]').value = 'The API runs on Fly.io in Frankfurt.'");
    chromium.click(".edit button.main", true);
    assert!(chromium.text().contains("The memory was changed."));
    for (button, says) in [
        ("form[action$='/pin'] button", "The memory is pinned"),
        ("form[action$='/undo'] button", "The change was undone."),
        ("form[action$='/forget'] button", "The memory is forgotten."),
        ("form[action$='/restore'] button", "The memory is active again."),
    ] {
        chromium.click(button, true);
        assert!(chromium.text().contains(says), "{button}: {}", chromium.text());
    }
    chromium.click("a[href$='/merge']", true);
    chromium.click(".rows a.title", true);
    assert!(chromium.text().contains("This is what would be kept."));
    chromium.click("form.fields button.main", true);
    assert!(chromium.text().contains("The memories were merged."));
    chromium.click("form[action$='/undo'] button", true);
    chromium.click(".quote a[href*='/quote?at=']", true);
    assert!(chromium.text().contains("From the log of"), "{}", chromium.text());
    chromium.click("a[href^='/erase']", true);
    assert!(chromium.text().contains("These memories are removed"), "{}", chromium.text());
    chromium.click("form[action='/erase'] button", true);
    assert!(chromium.text().contains("Erased."), "{}", chromium.text());
    assert!(desk.memories().iter().all(|(_, text)| !text.contains("Frankfurt")));
}

#[test]
fn the_whole_life_of_a_memory_by_keyboard_alone() {
    let desk = contradicted();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    // The inbox: selects the first row, then accepts it.
    chromium.open(&browser, "/inbox");
    chromium.press("j", false);
    chromium.press("a", true);
    assert!(chromium.text().contains("Accepted."), "{}", chromium.text());
    // The decision is undone, the memory edited and the edit undone, and then the memory is rejected.
    chromium.press("u", true);
    assert!(chromium.text().contains("The run was undone."), "{}", chromium.text());
    chromium.press("e", false);
    chromium.run(json!({"text": "Edited. "}), "type");
    chromium.tab_to(".waiting .edit button.main");
    chromium.press("Enter", true);
    assert!(chromium.text().contains("The memory was changed.") && chromium.text().contains("Edited. "));
    chromium.press("u", true);
    assert!(chromium.text().contains("The change was undone.") && !chromium.text().contains("Edited. "));
    chromium.press("r", true);
    assert!(chromium.text().contains("will not be learnt again"), "{}", chromium.text());
    chromium.press("u", true);
    chromium.press("a", true);
    // Search: the field has a keyboard shortcut.
    chromium.open(&browser, "/");
    chromium.press("/", false);
    chromium.run(json!({"text": "Fly.io"}), "type");
    chromium.press("Enter", true);
    chromium.tab_to("a.title");
    chromium.press("Enter", true);
    assert!(chromium.text().contains("Evidence"), "{}", chromium.text());
    chromium.tab_to(".edit summary");
    chromium.press("Enter", false);
    chromium.tab_to("textarea[name=content]");
    chromium.run(json!({"text": " Since November."}), "type");
    chromium.tab_to(".edit button.main");
    chromium.press("Enter", true);
    assert!(chromium.text().contains("The memory was changed.") && chromium.text().contains("Since November."));
    for (button, says) in [
        ("form[action$='/pin'] button", "The memory is pinned"),
        ("form[action$='/unpin'] button", "no longer pinned"),
        ("form[action$='/forget'] button", "The memory is forgotten."),
        ("form[action$='/restore'] button", "The memory is active again."),
    ] {
        chromium.tab_to(button);
        chromium.press("Enter", true);
        assert!(chromium.text().contains(says), "{button}: {}", chromium.text());
    }
    // Every node of the graph is a link.
    chromium.open(&browser, "/graph");
    chromium.tab_to(".graph a");
    chromium.press("Enter", true);
    assert!(chromium.text().contains("Evidence"), "{}", chromium.text());
}

#[test]
fn after_a_decision_the_focus_stays_at_its_place_in_the_inbox() {
    let desk = Desk::new();
    let texts = ["Anna drinks tea.", "The office is in Lisbon.", "Backups run at night.", "The cat is called Miso."];
    for text in texts {
        desk.json(&["remember", text]);
    }
    let database = rusqlite::Connection::open(desk.path("afterthought/memories.db")).unwrap();
    database.execute("UPDATE memories SET status = 'pending'", ()).unwrap();
    drop(database);
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    chromium.open(&browser, "/inbox");
    let row = |chromium: &mut Chromium, at: usize| {
        let script = format!("document.querySelectorAll('.waiting > li')[{at}].dataset.memory");
        chromium.evaluate(&script)
    };
    let focused = "document.activeElement.dataset.memory ?? ''";
    let (third, last) = (row(&mut chromium, 2), row(&mut chromium, 3));
    for _ in 0..3 {
        chromium.press("j", false);
    }
    for key in ["a", "r"] {
        chromium.press(key, true);
        assert_eq!(chromium.evaluate(focused), last, "{key}: the next row has taken its place");
        chromium.press("u", true);
        assert_eq!(chromium.evaluate(focused), third, "{key}: the restored row");
    }
    chromium.press("j", false);
    chromium.press("a", true);
    assert_eq!(chromium.evaluate(focused), third, "the last row");
}

/// Returns the texts on the page, except contents, names and code, that have a word in Latin letters.
const ENGLISH: &str = r#"(() => {
    const found = [], content = "code, kbd, .where, [lang=en], [lang=zh], [lang=''], select[name=namespace]";
    const isEnglish = (text) => /[A-Za-z]{2,}/.test(text.replace(/`[^`]*`|afterthought|claude-code:\d|(user\.)?residence|global|\b[0-9a-f]{8}(-[0-9a-f-]+)?\b|\b[a-z]+\.json\b/g, ""));
    const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const place = texts.currentNode.parentElement;
        if (!place.closest(content) && isEnglish(texts.currentNode.data)) found.push(texts.currentNode.data.trim());
    }
    for (const name of ["title", "aria-label", "placeholder", "alt"])
        for (const one of document.querySelectorAll(`[${name}]`))
            if (isEnglish(one.getAttribute(name))) found.push(one.getAttribute(name));
    return found;
})()"#;

#[test]
fn a_chinese_reader_meets_no_english_in_inbox_and_memory() {
    let desk = Desk::new();
    let log = |name: &str, day, words: &str| {
        desk.write(&format!("{name}/log.jsonl"), session(name, day, "/home/ana/店", &[words]));
    };
    log("1", 2, "我住在柏林。");
    desk.run(&["run", "1", "--extractor", "rules", "-q"]);
    desk.json(&["memory", "pin", desk.json(&["search", "柏林", "-n", "1"])[0]["id"].as_str().unwrap()]);
    log("2", 9, "我搬家了，现在住在波尔图。");
    let told = desk.run(&["run", "2", "--extractor", "rules", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    let Some((mut chromium, browser)) = entered(&desk, "zh") else { return };
    let mut seen = 0;
    let mut walk = |chromium: &mut Chromium, step: &str| {
        seen += 1;
        let found = chromium.evaluate(ENGLISH);
        assert_eq!(found, json!([]), "{step}");
    };
    let open = |chromium: &mut Chromium, path: &str| {
        chromium.run(json!({"address": format!("http://{}{path}", browser.address), "language": "zh"}), "open");
    };
    open(&mut chromium, "/inbox");
    assert!(chromium.text().contains("波尔图") && chromium.text().contains("等待的原因"), "{}", chromium.text());
    walk(&mut chromium, "inbox");
    for (key, leads) in
        [("j", false), ("e", false), ("Escape", false), ("a", true), ("u", true), ("r", true), ("u", true)]
    {
        chromium.press(key, leads);
        walk(&mut chromium, key);
    }
    let id = |part: &str| {
        let memories = desk.json(&["memory", "list", "--all"]);
        let found = memories.iter().find(|memory| memory["content"].as_str().unwrap().contains(part)).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    for path in ["", "/merge", "/quote?at=0"] {
        open(&mut chromium, &format!("/memory/{}{path}", id("柏林")));
        walk(&mut chromium, path);
    }
    open(&mut chromium, &format!("/memory/{}/merge?with={}", id("柏林"), id("波尔图")));
    walk(&mut chromium, "merge");
    open(&mut chromium, &format!("/erase?memory={}", id("波尔图")));
    walk(&mut chromium, "erase");
    open(&mut chromium, &format!("/memory/{}", id("柏林")));
    chromium.click(".edit summary", false);
    let secret = format!("document.querySelector('.edit textarea').value = '密码 sk-proj-{}'", "a1B2c3D4".repeat(6));
    chromium.evaluate(&secret);
    chromium.click(".edit button.main", true);
    assert!(chromium.text().contains("文本包含机密"), "{}", chromium.text());
    for path in ["/memory/00000000", "/runs/00000000", "/nowhere"] {
        open(&mut chromium, path);
        walk(&mut chromium, path);
    }
    for button in ["forget", "restore", "unpin", "pin"] {
        open(&mut chromium, &format!("/memory/{}", id("柏林")));
        chromium.click(&format!("form[action$='/{button}'] button"), true);
        walk(&mut chromium, button);
    }
    assert!(seen > 15);
}

#[test]
fn a_chinese_reader_meets_no_english_in_reports_of_evaluations() {
    let desk = Desk::new();
    let (smoke, consolidation) = ("smoke", "smoke-consolidation");
    let evaluations = [
        ("a", smoke, "rules"),
        ("b", smoke, "every-sentence"),
        ("c", consolidation, "rules"),
        ("d", consolidation, "none"),
    ];
    evaluated(&desk, &evaluations);
    desk.write("afterthought/evals/e.json", r#"{"form": "afterthought-eval-results", "version": 99}"#);
    let Some((mut chromium, browser)) = entered(&desk, "zh") else { return };
    for (path, says) in [
        ("/evals", "请更新"),
        ("/evals?a=a.json&all=yes", "找到的必需记忆"),
        ("/evals?a=b.json&all=yes", "未列出"),
        ("/evals?a=a.json&b=b.json&all=yes", "变差"),
        ("/evals?a=c.json&all=yes", "决定正确的记忆对"),
        ("/evals?a=d.json&all=yes", "期望"),
        ("/evals?a=c.json&b=d.json&all=yes", "置信区间"),
        ("/evals?a=a.json&b=c.json", "两次运行没有共同的用例"),
        ("/evals?a=e.json", "请更新"),
    ] {
        chromium.run(json!({"address": format!("http://{}{path}", browser.address), "language": "zh"}), "open");
        assert!(chromium.text().contains(says), "{path}: {}", chromium.text());
        assert_eq!(chromium.evaluate(ENGLISH), json!([]), "{path}");
    }
}

#[test]
fn pages_of_other_sites_and_rebound_names_get_nothing() {
    let desk = demo();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    let before = desk.memories();
    let path = format!("/memory/{}/forget", first_id(&desk_page(&desk, "Fly.io")));
    // Even a page that knew the token of the forms could not use it.
    let token = chromium.evaluate("document.querySelector('input[name=form_token]').value");
    let page = format!(
        "<!doctype html><form method=post action='http://{}{path}'><input name=form_token value={token}><button>x</button></form>\
         <iframe src='http://{0}/'></iframe>",
        browser.address
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // A browser opens connections in advance, on which it may never send a request.
            let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
            if stream.read(&mut [0; 4096]).is_err() {
                continue;
            }
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
        }
    });
    for host in ["127.0.0.1", "evil.example"] {
        chromium.run(json!({"address": format!("http://{host}:{port}/")}), "open");
        let read = format!(
            "fetch('http://{}/', {{credentials: 'include'}}).then((answer) => answer.text(), () => 'refused')",
            browser.address
        );
        assert_eq!(chromium.evaluate(&read), json!("refused"), "{host}");
        chromium.click("button", true);
        assert!(chromium.text().contains("This request came from another site"), "{host}: {}", chromium.text());
    }
    let rebound = browser.address.replace("127.0.0.1", "evil.example");
    for path in ["/", &browser.entry] {
        chromium.run(json!({"address": format!("http://{rebound}{path}")}), "open");
        assert!(chromium.text().contains("This request came from another site"), "{}", chromium.text());
    }
    assert_eq!(desk.memories(), before);
}

#[test]
fn pages_work_without_scripts_and_survive_the_end_of_the_server() {
    let desk = demo();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    for (path, says) in [("/?q=Fly.io", "Why here?"), ("/graph", "Links"), ("/analytics", "Learnt in each week")] {
        let address = format!("http://{}{path}", browser.address);
        chromium.run(json!({"address": address, "scripts": false}), "open");
        assert!(chromium.text().contains(says), "{path}: {}", chromium.text());
    }
    chromium.run(json!({"address": format!("http://{}/", browser.address), "scripts": true}), "open");
    let gone = "run `afterthought serve ui` again";
    assert!(!chromium.text().to_lowercase().contains(gone));
    drop(browser);
    chromium.evaluate("document.getElementById('q').value = 'tea'; document.getElementById('search').dispatchEvent(new Event('input'))");
    chromium.evaluate("new Promise((done) => setTimeout(done, 600))");
    let text = chromium.text();
    assert!(text.to_lowercase().contains(gone) && !text.contains("Last changed"), "{text}");
}

#[test]
fn an_open_page_shows_what_others_change() {
    let desk = demo();
    let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
    chromium.open(&browser, "/");
    chromium.evaluate("new Promise((done) => setTimeout(done, 1500))");
    desk.json(&["remember", "The office plant is a monstera."]);
    for _ in 0..40 {
        if chromium.text().contains("monstera") {
            return;
        }
        chromium.evaluate("new Promise((done) => setTimeout(done, 250))");
    }
    panic!("{}", chromium.text());
}

/// Memories of a larger project, for the screenshot of the graph.
const SHOP: &[(&str, &str, &str)] = &[
    ("hosting", "semantic", "The API is deployed on Fly.io, region ams."),
    ("hosting", "episodic", "The move from Heroku took one evening."),
    ("hosting", "semantic", "Backups go to object storage every night."),
    ("database", "semantic", "The database is Postgres 16."),
    ("database", "procedural", "Run db:migrate after the container was recreated."),
    ("database", "episodic", "A missing migration broke the bookings."),
    ("tests", "procedural", "Run the date tests with TZ=Europe/Amsterdam."),
    ("tests", "semantic", "End-to-end tests use a database of their own."),
    ("tests", "episodic", "Flaky tests came from the shared clock."),
    ("review", "procedural", "Never push to main, open a pull request."),
    ("review", "semantic", "Two people review changes of the schema."),
    ("payments", "semantic", "Payments go through Mollie."),
    ("payments", "episodic", "Refunds failed after the webhook was renamed."),
    ("payments", "procedural", "Test refunds in the sandbox first."),
];

/// Returns a desk with a larger project.
fn shop() -> Desk {
    let desk = Desk::new();
    let line = |(subject, kind, text): &(&str, &str, &str)| {
        json!({"type": kind, "category": "note", "title": text, "content": text, "subject": subject, "namespace": ["project", "shop"]})
            .to_string()
    };
    desk.write("shop.jsonl", SHOP.iter().map(line).collect::<Vec<_>>().join("\n"));
    let told = desk.run(&["import", "shop.jsonl", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    let id = |part: &str| desk.json(&["search", part, "-n", "1"]).remove(0)["id"].as_str().unwrap().to_owned();
    for (from, kind, to) in [
        ("missing migration broke", "supports", "db:migrate after the container"),
        ("Backups go to object storage", "related", "database is Postgres"),
        ("date tests with TZ", "related", "Flaky tests came"),
        ("Two people review", "related", "database is Postgres"),
        ("Refunds failed", "supports", "Test refunds in the sandbox"),
        ("Refunds failed", "related", "API is deployed"),
    ] {
        let told = desk.run(&["memory", "relate", &id(from), kind, &id(to), "-q"]);
        assert_eq!(told.code, 0, "{told:?}");
    }
    desk
}

/// Takes the screenshots for the guide if `AFTERTHOUGHT_UPDATE=1` is set.
#[test]
fn pictures_of_the_guide_exist() {
    let images = Path::new(ROOT).join("docs/images");
    let guide = std::fs::read_to_string(Path::new(ROOT).join("docs/guides/browser.md")).unwrap();
    let shown: Vec<PathBuf> =
        guide.split("](../images/").skip(1).map(|rest| images.join(rest.split(')').next().unwrap())).collect();
    assert!(shown.len() >= 4);
    if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
        let desk = contradicted();
        let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
        let project = every_page(&desk).into_iter().find(|path| path.starts_with("/project?")).unwrap();
        for (name, path, language, theme, height) in [
            ("search", "/?q=where+is+the+API+deployed", "en", "light", 760),
            ("project", project.as_str(), "en", "light", 900),
            ("inbox", "/inbox", "zh", "dark", 620),
            ("analytics", "/analytics", "en", "dark", 900),
        ] {
            picture(&mut chromium, &browser, path, (language, theme, height), &images.join(format!("{name}.png")));
        }
        let desk = shop();
        let Some((mut chromium, browser)) = entered(&desk, "en") else { return };
        picture(&mut chromium, &browser, "/graph", ("en", "light", 760), &images.join("graph.png"));
    }
    for image in shown {
        assert!(image.exists(), "{}", image.display());
    }
}

/// Takes a screenshot of the part that is visible without scrolling.
fn picture(chromium: &mut Chromium, browser: &Browser, path: &str, look: (&str, &str, u32), file: &Path) {
    let (address, (language, theme, height)) = (format!("http://{}{path}", browser.address), look);
    let options = json!({"address": address, "language": language, "theme": theme, "width": 1200, "height": height});
    chromium.run(options, "open");
    chromium.run(json!({"file": file, "whole": false}), "picture");
}

fn desk_page(desk: &Desk, part: &str) -> String {
    let found = desk.json(&["search", part, "-n", "1"]).remove(0);
    format!("href=\"/memory/{}\"", found["id"].as_str().unwrap())
}
