//! A program that really swaps: a control group with little memory, and swap, made by the
//! test and undone after it.

use crate::common::finish;
use crate::common::paging::{Seen, build, recorder, source};
use fathomp_requirements::{Forbidden, if_permitted};
use libtest_mimic::Trial;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        if_permitted(
            "paging_swap::pages_come_back_from_compressed_memory",
            || swapping("zram"),
        ),
        if_permitted("paging_swap::pages_come_back_from_a_file", || {
            swapping("file")
        }),
    ]
}

/// Memory that the program goes through, and that it may have, in MiB.
const USED_MIB: u64 = 96;
const LIMIT_MIB: u64 = 48;
/// Pages of 4 KiB that cannot stay.
const EXCESS: u64 = (USED_MIB - LIMIT_MIB) * 256;

/// Little memory, for as long as this lives: the script that makes it undoes it when its
/// input ends, even if this process is killed.
struct LittleMemory {
    script: Child,
    input: Option<ChildStdin>,
    /// Takes the numbers of processes into the group.
    members: String,
}

impl LittleMemory {
    fn make(kind: &str) -> Result<Self, Forbidden> {
        let name = format!("fathomp-test-{}-{kind}", std::process::id());
        let mut script = Command::new("sh")
            .arg(source("little_memory.sh"))
            .args([
                &name,
                &(LIMIT_MIB << 20).to_string(),
                &(256 << 20).to_string(),
                kind,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = script.stdin.take();
        let mut answer = String::new();
        let mut output = BufReader::new(script.stdout.take().unwrap());
        output.read_line(&mut answer).unwrap();
        let mut made = Self {
            script,
            input,
            members: String::new(),
        };
        match answer.trim().split_once(' ') {
            Some(("ready", members)) => made.members = members.to_owned(),
            Some(("cannot", why)) => return Forbidden::because(format!("this cannot {why}")),
            _ => panic!("the script said {answer:?}"),
        }
        Ok(made)
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.script.wait();
    }
}

fn swapping(kind: &str) -> Result<(), Forbidden> {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "swaps", &[]);
    let memory = LittleMemory::make(kind)?;
    // The program alone goes into the group, not the processes that record it.
    let line = format!("echo $$ > {} && exec ./swaps {USED_MIB} 3", memory.members);
    let ended = finish(&mut recorder(directory.path(), &[], &["sh", "-c", &line]));
    drop(memory);
    ended.succeeded();
    let pages = USED_MIB * 256;
    assert!(ended.text().starts_with("sum "), "{ended:?}");
    let seen = Seen::of(&directory.path().join("recording"));
    seen.adds_up();
    let swaps = seen.program("swaps");
    // Every page is touched a first time by a fault without I/O.
    assert!(swaps.of("compute", "minor_faults") >= pages / 2, "{seen:?}");
    // A page that comes back from a disk brings others with it.
    let major = swaps.of("compute", "major_faults");
    assert!(major > EXCESS / 32, "{major}: {seen:?}");
    // In the second pass and in the third, what did not stay comes back.
    let page_ins = swaps.total("page_ins");
    assert!(page_ins >= EXCESS, "{page_ins}: {seen:?}");
    for counter in ["system_swap_ins", "system_swap_outs", "process_swap_outs"] {
        let sampled = seen.sampled(counter);
        assert!(sampled >= EXCESS / 2, "{counter} {sampled}: {seen:?}");
    }
    Ok(())
}
