//! Runs that end in another way than well: what is said, which code is left, and that no
//! process is.

use crate::roles::{NOT_LAUNCHED, RUN_FAILED};
use crate::setting::{Setting, await_lines, host_program};
use fathomp_requirements::tests;
use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::Child;

const THREE: &str = "localhost,127.0.0.1:2,::1";

pub(crate) fn trials() -> Vec<Trial> {
    tests![
        a_program_that_dies_on_one_host_ends_all,
        a_program_that_exits_on_one_host_ends_all,
        a_node_may_say_why_the_run_has_failed,
        an_agent_that_dies_ends_all,
        an_agent_that_is_stopped_ends_all,
        a_program_that_is_stopped_is_told_of_and_may_go_on,
        a_supervisor_that_dies_ends_all,
        a_launcher_that_dies_ends_all,
        a_host_that_cannot_be_reached_is_named,
        an_agent_of_another_version_is_named,
        what_answers_but_is_no_agent_is_named,
        a_host_without_the_directory_or_the_program_is_named,
        programs_that_never_become_nodes_are_named,
        a_program_that_ends_without_becoming_a_node_is_named,
        a_stop_signal_reaches_programs_and_is_enforced,
        nothing_is_left_that_programs_leave_behind,
        a_reader_that_goes_away_ends_programs_as_usual,
        a_full_disk_is_named,
        a_program_that_talks_nonsense_is_named,
        two_programs_at_a_time_are_refused,
        a_program_that_cannot_be_started_is_named,
    ]
    .into()
}

/// A run in which all programs wait.
fn waiting(setting: &Setting) -> Child {
    let mut command = setting.command(THREE, &[], "meet ignore print ready pause");
    let mut child = command.spawn().unwrap();
    assert_eq!(await_lines(&mut child, 3), ["ready"; 3]);
    child
}

fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

fn a_program_that_dies_on_one_host_ends_all() {
    let setting = Setting::new();
    let left = setting.run(THREE, &[], "meet on 1 kill 11 pause");
    left.failed(
        RUN_FAILED,
        &["host 127.0.0.1: its program was killed by signal 11"],
    );
    let left = setting.run(THREE, &[], "meet first kill 9 pause");
    left.failed(
        128 + 9,
        &["host localhost: its program was killed by signal 9"],
    );
}

fn a_program_that_exits_on_one_host_ends_all() {
    let setting = Setting::new();
    let left = setting.run(THREE, &[], "meet on 2 exit 5 pause");
    left.failed(RUN_FAILED, &["host ::1: its program ended by exit code 5"]);
    // All of them do: that is how programs end.
    let left = setting.run(THREE, &[], "meet exchange exit 5");
    assert_eq!((left.code, left.stderr.as_str()), (Some(5), ""), "{left:?}");
}

fn a_node_may_say_why_the_run_has_failed() {
    let left = Setting::new().run(THREE, &[], "meet on 1 report 2 broken on 1 kill 6 pause");
    left.failed(RUN_FAILED, &["node 2 (host 127.0.0.1): broken"]);
}

fn an_agent_that_dies_ends_all() {
    for number in 0..3 {
        let setting = Setting::new();
        let child = waiting(&setting);
        signal(setting.numbers("agent")[number], Signal::SIGKILL);
        let left = setting.finish(child);
        left.failed(RUN_FAILED, &["its agent ended by signal 9 (SIGKILL)"]);
    }
}

fn an_agent_that_is_stopped_ends_all() {
    let setting = Setting::new();
    let child = waiting(&setting);
    signal(setting.numbers("agent")[1], Signal::SIGSTOP);
    let left = setting.finish(child);
    left.failed(RUN_FAILED, &["it has not answered for 3 s"]);
}

fn a_program_that_is_stopped_is_told_of_and_may_go_on() {
    let setting = Setting::new();
    let mut child = waiting(&setting);
    let path = host_program().display().to_string();
    let mut programs = setting.processes().into_iter();
    let (first, _) = programs.find(|(_, line)| line.starts_with(&path)).unwrap();
    signal(first, Signal::SIGSTOP);
    let said = await_complaint(&mut child);
    let told = format!("the program's process {first} was stopped by signal 19");
    assert!(
        said.starts_with("fathomp: host ") && said.contains(&told),
        "{said}"
    );
    signal(first, Signal::SIGCONT);
    signal(first, Signal::SIGKILL);
    let left = setting.finish(child);
    // The first host's program ends the run with its own status, as it does on one machine.
    let code = match said.starts_with("fathomp: host localhost: ") {
        true => 128 + 9,
        false => RUN_FAILED,
    };
    left.failed(code, &["signal 9"]);
}

/// The next line of standard error.
fn await_complaint(child: &mut Child) -> String {
    let stderr = child.stderr.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while stderr.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

fn a_supervisor_that_dies_ends_all() {
    let setting = Setting::new();
    let child = waiting(&setting);
    signal(setting.numbers("supervisor")[0], Signal::SIGKILL);
    let left = setting.finish(child);
    left.failed(
        RUN_FAILED,
        &["the process that keeps the program ended by signal 9"],
    );
}

fn a_launcher_that_dies_ends_all() {
    let setting = Setting::new();
    let mut child = waiting(&setting);
    child.kill().unwrap();
    setting.finish(child);
}

fn a_host_that_cannot_be_reached_is_named() {
    let setting = Setting::new();
    let hosts = "localhost,nowhere";
    let script = setting.script("ssh", "#!/bin/sh\necho no such host: $1 >&2\nexit 255\n");
    let left = setting.run(hosts, &[&format!("ssh={script}")], "meet");
    left.failed(
        NOT_LAUNCHED,
        &["host nowhere: ", "(no such host: nowhere)", "nowhere true"],
    );
    let left = setting.run(hosts, &["ssh=/no/such/command"], "meet");
    left.failed(
        NOT_LAUNCHED,
        &["host nowhere: cannot start /no/such/command"],
    );
    let script = setting.script(
        "ssh",
        "#!/bin/sh\necho sh: fathomp: not found >&2\nexit 127\n",
    );
    let left = setting.run(hosts, &[&format!("ssh={script}")], "meet");
    left.failed(
        NOT_LAUNCHED,
        &["host nowhere: fathomp cannot be started there (sh: fathomp"],
    );
    let script = setting.script("ssh", "#!/bin/sh\nexec sleep 1000\n");
    let options = [&format!("ssh={script}")[..], "patience=1"];
    let left = setting.run(hosts, &options, "meet");
    left.failed(
        NOT_LAUNCHED,
        &["host nowhere: no agent was ready within 1 s"],
    );
}

fn an_agent_of_another_version_is_named() {
    let setting = Setting::new();
    let script = setting.script(
        "ssh",
        "#!/bin/sh\nshift\necho Welcome\nTEST_VERSION='2 other' exec \"$@\"\n",
    );
    let left = setting.run("localhost,other", &[&format!("ssh={script}")], "meet");
    left.failed(
        NOT_LAUNCHED,
        &["host other: it has fathomp 2 other, and here it is 1 test"],
    );
}

fn what_answers_but_is_no_agent_is_named() {
    let setting = Setting::new();
    let script = setting.script("ssh", "#!/bin/sh\nexec yes\n");
    let left = setting.run("localhost,other", &[&format!("ssh={script}")], "meet");
    left.failed(
        NOT_LAUNCHED,
        &["host other: what answered is no agent of fathomp"],
    );
    // An agent whose words somebody else's are mixed into.
    let script = setting.script("ssh", "#!/bin/sh\nshift\nsh -c \"$*\"\n");
    let mixed = setting.script(
        "mixed",
        &format!("#!/bin/sh\n(sleep 0.3; cat /bin/sh) & exec {script} \"$@\"\n"),
    );
    let left = setting.run("localhost,other", &[&format!("ssh={mixed}")], "meet pause");
    let code = u8::try_from(left.code.unwrap()).unwrap();
    assert!([NOT_LAUNCHED, RUN_FAILED].contains(&code), "{left:?}");
    left.failed(
        code,
        &["host other: what came over the connection makes no sense"],
    );
}

fn a_host_without_the_directory_or_the_program_is_named() {
    let setting = Setting::new();
    let left = setting.run("localhost,127.0.0.1", &["directory=/no/such/place"], "meet");
    left.failed(NOT_LAUNCHED, &["there is no directory /no/such/place"]);
    let gone = setting.script("gone", "#!/bin/sh\n");
    let script = setting.script(
        "ssh",
        &format!("#!/bin/sh\nshift\nmv {gone} {gone}-not\nexec \"$@\"\n"),
    );
    let mut command = setting.command("other", &[&format!("ssh={script}")], "");
    let words: Vec<_> = command.get_args().map(|word| word.to_owned()).collect();
    let mut other = std::process::Command::new(command.get_program());
    other.args(&words[..words.len() - 1]).arg(&gone);
    command = other;
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let left = setting.finish(command.spawn().unwrap());
    left.failed(
        NOT_LAUNCHED,
        &["host other: there is no program", "copy it"],
    );
}

fn programs_that_never_become_nodes_are_named() {
    let left = Setting::new().run(THREE, &["patience=2"], "others pause meet pause");
    left.failed(
        RUN_FAILED,
        &["hosts 127.0.0.1, ::1: the program did not become a node within 2 s"],
    );
}

fn a_program_that_ends_without_becoming_a_node_is_named() {
    let left = Setting::new().run(THREE, &[], "others exit 0 meet pause");
    left.failed(RUN_FAILED, &["its program ended without becoming a node"]);
    // None does: nothing is wrong with that.
    Setting::new().run(THREE, &[], "print hello").well();
}

fn a_stop_signal_reaches_programs_and_is_enforced() {
    let setting = Setting::new();
    let mut command = setting.command(THREE, &[], "meet print ready pause");
    let mut child = command.spawn().unwrap();
    await_lines(&mut child, 3);
    signal(i32::try_from(child.id()).unwrap(), Signal::SIGINT);
    let left = setting.finish(child);
    assert_eq!(
        (left.code, left.stderr.as_str()),
        (Some(130), ""),
        "{left:?}"
    );
    // These ignore it.
    let child = waiting(&setting);
    signal(i32::try_from(child.id()).unwrap(), Signal::SIGTERM);
    let left = setting.finish(child);
    assert_eq!(left.stderr, "", "{left:?}");
    assert!(matches!(left.code, Some(137 | 143)), "{left:?}");
}

fn nothing_is_left_that_programs_leave_behind() {
    let left = Setting::new().run(THREE, &[], "meet daemon exchange");
    left.well();
    assert_eq!(left.lines().len(), 3);
}

fn a_reader_that_goes_away_ends_programs_as_usual() {
    let setting = Setting::new();
    let mut command = setting.command(THREE, &[], "spam 100000000");
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    drop(stdout);
    let left = setting.finish(child);
    assert_eq!(
        (left.code, left.stderr.as_str()),
        (Some(128 + 13), ""),
        "{left:?}"
    );
}

fn a_full_disk_is_named() {
    let setting = Setting::new();
    let mut command = setting.command(THREE, &[], "meet print hello pause");
    command.stdout(std::fs::File::create("/dev/full").unwrap());
    let left = setting.finish(command.spawn().unwrap());
    left.failed(
        RUN_FAILED,
        &["cannot write to standard output: No space left on device"],
    );
}

fn a_program_that_talks_nonsense_is_named() {
    let left = Setting::new().run(THREE, &[], "meet others nonsense pause");
    left.failed(
        RUN_FAILED,
        &["said something to its agent that makes no sense"],
    );
}

fn two_programs_at_a_time_are_refused() {
    let setting = Setting::new();
    let host_program = crate::setting::host_program().display();
    let script = setting.script(
        "both",
        &format!("#!/bin/sh\n{host_program} meet pause & {host_program} meet pause\n"),
    );
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["launch", "localhost,127.0.0.1", "--", &script])
        .current_dir(setting.directory.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let left = setting.finish(command.spawn().unwrap());
    // The first host's own code counts, if its program ends by itself.
    let code = u8::try_from(left.code.unwrap()).unwrap();
    assert_ne!(code, 0);
    left.failed(code, &["two programs with OpenMP run at the same time"]);
}

fn a_program_that_cannot_be_started_is_named() {
    let setting = Setting::new();
    let script = setting.script("odd", "#!/no/such/interpreter\n");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["launch", "localhost,127.0.0.1", "--", &script])
        .current_dir(setting.directory.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let left = setting.finish(command.spawn().unwrap());
    left.failed(
        NOT_LAUNCHED,
        &["cannot be started: No such file or directory"],
    );
}
