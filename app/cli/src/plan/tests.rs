//! What is planned, and kept of it.

use super::kept::{Kept, identity};
use super::*;
use fathomp_regions::{Body, Known, Loop, LoopRole, Module, Region, Schedule, ScheduleKind};
use std::cell::Cell;

fn regions(path: &Path) -> Regions {
    let looped = Loop {
        parent: None,
        depth: 0,
        innermost: true,
        header: 0x1010,
        place: None,
        trips: Known::Known("(load4 (+ data 8))".parse().unwrap()),
        worksharing: Some(Schedule {
            kind: ScheduleKind::Static,
            chunk: None,
            total: None,
        }),
        role: LoopRole::Whole,
        entered_if: None,
    };
    Regions {
        modules: vec![Module {
            path: path.to_string_lossy().into_owned(),
            ..Module::default()
        }],
        regions: vec![Region {
            module: Some(0),
            body: Some(Body {
                address: 0x1000,
                data_bytes: 16,
                loops: vec![looped],
                ..Body::default()
            }),
            ..Region::default()
        }],
        ..Regions::default()
    }
}

#[test]
fn a_second_run_does_not_scan_again_until_the_file_is_another() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let own = std::env::current_exe().unwrap();
    std::fs::copy(&own, &program).unwrap();
    let kept = Kept::at(directory.path());
    let scans = Cell::new(0);
    let scan = |path: &Path| {
        scans.set(scans.get() + 1);
        Ok(regions(path))
    };
    let first = kept.scan_by(&program, None, scan).unwrap();
    assert_eq!(kept.scan_by(&program, None, scan).unwrap(), first);
    assert_eq!(scans.get(), 1);
    // What is kept may be damaged.
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            std::fs::write(path, "{").unwrap();
        }
    }
    assert_eq!(kept.scan_by(&program, None, scan).unwrap(), first);
    assert_eq!(scans.get(), 2);
    assert!(
        kept.scan_by(Path::new("/etc/passwd"), None, |_| Err("no".to_owned()))
            .is_err()
    );
}

#[test]
fn plans_hold_what_the_runtime_needs() {
    let own = std::env::current_exe().unwrap();
    let mut all = Regions::default();
    append(&mut all, regions(Path::new("a")), 0);
    append(&mut all, regions(Path::new("b")), 1);
    let plan = of_regions(&all, &[identity(&own), None]);
    assert_eq!(
        plan.modules.len(),
        1,
        "what cannot be recognised is left out"
    );
    assert_eq!(plan.modules[0].bodies[0].address, 0x1000);
    assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
}
