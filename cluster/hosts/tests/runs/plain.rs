//! Runs in which all goes well.

use crate::setting::Setting;
use fathomp_requirements::tests;
use libtest_mimic::Trial;
use std::io::Write;
use std::process::Stdio;
use std::thread;

const THREE: &str = "localhost,127.0.0.1:2,::1";

pub(crate) fn trials() -> Vec<Trial> {
    tests![
        every_pair_of_nodes_of_two_hosts_is_connected,
        programs_lie_at_the_same_addresses_on_all_hosts,
        the_first_host_has_the_input_and_its_code_is_the_answer,
        a_program_may_end_before_others_begin,
        input_that_nobody_reads_stays_where_it_is,
        output_of_all_hosts_comes_as_it_is,
        a_script_may_run_one_program_after_another,
        one_host_is_a_run_too,
        to_log_in_may_take_longer_than_silence,
        ports_are_taken_from_a_range,
        connections_may_be_encrypted,
        something_may_be_done_beside_programs,
    ]
    .into()
}

fn something_may_be_done_beside_programs() {
    let left = Setting::new().run(THREE, &["sidecar=note"], "meet exchange");
    assert_eq!(left.code, Some(0), "{left:?}");
    let mut told: Vec<&str> = left
        .stderr
        .lines()
        .filter(|line| line.starts_with("sidecar"))
        .collect();
    told.sort_unstable();
    let expected: Vec<String> = (0..3)
        .flat_map(|host| {
            ["begin note", "end note", "supervisor true"]
                .map(|what| format!("sidecar on host {host}: {what}"))
        })
        .collect();
    assert_eq!(told, expected);
    let left = Setting::new().run(THREE, &["sidecar=refuse"], "meet exchange");
    left.failed(125, &["nothing can be done beside the program"]);
}

fn to_log_in_may_take_longer_than_silence() {
    let setting = Setting::new();
    let script = setting.script(
        "slow",
        "#!/bin/sh\nsleep 4\nshift\nexec sh -c \"exec $*\"\n",
    );
    let left = setting.run("localhost,other", &[&format!("ssh={script}")], "print here");
    left.well();
    assert_eq!(left.lines(), ["here", "here"]);
}

fn every_pair_of_nodes_of_two_hosts_is_connected() {
    let left = Setting::new().run(THREE, &[], "meet exchange");
    left.well();
    let expected = [
        "host 0 (localhost): 3 wires",
        "host 1 (127.0.0.1): 4 wires",
        "host 2 (::1): 3 wires",
    ];
    assert_eq!(left.lines(), expected);
}

fn programs_lie_at_the_same_addresses_on_all_hosts() {
    let setting = Setting::new();
    for limit in ["unlimited", "8192", "1234"] {
        let launcher = setting.command(THREE, &[], "where");
        let words: Vec<_> = launcher
            .get_args()
            .map(|word| word.to_str().unwrap())
            .collect();
        let script = format!("ulimit -S -s {limit} && exec \"$0\" {}", words.join(" "));
        let mut command = std::process::Command::new("bash");
        command
            .args(["-c", &script])
            .arg(launcher.get_program())
            .envs(
                launcher
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(setting.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let left = setting.finish(command.spawn().unwrap());
        left.well();
        let lines = left.lines();
        assert!(
            lines.len() == 3 && lines.iter().all(|line| *line == lines[0]),
            "{left:?}"
        );
    }
}

fn the_first_host_has_the_input_and_its_code_is_the_answer() {
    let setting = Setting::new();
    let mut command = setting.command(THREE, &[], "meet cat first exit 7");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than may be under way.
    let text: String = (0..100_000)
        .map(|line| format!("{line} of the input\n"))
        .collect();
    let given = text.clone();
    let feeds = thread::spawn(move || stdin.write_all(given.as_bytes()));
    let left = setting.finish(child);
    feeds.join().unwrap().unwrap();
    assert_eq!((left.code, left.stderr.as_str()), (Some(7), ""));
    assert!(left.stdout == text);
}

/// One of the other hosts' programs has its connections and ends while the third has not begun.
fn a_program_may_end_before_others_begin() {
    for _ in 0..4 {
        let setting = Setting::new();
        let mut command = setting.command(THREE, &[], "others nap meet exit 7");
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        let left = setting.finish(child);
        assert_eq!((left.code, left.stderr.as_str()), (Some(7), ""));
    }
}

fn input_that_nobody_reads_stays_where_it_is() {
    let setting = Setting::new();
    let mut command = setting.command("localhost,127.0.0.1", &[], "meet print ready pause");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeds = thread::spawn(move || {
        let mut written = 0;
        while stdin.write_all(&[b'x'; 1024]).is_ok() {
            written += 1024;
        }
        written
    });
    crate::setting::await_lines(&mut child, 2);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    setting.finish(child);
    // What pipes hold comes on top of what may be under way.
    assert!(feeds.join().unwrap() < 1 << 20);
}

fn output_of_all_hosts_comes_as_it_is() {
    let left = Setting::new().run(THREE, &[], "spam 20000 err done");
    assert_eq!(left.code, Some(0));
    assert_eq!(left.stderr, "done\ndone\ndone\n");
    // A line may be cut where nothing has come for a while.
    let sorted = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    let line = |line: u32| format!("{line} a line of some length that says nothing\n");
    let one: String = (0..20_000).map(line).collect();
    assert!(sorted(&left.stdout) == sorted(&one.repeat(3)));
    assert_eq!(left.stdout.lines().count(), 60_000);
}

fn a_script_may_run_one_program_after_another() {
    let setting = Setting::new();
    let left = setting.run(THREE, &[], "child meet exchange");
    assert_eq!(left.lines().len(), 3, "{left:?}");
    let host_program = crate::setting::host_program().display();
    let text = format!(
        "#!/bin/sh\n{host_program} print no\n{host_program} meet exchange &&\n{host_program} meet exchange\n"
    );
    let script = setting.script("several", &text);
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["launch", THREE, "--", &script])
        .current_dir(setting.directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let left = setting.finish(command.spawn().unwrap());
    left.well();
    assert_eq!(left.lines().len(), 9, "{left:?}");
}

fn one_host_is_a_run_too() {
    let left = Setting::new().run("localhost:3", &[], "meet exchange");
    left.well();
    assert_eq!(left.lines(), ["host 0 (localhost): 0 wires"]);
}

fn ports_are_taken_from_a_range() {
    let setting = Setting::new();
    // Ports that were free a moment ago, most likely all of them still.
    let free = std::net::TcpListener::bind("[::]:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let free = free.min(u16::MAX - 8);
    let ports = format!("ports={free}-{}", free + 7);
    setting
        .run("localhost,127.0.0.1", &[&ports], "meet exchange")
        .well();
    let taken = std::net::TcpListener::bind("[::]:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ports = format!("ports={port}-{port}");
    let left = setting.run("localhost,127.0.0.1", &[&ports], "meet exchange");
    left.failed(
        crate::roles::NOT_LAUNCHED,
        &["host ", "none of the ports", "--ports"],
    );
}

fn connections_may_be_encrypted() {
    let setting = Setting::new();
    let left = setting.run(THREE, &["secure=1"], "meet exchange");
    left.well();
    assert_eq!(left.lines().len(), 3);
}
