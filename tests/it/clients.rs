//! Tests of the clients for Python and TypeScript against the real server, and of the files that are generated for them.

use std::path::Path;
use std::process::Command;

use crate::desk::Desk;
use crate::mcp::client::Http;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The folder in which `.ci/run` installs `clients/python/requirements.txt`.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients/python/bin/python");
/// The folder in which `.ci/run` installs the packages of the client for TypeScript.
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/typescript/node_modules");

/// Returns whether the packages of a client are installed; if they are required, their absence is an error.
#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
fn is_installed(path: &str) -> bool {
    let installed = Path::new(path).exists();
    let must_be = std::env::var_os("AFTERTHOUGHT_CLIENTS").is_some_and(|value| value == "required");
    assert!(installed || !must_be, "{path} is missing; .ci/run installs it");
    if !installed {
        eprintln!("skipped: {path} is missing; .ci/run installs it");
    }
    installed
}

fn finish(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {printed}");
    printed
}

#[test]
fn the_python_client_and_its_adapters_work_with_the_real_packages() {
    if !is_installed(PYTHON) {
        return;
    }
    let desk = Desk::new();
    let server = Http::start(&desk, &["--owner"], None);
    let mut command = Command::new(PYTHON);
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"])
        .current_dir(format!("{ROOT}/clients/python"));
    command.env("PYTHONPATH", format!("{ROOT}/clients/python/src")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("AFTERTHOUGHT_URL", server.base()).env("AFTERTHOUGHT_TOKEN", &server.token);
    let printed = finish(&mut command);
    assert!(printed.contains(" passed") && !printed.contains("skipped"), "{printed}");
}

#[test]
fn the_example_of_the_python_client_runs() {
    if !is_installed(PYTHON) {
        return;
    }
    let desk = Desk::new();
    let server = Http::start(&desk, &["--namespace", "project/shop"], None);
    let mut command = Command::new(PYTHON);
    command.arg(format!("{ROOT}/clients/python/example.py"));
    command.env("PYTHONPATH", format!("{ROOT}/clients/python/src")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("AFTERTHOUGHT_URL", server.base()).env("AFTERTHOUGHT_TOKEN", &server.token);
    let printed = finish(&mut command);
    assert!(printed.starts_with("contradict"), "{printed}");
    let brief = printed.rsplit_once("Go.").unwrap().0;
    assert!(printed.contains("Fly.io") && !brief.contains("deployed on Heroku.\n"), "{printed}");
}

#[test]
fn the_typescript_client_compiles_and_works() {
    if !is_installed(NODE) {
        return;
    }
    let desk = Desk::new();
    let client = format!("{ROOT}/clients/typescript");
    let generated = desk.path("openapi.ts");
    let program = |name: &str| format!("{NODE}/.bin/{name}");
    let mut generate = Command::new(program("openapi-typescript"));
    finish(generate.arg(format!("{ROOT}/clients/openapi.json")).arg("-o").arg(&generated).current_dir(&client));
    let [new, kept] =
        [generated, format!("{client}/src/openapi.ts").into()].map(|path| std::fs::read_to_string(path).unwrap());
    assert!(new == kept, "clients/typescript/src/openapi.ts is out of date; run `npm run generate`");
    finish(Command::new(program("tsc")).current_dir(&client));
    let server = Http::start(&desk, &["--owner"], None);
    let mut test = Command::new("node");
    test.args(["--test", "test/"]).current_dir(&client);
    test.env("AFTERTHOUGHT_URL", server.base()).env("AFTERTHOUGHT_TOKEN", &server.token);
    let printed = finish(&mut test);
    assert!(printed.contains("pass 3") && printed.contains("skipped 0"), "{printed}");
}
