//! Runs whose agents are started by other agents, through a script that stands for `ssh`.

use crate::roles::{NOT_LAUNCHED, RUN_FAILED};
use crate::setting::{Setting, await_lines};
use fathomp_requirements::tests;
use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Other names of this machine, which are not its own.
const SEVEN: &str = "127.0.0.2,127.0.0.3,127.0.0.4:2,127.0.0.5,127.0.0.6,127.0.0.7,127.0.0.8";

pub(crate) fn trials() -> Vec<Trial> {
    tests![
        agents_start_agents,
        ends_of_agents_below_are_told_of,
        a_host_below_that_cannot_be_reached_is_named,
    ]
    .into()
}

fn agents_start_agents() {
    let setting = Setting::new();
    let ssh = format!("ssh={}", setting.ssh());
    let left = setting.run(SEVEN, &[&ssh, "fan-out=2"], "meet exchange first exit 4");
    assert_eq!((left.code, left.stderr.as_str()), (Some(4), ""), "{left:?}");
    assert_eq!(left.lines().len(), 7);
    assert!(
        left.stdout.contains("host 2 (127.0.0.4): 12 wires"),
        "{left:?}"
    );
}

fn ends_of_agents_below_are_told_of() {
    let setting = Setting::new();
    let ssh = format!("ssh={}", setting.ssh());
    let mut command = setting.command(SEVEN, &[&ssh, "fan-out=2"], "meet print ready pause");
    let mut child = command.spawn().unwrap();
    await_lines(&mut child, 7);
    // An agent whose launcher is another agent.
    let agents = setting.numbers("agent");
    assert_eq!(agents.len(), 7);
    let below = agents.iter().find(|agent| {
        let stat = std::fs::read_to_string(format!("/proc/{agent}/stat")).unwrap();
        let parent = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split(' ')
            .nth(2)
            .unwrap()
            .to_owned();
        agents.iter().any(|other| other.to_string() == parent)
    });
    kill(Pid::from_raw(*below.unwrap()), Signal::SIGKILL).unwrap();
    let left = setting.finish(child);
    left.failed(RUN_FAILED, &["host 127.0.0.", "signal 9 (SIGKILL)"]);
}

fn a_host_below_that_cannot_be_reached_is_named() {
    let setting = Setting::new();
    let script = setting.script(
        "ssh",
        "#!/bin/sh\nif [ $1 = 127.0.0.5 ]; then echo 'ssh: no route to it' >&2; exit 255; fi\nshift\nexec sh -c \"exec $*\"\n",
    );
    let ssh = format!("ssh={script}");
    let left = setting.run(SEVEN, &[&ssh, "fan-out=2"], "meet exchange");
    left.failed(
        NOT_LAUNCHED,
        &[
            "host 127.0.0.5: ",
            "exit code 255 (ssh: no route to it)",
            "check that",
        ],
    );
}
