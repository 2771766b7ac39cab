//! Programs that record while another process, this test, drains them.
// A program of its own: it starts itself as its children.

mod common;

use common::{Place, child, eventually, execute, executions, region, role, total};
use fathomp_trace::recorder::{Recorder, Start};
use fathomp_trace::state::State;
use fathomp_trace::{now, reader};
use fathomp_types::{InstanceId, SiteId};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Not a test of its own: what the children of the other tests do.
#[test]
fn as_a_child() {
    let Some(role) = role() else { return };
    let recorder = Recorder::from_environment("child", fathomp_sys::clock::pair(), None).unwrap();
    let thread = recorder.attach().unwrap();
    let site = region(recorder, 0);
    match role.as_str() {
        "proper" | "proper, when told" => {
            for number in 0..1000 {
                execute(thread, site, number);
            }
            if role != "proper" {
                // It must not end before its drainer has seen it.
                let live = std::env::var_os(fathomp_launch::names::RECORD.name).unwrap();
                eventually("word to end", || told_to_end(live.as_ref()).exists());
            }
            recorder.detach(thread);
            recorder.finish();
        }
        "endless" => {
            execute(thread, site, 1);
            thread.begin(&Start {
                site,
                instance: InstanceId(2),
                level: 1,
                ..Start::default()
            });
            loop {
                let begin = now();
                thread.wait(State::Lock, begin, now());
            }
        }
        "burst" => {
            // More than the ring holds, all of it regions that end.
            for number in 0..200_000 {
                execute(thread, site, number);
            }
            std::process::abort();
        }
        other => panic!("unknown role {other}"),
    }
}

/// The file that tells a child to end.
fn told_to_end(live: &Path) -> PathBuf {
    live.with_extension("end")
}

#[test]
fn a_program_is_drained_while_it_runs_and_completed_when_it_ends() {
    if role().is_some() {
        return;
    }
    let place = Place::new();
    let mut drainer = place.drainer();
    let mut program = child("as_a_child", "proper", &place.live);
    assert!(program.wait().unwrap().success());
    eventually("completion of the stream", || {
        let progress = drainer.poll().unwrap();
        progress.processes == 1 && progress.running == 0
    });
    let rings = fathomp_ring::drain::ring_files(&place.live, "ring").unwrap();
    assert!(
        rings.is_empty(),
        "memory of a program that ended is given back"
    );
    drainer.finish().unwrap();
    let recording = place.read();
    let process = &recording.processes[0];
    assert_eq!(process.pid, program.id());
    assert!(process.end.is_some());
    assert_eq!(total(&executions(&recording, SiteId(1))), 1000);
}

#[test]
fn a_killed_program_leaves_everything_up_to_its_death() {
    if role().is_some() {
        return;
    }
    let place = Place::new();
    let mut drainer = place.drainer();
    let mut program = child("as_a_child", "endless", &place.live);
    eventually("recording", || drainer.poll().unwrap().records > 100);
    // Long enough to see that the open region reaches up to the end.
    std::thread::sleep(Duration::from_millis(50));
    program.kill().unwrap();
    program.wait().unwrap();
    drainer.finish().unwrap();
    let recording = place.read();
    let process = &recording.processes[0];
    assert_eq!(process.end, None);
    let read = executions(&recording, SiteId(1));
    assert_eq!(read.len(), 2);
    let open = &read[1];
    assert_eq!(open.instance, InstanceId(2));
    assert!(process.clock.span(open.busy).0 >= 50_000_000);
    assert!(open.waits[State::Lock] > 100);
    let said = |what: &str| recording.problems.iter().any(|text| text.contains(what));
    assert!(said("did not end properly"), "{:?}", recording.problems);
}

#[test]
fn a_program_that_aborts_before_anyone_looks_is_recorded() {
    if role().is_some() {
        return;
    }
    let place = Place::new();
    let mut program = child("as_a_child", "burst", &place.live);
    assert!(!program.wait().unwrap().success());
    place.drain();
    let recording = place.read();
    assert_eq!(total(&executions(&recording, SiteId(1))), 200_000);
}

#[test]
fn a_killed_drainer_loses_nothing_that_memory_still_holds() {
    if role().is_some() {
        return;
    }
    let place = Place::new();
    let mut program = child("as_a_child", "proper, when told", &place.live);
    // A drainer that is dropped without finishing, like one that was killed.
    let mut drainer = place.drainer();
    eventually("start of the program", || {
        drainer.poll().unwrap().processes == 1
    });
    drop(drainer);
    std::fs::write(told_to_end(&place.live), "").unwrap();
    assert!(program.wait().unwrap().success());
    for _ in 0..2 {
        // Reading changes nothing, so it can be done again.
        let recording = reader::open(&place.recording).unwrap();
        assert_eq!(total(&executions(&recording, SiteId(1))), 1000);
        assert!(
            recording
                .problems
                .iter()
                .any(|problem| problem.contains("recorder was killed"))
        );
    }
}

#[test]
fn a_running_program_is_recorded_up_to_now() {
    if role().is_some() {
        return;
    }
    let place = Place::new();
    let mut drainer = place.drainer();
    let mut program = child("as_a_child", "endless", &place.live);
    eventually("recording", || drainer.poll().unwrap().records > 0);
    drainer.finish().unwrap();
    let recording = place.read();
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(executions(&recording, SiteId(1)).len(), 2);
    assert!(
        recording
            .problems
            .iter()
            .any(|problem| problem.contains("still running"))
    );
}
