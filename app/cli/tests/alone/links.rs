//! Links between hosts that go down in the midst of a run. Each host is a network name space, and
//! the way by which agents are started goes by another way than the nodes' messages, as on
//! clusters with two networks. That needs root, and `ip` of iproute2.

use crate::common::{self, alive, compile, fathomp, send, until, until_ready};
use fathomp_requirements::{Forbidden, if_permitted};
use libtest_mimic::Trial;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// How long hosts may go on after the link between them has gone down: the silence that is
/// taken for an end, and as much again for a machine that is busy with other things.
const NOTICED: Duration = Duration::from_secs(12);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        if_permitted(
            "links::a_link_that_goes_down_ends_the_run",
            a_link_that_goes_down_ends_the_run,
        ),
        if_permitted(
            "links::a_node_that_takes_nothing_is_waited_for",
            a_node_that_takes_nothing_is_waited_for,
        ),
    ]
}

/// Runs regions until there is a file `end`, and says how many words are wrong.
const LOOP: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static double data[1 << 16];
int main(void)
{
    long rounds = 0, wrong = 0;
    while (access("end", F_OK) != 0) {
#pragma omp parallel for
        for (int i = 0; i < 1 << 16; i++) data[i] += 1;
        if (++rounds == 3) { puts("ready"); fflush(stdout); }
        /* Computing, as seen from other hosts. */
        if (rounds % 64 == 0) usleep(200000);
    }
    for (int i = 0; i < 1 << 16; i++) wrong += data[i] != rounds;
    printf("wrong %ld\n", wrong);
    return 0;
}
"#;

/// Two name spaces, gone when this is dropped.
struct Network {
    names: [String; 2],
}

fn ip(words: &str) -> Result<(), String> {
    match Command::new("ip").args(words.split(' ')).output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Network {
    fn new(of: &str) -> Result<Self, Forbidden> {
        let id = std::process::id();
        let names = ["a", "b"].map(|end| format!("fathomp-{of}-{id}-{end}"));
        let [a, b] = &names;
        let steps = [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("-n {a} link add eth0 type veth peer name eth0 netns {b}"),
            format!("-n {a} addr add 10.79.0.1/24 dev eth0"),
            format!("-n {b} addr add 10.79.0.2/24 dev eth0"),
            format!("-n {a} link set eth0 up"),
            format!("-n {b} link set eth0 up"),
        ];
        let network = Self { names };
        for step in steps {
            if let Err(why) = ip(&step) {
                return Forbidden::because(format!(
                    "network name spaces cannot be made here (`ip {step}`: {why}): run it as root, with iproute2"
                ));
            }
        }
        Ok(network)
    }

    /// A program on both, with one node on each.
    fn start(&self, directory: &Path, options: &[&str]) -> Child {
        let [a, b] = &self.names;
        let script = directory.join("ssh");
        let lines = format!(
            "#!/bin/sh\ncase $1 in *1) on={a};; *) on={b};; esac\nshift\nexec ip netns exec $on sh -c \"exec $*\"\n"
        );
        fs::write(&script, lines).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let program = compile(directory, "loop", LOOP, &["-fopenmp", "-g"]);
        let mut command = fathomp(directory);
        command
            .args(["run", "--hosts", "10.79.0.1,10.79.0.2", "--threads", "1"])
            .arg("--ssh")
            .arg(script)
            .args(options)
            .arg("--")
            .arg(program);
        until_ready(&mut command)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn said(child: &mut Child) -> [String; 2] {
    let mut both = [String::new(), String::new()];
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut both[0])
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut both[1])
        .unwrap();
    both
}

fn a_link_that_goes_down_ends_the_run() -> Result<(), Forbidden> {
    for option in ["--dsm=home", "--dsm=homeless", "--secure"] {
        let network = Network::new("cut")?;
        let directory = tempfile::tempdir().unwrap();
        let mut child = network.start(directory.path(), &[option]);
        ip(&format!("-n {} link set eth0 down", network.names[1])).unwrap();
        let since = Instant::now();
        let status = common::wait(&mut child);
        let time = since.elapsed();
        let [_, stderr] = said(&mut child);
        assert_eq!(status.code(), Some(70), "{option}: {stderr}");
        assert!(time < NOTICED, "{option}: {time:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{option}: {stderr}");
        let words = ["(host 10.79.0.", "it does not answer any more"];
        assert!(words.iter().all(|word| stderr.contains(word)), "{stderr}");
        let program = directory.path().join("loop");
        until("nobody is left", || alive(&program) == 0);
    }
    Ok(())
}

/// Its system answers for it, so that its host is not taken for dead.
fn a_node_that_takes_nothing_is_waited_for() -> Result<(), Forbidden> {
    let network = Network::new("stop")?;
    let directory = tempfile::tempdir().unwrap();
    let mut child = network.start(directory.path(), &[]);
    let program = directory.path().join("loop");
    let second = common::processes(&program)
        .into_iter()
        .max_by_key(|process| process.parse::<u32>().unwrap())
        .unwrap();
    send("STOP", &second);
    // Longer than a host may be silent.
    thread::sleep(Duration::from_secs(6));
    send("CONT", &second);
    fs::write(directory.path().join("end"), "").unwrap();
    let status = common::wait(&mut child);
    let [stdout, stderr] = said(&mut child);
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(stdout, "wrong 0\n", "{stderr}");
    assert!(stderr.contains("was stopped by signal 19"), "{stderr}");
    Ok(())
}
