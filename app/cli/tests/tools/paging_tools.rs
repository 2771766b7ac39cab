//! Paging of programs that everybody has: the same output, states that add up, I/O calls
//! that are seen.

use crate::common::finish;
use crate::common::paging::{self, Seen, record};
use fathomp_requirements::{PYTHON, SQLITE};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    all.extend(trials![
        "paging_tools",
        blocks_of_dd_are_counted,
        short_reads_of_dd_are_counted,
        gzip_compresses_as_ever,
        pipelines_of_a_shell_are_recorded_with_all_their_processes,
    ]);
    all.extend(trials!["paging_tools", &[SQLITE] => databases_are_written_as_ever]);
    all.extend(trials!["paging_tools", &[PYTHON] => interpreters_run_as_ever]);
    all
}

/// Part of the I/O calls that must be seen.
const COVERED: f64 = 0.95;

/// Runs a command by itself and recorded, in fresh directories that `prepare` fills: both
/// must write the same and leave the same file.
fn alike(command: &[&str], leaves: &str, prepare: impl Fn(&Path)) -> Seen {
    let (plain, recorded) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    prepare(plain.path());
    prepare(recorded.path());
    let mut alone = Command::new(command[0]);
    alone.args(&command[1..]).current_dir(plain.path());
    let alone = finish(&mut alone);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    let ended = record(recorded.path(), &[], command);
    assert_eq!(ended.code, alone.code, "{ended:?}");
    assert_eq!(ended.text(), alone.text(), "{ended:?}");
    let left = |directory: &Path| fs::read(directory.join(leaves)).unwrap();
    assert!(
        left(recorded.path()) == left(plain.path()),
        "{leaves} differs: {ended:?}"
    );
    let seen = Seen::of(&recorded.path().join("recording"));
    seen.adds_up();
    seen
}

/// Almost all I/O calls were seen.
fn covered(seen: Seen) -> Seen {
    let coverage = seen.coverage();
    assert!(coverage >= COVERED, "{coverage}: {seen:?}");
    seen
}

fn blocks_of_dd_are_counted() {
    let command = ["dd", "if=/dev/zero", "of=copy", "bs=4k", "count=2000"];
    let seen = covered(alike(
        &[&command[..], &["status=none"]].concat(),
        "copy",
        |_| (),
    ));
    let dd = seen.program("dd");
    assert_eq!(dd.of("io", "bytes_written"), 8_192_000, "{seen:?}");
    assert!(dd.of("io", "bytes_read") >= 8_192_000, "{seen:?}");
    assert!(dd.total("io_calls") >= 4000, "{seen:?}");
    assert!(dd.ns("io") > 0 && dd.ns("compute") > 0, "{seen:?}");
    for call in ["read", "write"] {
        assert!(dd.stays_in(call) >= 2000, "{call}: {seen:?}");
    }
}

fn short_reads_of_dd_are_counted() {
    let seen = alike(
        &["dd", "if=text", "of=copy", "bs=512", "status=none"],
        "copy",
        |directory| fs::write(directory.join("text"), paging::text(1 << 20)).unwrap(),
    );
    let seen = covered(seen);
    let dd = seen.program("dd");
    assert_eq!(dd.of("io", "bytes_written"), 1 << 20, "{seen:?}");
    assert!(dd.stays_in("write") >= 2048, "{seen:?}");
}

fn gzip_compresses_as_ever() {
    let seen = alike(&["gzip", "--no-name", "text"], "text.gz", |directory| {
        fs::write(directory.join("text"), paging::text(4 << 20)).unwrap();
    });
    let seen = covered(seen);
    let gzip = seen.program("gzip");
    assert!(gzip.of("io", "bytes_read") >= 4 << 20, "{seen:?}");
    assert!(gzip.ns("compute") > gzip.ns("io"), "{seen:?}");
    assert!(gzip.of("compute", "minor_faults") > 0, "{seen:?}");
}

fn pipelines_of_a_shell_are_recorded_with_all_their_processes() {
    let line = "cat text | gzip --no-name --to-stdout | wc -c > size; echo done";
    let seen = alike(&["sh", "-c", line], "size", |directory| {
        fs::write(directory.join("text"), paging::text(1 << 20)).unwrap();
    });
    // Of each process, what loads it makes a call or two.
    assert!(seen.coverage() > 0.8, "{seen:?}");
    // A shell is known by the name of its file.
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let shell = shell.file_name().unwrap().to_str().unwrap();
    for name in [shell, "cat", "gzip", "wc"] {
        let process = seen.program(name);
        assert!(process.ns("io") > 0, "{name}: {seen:?}");
    }
    let shell = seen.program(shell).process;
    assert_eq!(seen.program("wc").parent, shell, "{seen:?}");
}

fn databases_are_written_as_ever() {
    let statements = "
        create table numbers(n integer primary key, square integer, words text);
        with recursive c(n) as (select 1 union all select n + 1 from c where n < 20000)
            insert into numbers select n, n * n, printf('%d squared', n) from c;
        create index squares on numbers(square);
        select count(*), sum(square) from numbers;
        delete from numbers where n % 3 = 0;
        vacuum;
        select count(*), max(words) from numbers;";
    let seen = covered(alike(&["sqlite3", "base", statements], "base", |_| ()));
    let sqlite = seen.program("sqlite3");
    assert!(sqlite.of("io", "bytes_written") > 500_000, "{seen:?}");
}

fn interpreters_run_as_ever() {
    let script = r#"
import hashlib, os
total = hashlib.sha256()
with open("numbers", "w") as out:
    for number in range(50000):
        out.write("%d\n" % (number * number))
with open("numbers", "rb", buffering=0) as again:
    while piece := again.read(1000):
        total.update(piece)
block = bytearray(32 << 20)
print(os.path.getsize("numbers"), total.hexdigest(), len(block))
"#;
    // What is called python3 may be a script that looks for it.
    let found = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable, end='')"])
        .output()
        .unwrap();
    let interpreter = String::from_utf8(found.stdout).unwrap();
    let seen = covered(alike(&[&interpreter, "-c", script], "numbers", |_| ()));
    let python = seen.busiest();
    assert!(python.program.starts_with("python"), "{seen:?}");
    let size = python.of("io", "bytes_written");
    assert!(size > 400_000, "{seen:?}");
    assert!(python.stays_in("read") > size / 1000, "{seen:?}");
    assert!(python.of("compute", "minor_faults") > 1000, "{seen:?}");
}
