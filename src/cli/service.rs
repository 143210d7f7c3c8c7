//! `log service`: installs a systemd user unit or a launchd agent that runs `log watch`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::json;

use super::agent::program_words;
use super::args::{Context, home};
use super::exit::ExitStatus;

/// A program that starts and restarts services.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Manager {
    Systemd,
    Launchd,
}

/// Install a service that runs `log watch`
///
/// Writes a systemd user unit or a launchd agent, and prints the command that starts it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought log service systemd --dry-run -- --max-cost-per-day 0.50")]
pub(crate) struct ServiceArgs {
    /// Program that runs the service
    #[arg(value_enum)]
    manager: Manager,
    /// Print the file, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Options for `log watch`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

pub(crate) fn run(args: &ServiceArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    // Service managers start programs with a minimal `PATH` and a different working directory, so paths are absolute.
    let mut words = program_words(context)?;
    words.extend(["log", "watch"].map(str::to_owned));
    words.extend(args.options.iter().cloned());
    let (text, path, next) = match args.manager {
        Manager::Systemd => (unit(&words), unit_path()?, "systemctl --user enable --now afterthought"),
        Manager::Launchd => {
            let path = home()?.join("Library/LaunchAgents/dev.afterthought.watch.plist");
            (agent(&words), path, "launchctl load -w ~/Library/LaunchAgents/dev.afterthought.watch.plist")
        }
    };
    if args.dry_run {
        context.out.line(text.trim_end())?;
        return Ok(ExitStatus::Success);
    }
    // The file may have been edited, for example to add a key to the environment.
    if path.exists() && !args.force {
        bail!("{} already exists; add --force to replace it", path.display());
    }
    write(&path, &text)?;
    context.out.show(&json!({"wrote": path, "next": next}), format_args!("wrote {}", path.display()))?;
    if !context.out.is_json() {
        context.out.note(format_args!(
            "start it with `{next}`; the API key of the model must be set in the service's environment"
        ));
    }
    Ok(ExitStatus::Success)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn unit_path() -> anyhow::Result<PathBuf> {
    // The specification treats an empty variable as unset.
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = config.map_or_else(|| home().map(|home| home.join(".config")), Ok)?;
    Ok(config.join("systemd/user/afterthought.service"))
}

fn unit(words: &[String]) -> String {
    let quoted = |word: &String| {
        // systemd expands `%` as a specifier and `$` as a variable in `ExecStart`; both are doubled to stay literal.
        let word = word.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
        if word.contains([' ', '\t', '\'', '"', ';']) { format!("\"{word}\"") } else { word }
    };
    let command = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    format!(
        "[Unit]\nDescription=Extract memories from finished conversations\n\n[Service]\nExecStart={command}\nRestart=on-failure\n\
         RestartSec=60\nNice=10\nIOSchedulingClass=idle\nTimeoutStopSec=180\n\n[Install]\nWantedBy=default.target\n"
    )
}

fn agent(words: &[String]) -> String {
    // A property list is XML, in which these characters are markup.
    let escaped = |word: &String| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let arguments = words.iter().map(|word| format!("        <string>{}</string>\n", escaped(word)));
    let arguments = arguments.collect::<Vec<_>>().concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n    <key>Label</key>\n    \
         <string>dev.afterthought.watch</string>\n    <key>ProgramArguments</key>\n    <array>\n{arguments}    </array>\n    \
         <key>RunAtLoad</key>\n    <true/>\n    <key>KeepAlive</key>\n    <dict>\n        <key>SuccessfulExit</key>\n        \
         <false/>\n    </dict>\n    <key>ProcessType</key>\n    <string>Background</string>\n    <key>LowPriorityIO</key>\n    \
         <true/>\n    <key>Nice</key>\n    <integer>10</integer>\n</dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_spaces_and_signs_survive() {
        let words = ["/a b/afterthought".to_owned(), "watch".to_owned(), "100%".to_owned(), "<&>".to_owned()];
        assert!(unit(&words).contains("ExecStart=\"/a b/afterthought\" watch 100%% <&>\n"), "{}", unit(&words));
        assert!(agent(&words).contains("<string>&lt;&amp;&gt;</string>"));
    }
}
