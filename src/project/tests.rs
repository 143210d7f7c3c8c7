//! Tests with the layouts that git creates, and the project of each path in these layouts.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A machine with a separate home folder.
struct Desk {
    folder: tempfile::TempDir,
    home: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("ana");
        fs::create_dir(&home).unwrap();
        Self { folder, home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Creates the git folder of a repository, such as `.git`.
    fn repository(&self, name: &str, remote: Option<&str>) {
        self.write(&format!("{name}/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(self.path(name).join("objects")).unwrap();
        let remote = remote.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
        self.write(&format!("{name}/config"), &format!("[core]\n\tbare = false\n{remote}"));
    }

    /// Creates a worktree of the repository with the git folder `git`.
    fn worktree(&self, git: &str, name: &str) {
        let inside = format!("{git}/worktrees/{}", name.replace('/', "-"));
        self.write(&format!("{inside}/HEAD"), "ref: refs/heads/other\n");
        self.write(&format!("{inside}/commondir"), "../..\n");
        self.write(&format!("{name}/.git"), &format!("gitdir: {}\n", self.path(&inside).display()));
    }

    /// Writes a settings file in a folder, and trusts the file.
    fn settings(&self, name: &str, text: &str) {
        self.write(&format!("{name}/afterthought.toml"), text);
        crate::config::trust(self.folder.path(), &self.path(name));
    }

    fn machine(&self) -> Machine {
        Machine { home: Some(self.home.clone()), trusted: TrustedFiles::in_state(self.folder.path()) }
    }

    fn sight(&self, name: &str) -> Option<ProjectSighting> {
        self.machine().sight_path(&self.path(name).to_string_lossy())
    }

    fn id(&self, name: &str) -> String {
        self.sight(name).unwrap().identity.id().replace(&*self.home.to_string_lossy(), "~")
    }

    fn log(&self, project: Option<&str>, repository: Option<&str>) -> Option<ProjectSighting> {
        let named = |text: Option<&str>| text.map(|text| text.replace('~', &self.home.to_string_lossy()));
        let transcript = Transcript { project: named(project), repository: named(repository), ..Transcript::default() };
        self.machine().sight(&transcript)
    }
}

const SHOP: &str = "git@github.com:ana/shop.git";

#[test]
fn folders_and_worktrees_belong_to_their_repository() {
    let desk = Desk::new();
    for (folder, remote, expected) in
        [("src/shop", Some(SHOP), "remote:github.com/ana/shop"), ("src/local", None, "folder:~/src/local")]
    {
        desk.repository(&format!("{folder}/.git"), remote);
        desk.worktree(&format!("{folder}/.git"), &format!("{folder}-wt/fix"));
        fs::create_dir_all(desk.path(&format!("{folder}/web/app"))).unwrap();
        for inside in ["", "/web/app", "/.git", "-wt/fix", "/web/gone/for/long"] {
            assert_eq!(desk.id(&format!("{folder}{inside}")), expected, "{folder}{inside}");
        }
    }
    assert_eq!(desk.sight("src/shop-wt/fix").unwrap().root, desk.sight("src/shop").unwrap().root);
    assert_eq!(desk.id("src/elsewhere"), "text:~/src/elsewhere");
}

#[test]
fn a_bare_repository_and_its_worktrees_are_one() {
    let desk = Desk::new();
    desk.repository("shop/.bare", None);
    desk.write("shop/.git", "gitdir: ./.bare\n");
    desk.worktree("shop/.bare", "shop/main");
    desk.repository("srv/api.git", None);
    for (path, expected) in [
        ("shop/main", "folder:~/shop"),
        ("shop", "folder:~/shop"),
        ("shop/.bare", "folder:~/shop"),
        ("srv/api.git", "folder:~/srv/api.git"),
    ] {
        assert_eq!(desk.id(path), expected, "{path}");
    }
    assert_eq!(desk.sight("srv/api.git").unwrap().identity.name, "api");
}

#[test]
#[cfg(unix)]
fn a_file_or_link_cannot_claim_another_repository() {
    let desk = Desk::new();
    desk.repository("private/.git", Some(SHOP));
    desk.write("claims/.git", &format!("gitdir: {}\n", desk.path("private/.git").display()));
    std::fs::create_dir_all(desk.path("linked")).unwrap();
    std::os::unix::fs::symlink(desk.path("private/.git"), desk.path("linked/.git")).unwrap();
    desk.repository("common/.git", None);
    desk.write("common/.git/commondir", "../../private/.git\n");
    desk.write("tree/.git", "gitdir: ../elsewhere\n");
    desk.write("elsewhere/commondir", "../private/.git\n");
    desk.write("elsewhere/gitdir", &format!("{}\n", desk.path("other/.git").display()));
    for name in ["claims", "linked", "common", "tree"] {
        assert_ne!(desk.id(name), "remote:github.com/ana/shop", "{name}");
    }
    assert_eq!(desk.id("private"), "remote:github.com/ana/shop");
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let desk = Desk::new();
    desk.repository("shop/.git", Some(SHOP));
    desk.repository("shop/.git/modules/lib", Some("https://github.com/ben/lib"));
    desk.write("shop/lib/.git", "gitdir: ../.git/modules/lib\n");
    desk.repository("shop/.git/modules/own", None);
    desk.write("shop/own/.git", "gitdir: ../.git/modules/own\n");
    assert_eq!(desk.id("shop/lib"), "remote:github.com/ben/lib");
    assert_eq!(desk.id("shop/own"), "folder:~/shop/.git/modules/own");
    assert_eq!(desk.id("shop"), "remote:github.com/ana/shop");
}

#[test]
fn clones_are_one_and_forks_and_lone_repositories_are_not() {
    let desk = Desk::new();
    desk.repository("a/shop/.git", Some("https://ana:Maple9Syrup@github.com/Ana/Shop"));
    desk.repository("b/shop/.git", Some("ssh://git@github.com:22/ana/shop/"));
    desk.repository("fork/shop/.git", Some("git@github.com:ben/shop.git"));
    desk.repository("c/shop/.git", None);
    desk.repository("d/shop/.git", None);
    desk.repository("e/shop/.git", Some(&desk.path("c/shop").to_string_lossy()));
    desk.repository("f/shop/.git", Some(&desk.path("a/shop").to_string_lossy()));
    desk.repository("loop/.git", Some("."));
    assert_eq!(desk.id("a/shop"), desk.id("b/shop"));
    assert_eq!(desk.id("f/shop"), desk.id("a/shop"), "a clone of a clone");
    assert_eq!(desk.id("e/shop"), desk.id("c/shop"), "a clone of a repository without remote");
    assert_eq!(desk.id("fork/shop"), "remote:github.com/ben/shop");
    assert_ne!(desk.id("c/shop"), desk.id("d/shop"));
    assert_eq!(desk.id("loop"), "folder:~/loop");
    let spelled = format!("{:?}", desk.sight("a/shop"));
    assert!(!spelled.contains("Maple"), "{spelled}");
    let namespaces: Vec<_> = ["c/shop", "d/shop", "fork/shop"]
        .map(|path| desk.sight(path).unwrap().identity.namespaces().next().unwrap().to_string())
        .into();
    assert!(namespaces.iter().all(|one| one.starts_with("project/shop-")), "{namespaces:?}");
    assert!(namespaces[0] != namespaces[1] && namespaces[1] != namespaces[2], "{namespaces:?}");
}

#[test]
fn home_and_root_are_no_project_and_no_repository_of_what_is_in_them() {
    let desk = Desk::new();
    desk.repository(".git", Some("git@github.com:ana/dotfiles.git"));
    desk.settings(".", "project = \"everything\"");
    assert_eq!(desk.sight(""), None);
    for text in ["/", "/home/ana", "/Users/ben/", "/root", "C:\\", "C:\\Users\\Ana", "c:/users/ana/", " ", "//"] {
        assert_eq!(desk.log(Some(text), None), None, "{text}");
    }
    assert_eq!(desk.id("notes"), "text:~/notes");
    assert_eq!(desk.log(Some("~"), Some(SHOP)).unwrap().identity.id(), "remote:github.com/ana/shop");
    assert_eq!(desk.folder.path().join("ana").canonicalize().unwrap(), desk.home);
}

#[test]
fn a_path_of_another_system_is_a_name() {
    let desk = Desk::new();
    let text = if cfg!(windows) { "/src/Shop" } else { "C:\\src\\Shop" };
    let sighting = desk.log(Some(&format!("{text}\\")), None).unwrap();
    let key = if cfg!(windows) { text } else { "c:\\src\\shop" };
    assert_eq!((sighting.identity.id(), sighting.root), (format!("text:{key}"), None));
    assert_eq!(sighting.identity.name, "Shop");
    let share = desk.log(Some("\\\\nas\\src\\Shop"), None).unwrap();
    assert_eq!(share.identity.basis, Basis::Text);
}

#[test]
fn a_folder_on_windows_has_one_identity_however_it_is_spelled() {
    let desk = Desk::new();
    let spellings = [
        r"C:\Users\Ana\code\Shop",
        r"c:\users\ana\CODE\shop\",
        "C:/Users/Ana/code/Shop",
        r"\\?\C:\Users\Ana\code\Shop",
        "file:///c%3A/Users/Ana/code/Shop",
        "file:///C:/Users/Ana/code/shop/",
    ];
    for text in spellings {
        let sighting = desk.log(Some(text), None).unwrap();
        let key = r"c:\users\ana\code\shop";
        assert_eq!((sighting.identity.id(), sighting.path.as_deref()), (format!("text:{key}"), Some(key)), "{text}");
        assert_eq!(sighting.identity.name.to_lowercase(), "shop", "{text}");
    }
    assert_eq!(identifying("/Src/Shop"), "/Src/Shop", "other systems distinguish upper and lower case");
    assert_eq!(identifying("a:b"), "a:b", "a channel is not a path");
    assert_eq!(identifying(r"\\NAS/Src"), r"\\nas\src");
}

#[test]
fn an_address_in_the_log_counts_for_more_than_what_stands_at_its_path_here() {
    let desk = Desk::new();
    desk.repository("shed/.git", Some("git@github.com:ben/other.git"));
    desk.settings("shed", "project = \"other\"");
    let seen = desk.log(Some("~/shed"), Some("https://tok@github.com/ana/shop")).unwrap();
    assert_eq!((seen.identity.id().as_str(), seen.path, seen.root), ("remote:github.com/ana/shop", None, None));
    let same = desk.log(Some("~/shed"), Some("https://github.com/ben/other")).unwrap();
    assert_eq!(same.identity.id(), "name:other");
    let alone = desk.log(None, Some(SHOP)).unwrap();
    assert_eq!(alone.identity.id(), "remote:github.com/ana/shop");
    let url = desk.log(Some(SHOP), None).unwrap();
    assert_eq!(url.identity.id(), "remote:github.com/ana/shop");
    assert_eq!(desk.log(None, None), None);
    assert_eq!(desk.log(Some("file://~/shed/"), None).unwrap().identity.id(), "name:other");
}

#[test]
fn a_person_names_a_project_and_a_file_that_cannot_be_read_is_told() {
    let desk = Desk::new();
    desk.settings("acme", "project = \"acme\"\nbase_url = \"http://elsewhere\"");
    desk.repository("acme/api/.git", Some(SHOP));
    desk.repository("acme/web/.git", None);
    desk.settings("acme/web", "project = [");
    assert_eq!(desk.id("acme/api"), "name:acme");
    let web = desk.sight("acme/web").unwrap();
    assert_eq!(web.identity.basis, Basis::Folder);
    assert!(web.warning.unwrap().contains("acme/web/afterthought.toml: line 1"));
    assert_eq!(desk.sight("acme").unwrap().identity.namespaces().count(), 1);
    desk.write("acme/afterthought.toml", "project = \"other\"");
    let changed = desk.sight("acme/api").unwrap();
    assert_eq!(changed.identity.id(), "remote:github.com/ana/shop");
    assert!(changed.warning.unwrap().contains("`afterthought project trust`"));
}

#[test]
fn files_that_look_like_a_bare_repository_make_no_other_project_of_a_folder() {
    let desk = Desk::new();
    desk.repository("foreign/.git", Some("git@github.com:eve/foreign.git"));
    desk.repository("foreign/docs", Some(SHOP));
    fs::create_dir_all(desk.path("foreign/docs/deeper")).unwrap();
    for folder in ["foreign/docs", "foreign/docs/deeper"] {
        assert_eq!(desk.id(folder), "remote:github.com/eve/foreign", "{folder}");
    }
}

#[test]
fn what_is_no_repository_is_passed_by() {
    let desk = Desk::new();
    desk.repository("mono/.git", None);
    for (name, text) in [("mono/a/.git", "gitdir: nowhere"), ("mono/b/.git", "\u{0}\u{1}"), ("mono/c/.git", "")] {
        desk.write(name, text);
        assert_eq!(desk.id(name.trim_end_matches("/.git")), "folder:~/mono", "{name}");
    }
    fs::create_dir_all(desk.path("mono/d/.git")).unwrap();
    assert_eq!(desk.id("mono/d"), "folder:~/mono");
}

#[test]
fn a_repository_keeps_its_mark_wherever_it_stands() {
    let desk = Desk::new();
    desk.repository("a/.git", None);
    assert_eq!(desk.sight("a").unwrap().mark, None);
    desk.write("a/.git/logs/HEAD", "0 1f Ana <ana@example.org> 1767225600 +0000\tcommit (initial): Begin\nmore\n");
    let mark = desk.sight("a").unwrap().mark;
    desk.write("a/.git/logs/HEAD", "0 1f Ana <ana@example.org> 1767225600 +0000\tcommit (initial): Begin\nother\n");
    fs::rename(desk.path("a"), desk.path("b")).unwrap();
    assert!(mark.is_some() && mark == desk.sight("b").unwrap().mark);
    assert!(is_repository(&desk.path("b").to_string_lossy()) && !is_repository(&desk.path("a").to_string_lossy()));
}

#[test]
fn a_worktree_whose_repository_was_moved_still_knows_where_it_was() {
    let desk = Desk::new();
    desk.repository("shop/.git", None);
    desk.worktree("shop/.git", "fix");
    fs::rename(desk.path("shop"), desk.path("moved")).unwrap();
    let sighting = desk.sight("fix").unwrap();
    assert_eq!(Path::new(&sighting.root.unwrap()), desk.path("shop"));
    assert_eq!(sighting.identity.id().replace(&*desk.home.to_string_lossy(), "~"), "folder:~/shop");
}

#[test]
fn only_the_name_of_the_project_is_read() {
    assert_eq!(name_in("project = \" Shop \"\nmodel = 3\nunheard = true"), Ok(Some("Shop".into())));
    assert_eq!(name_in("jobs = 2"), Ok(None));
    for (text, part) in [
        ("project = ", "line 1"),
        ("jobs = 2\nproject", "line 2"),
        ("project = 3", "in quotes"),
        ("project = ''", "is not a valid name"),
        ("project = '../x'", "is not a valid name"),
        ("project = 'shop-c56680'", "ends like a generated project name"),
        ("project = 'shop-C56680c56680'", "ends like a generated project name"),
        ("project = \"a\\nb\"", "is not a valid name"),
    ] {
        assert!(name_in(text).unwrap_err().contains(part), "{text}");
    }
}

#[test]
fn a_log_that_a_program_keeps_in_a_project_belongs_to_it() {
    let desk = Desk::new();
    desk.repository("shop/.git", Some("git@github.com:acme/shop.git"));
    let logs = ["shop/.aider.chat.history.md", "shop/app/.aider.chat.history.md", "loose/.specstory/history/a.md"];
    for name in logs.iter().chain(&["shop/notes/export.md", ".aider.chat.history.md"]) {
        desk.write(name, "x");
    }
    let project = |name: &str| {
        let transcript = Transcript { origin: desk.path(name).display().to_string(), ..Transcript::default() };
        desk.machine().sight(&transcript).map(|sighting| sighting.identity.name)
    };
    assert_eq!(logs.map(|name| project(name).unwrap()), ["shop", "shop", "loose"]);
    assert_eq!(project("shop/notes/export.md"), None, "an export may be stored anywhere");
    assert_eq!(project(".aider.chat.history.md"), None, "the home folder is no project");
    assert_eq!(project("gone/.aider.chat.history.md"), None);
}

#[test]
fn the_repository_of_a_pull_request_counts_if_nothing_better_is_known() {
    let desk = Desk::new();
    desk.repository("shop/.git", Some("git@github.com:ben/shop.git"));
    fs::create_dir(desk.path("notes")).unwrap();
    let id = |project: Option<&str>, repository: Option<&str>| {
        let named = |text: &str| text.replace('~', &desk.home.to_string_lossy());
        let transcript = Transcript {
            project: project.map(named),
            repository: repository.map(str::to_owned),
            linked_repository: Some("https://github.com/ana/shop".into()),
            ..Transcript::default()
        };
        let sighting = desk.machine().sight(&transcript).unwrap();
        (sighting.identity.id().replace(&*desk.home.to_string_lossy(), "~"), sighting.is_claim)
    };
    let linked = "remote:github.com/ana/shop".to_owned();
    // Other logs of the folder do not follow, because a pull request may be to another repository.
    assert_eq!(id(Some("~/gone/lively-fox"), None), (linked.clone(), false));
    assert_eq!(id(Some("~"), None), (linked.clone(), false));
    assert_eq!(id(None, None), (linked, false));
    // A fork, a folder without a repository, and the repository in the log itself.
    assert_eq!(id(Some("~/shop"), None).0, "remote:github.com/ben/shop");
    assert_eq!(id(Some("~/shop/gone/lively-fox"), None).0, "remote:github.com/ben/shop");
    assert_eq!(id(Some("~/notes"), None).0, "text:~/notes");
    assert_eq!(id(Some("~/gone/other"), Some("git@github.com:cleo/other.git")).0, "remote:github.com/cleo/other");
}
