//! The command that starts an agent on a host.

use crate::control::Run;
use crate::plan::Host;
use std::process::Command;

/// What logs in to another host if the user names nothing else. It asks nothing, since nobody
/// would see the question, and gives up on a host that does not answer.
pub const SSH: &[&str] = &[
    "ssh",
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "LogLevel=ERROR",
];

/// The command that starts the agent of `host`. Like all that are started here it is to lead a
/// process group of its own, so that what a terminal sends (Ctrl-C) reaches the launcher
/// alone, which passes it on.
pub(crate) fn command(host: &Host, run: &Run) -> Command {
    let agent = run.agent.to_os();
    let mut command = match (host.is_here(), run.remote.split_first()) {
        (false, Some((program, words))) => {
            let mut command = Command::new(program);
            command.args(words).arg(&host.name);
            // A shell on the other host reads these words again.
            command.arg(quoted(&agent.to_string_lossy()));
            command
        }
        _ => Command::new(agent),
    };
    command.args(&run.agent_arguments);
    command
}

/// The same as a user would type it.
pub(crate) fn shown(host: &Host, run: &Run) -> String {
    format!("{} {} true", run.remote.join(" "), host.name)
}

/// A word that a shell leaves as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("/usr/bin/fathomp"), "/usr/bin/fathomp");
        for word in ["a b", "it's", "$HOME", "a\\b"] {
            let said = Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), word);
        }
    }
}
