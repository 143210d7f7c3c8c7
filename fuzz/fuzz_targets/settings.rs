//! User settings, project settings, and settings in the environment.
#![no_main]

use afterthought::config::{Config, DENIED_FILES, Folders, GuardSettings, Layer, Partial};
use afterthought_fuzz::folder;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let folder = folder();
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (user, project) = (folder.path().join("user.toml"), folder.path().join("afterthought.toml"));
    let is_project = bytes.len() % 2 == 1;
    std::fs::write(if is_project { &project } else { &user }, bytes).unwrap();
    let folders =
        Folders { user_file: user, default_db: folder.path().join("m.db"), state: folder.path().join("state") };
    if is_project {
        trust(&folders.state, &project, bytes);
    }
    let environment = |name: &str| (bytes.len() % 3 == 0 && name.starts_with("AFTERTHOUGHT_")).then(|| text.clone());
    let Ok(config) = Config::load(&folders, folder.path(), None, &environment, Partial::default()) else { return };
    assert!((1..=256).contains(&config.jobs.value) && (500..=200_000).contains(&config.window_tokens.value));
    assert!(config.timeout_seconds.value > 0);
    assert!(!config.categories.value.is_empty());
    if is_project {
        keeps_in(&config);
    }
});

/// Records a project's file as `project trust` does.
fn trust(state: &Path, file: &Path, bytes: &[u8]) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let place = file.canonicalize().unwrap();
    let name = hex(&Sha256::digest(place.as_os_str().as_encoded_bytes())[..16]);
    std::fs::create_dir_all(state.join("trusted")).unwrap();
    std::fs::write(state.join("trusted").join(name), format!("{}  x\n", hex(&Sha256::digest(bytes)))).unwrap();
}

/// Checks that a repository's settings affect neither where logs are sent nor where they are stored, and can only
/// exclude more.
fn keeps_in(config: &Config) {
    let closed = ["db", "window_tokens", "timeout_seconds", "base_url", "api_key_env", "max_cost", "max_tokens", "max_cost_per_day", "prices", "audit"];
    for (name, _, layer) in config.each() {
        let is_closed = closed.contains(&name) || name.starts_with("embedding.") || name.starts_with("memory.retention.");
        assert!(!(is_closed && matches!(layer, Layer::Project(_))), "{name}");
    }
    let (set, plain) = (config.guard.treatments(), GuardSettings::default());
    assert!(set.cards >= plain.cards && set.ibans >= plain.ibans && set.ids >= plain.ids);
    assert!(set.emails >= plain.emails && set.phones >= plain.phones && set.addresses >= plain.addresses);
    assert!(DENIED_FILES.iter().all(|name| config.guard.deny_files.value.iter().any(|one| one == name)));
}
