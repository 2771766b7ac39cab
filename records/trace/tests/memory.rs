//! A program that is recorded survives when memory for its rings runs out.
// A program of its own: it starts itself as its child, with hardly any memory.

mod common;

use common::{Place, execute, region, role};
use fathomp_requirements::{Forbidden, if_permitted};
use fathomp_trace::recorder::{Recorder, Settings};
use std::process::{Command, ExitCode};

const RECORDED: &str = "hardly any memory";

fn main() -> ExitCode {
    if role().as_deref() == Some(RECORDED) {
        with_hardly_any_memory();
        return ExitCode::SUCCESS;
    }
    fathomp_requirements::run(vec![if_permitted(
        "a_program_survives_when_memory_for_its_rings_runs_out",
        a_program_survives_when_memory_for_its_rings_runs_out,
    )])
}

fn a_program_survives_when_memory_for_its_rings_runs_out() -> Result<(), Forbidden> {
    let root = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=640k none "$1" || exit 77
        TMPDIR="$1" exec "$0""#;
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(root.path())
        .env(common::ROLE, RECORDED)
        .stdout(std::process::Stdio::null())
        .status();
    let status = status.expect("`unshare` is part of util-linux");
    // `unshare` leaves with 1 if the kernel, or a container's rules, do not permit it.
    if matches!(status.code(), Some(1 | 77)) {
        return Forbidden::because("nothing may be mounted here");
    }
    assert!(status.success(), "{status:?}");
    Ok(())
}

/// Records in memory that holds less than one ring.
fn with_hardly_any_memory() {
    let place = Place::new();
    let settings = Settings {
        ring_kib: 1024,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let site = region(recorder, 0);
    let attached: Vec<_> = (0..8)
        .filter_map(|_| std::thread::spawn(|| recorder.attach()).join().unwrap())
        .collect();
    assert!((1..8).contains(&attached.len()), "{}", attached.len());
    for number in 0..20_000 {
        for thread in &attached {
            execute(thread, site, number);
        }
    }
    for number in 0..10_000 {
        let _ = region(recorder, 16 * number);
    }
    recorder.finish();
    let said = fathomp_ring::drain::ring_files(&place.live, "ring").unwrap();
    assert_eq!(said.len(), 1);
}
