//! Support for tests of permissions. It runs the program as an unprivileged user, because tests often run as root, for
//! whom permissions do not apply.

use std::process::Command;

use super::world::World;

/// Returns the command, executed as the user `nobody` if the tests run as root and can change the user, and otherwise
/// unchanged. The program is copied to a place where everybody can run it, and the world's folder is made readable by
/// everybody.
#[cfg(unix)]
pub fn bound(world: &World, command: &Command) -> Command {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let copy = |program: &std::ffi::OsStr| {
        let mut other = Command::new(program);
        other.args(command.get_args()).env_clear();
        other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        other.current_dir(command.get_current_dir().unwrap_or(&world.path(".")));
        other
    };
    let is_root = fs::metadata(world.path(".")).unwrap().uid() == 0;
    let may_change = || Command::new("true").uid(NOBODY).gid(NOBODY).status().is_ok_and(|status| status.success());
    if !is_root || !may_change() {
        return copy(command.get_program());
    }
    fs::set_permissions(world.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let program = world.path("program");
    if !program.exists() {
        let own = command.get_program();
        fs::hard_link(own, &program).or_else(|_| fs::copy(own, &program).map(drop)).unwrap();
    }
    let mut bound = copy(program.as_os_str());
    bound.uid(NOBODY).gid(NOBODY);
    bound
}
