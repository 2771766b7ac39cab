//! A program without clusters and paging: their commands and options are not there.

use crate::common::run;

#[test]
fn commands_of_absent_wings_are_unknown() {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        "simulate r --net 1,1",
        "sharing -- true",
        "host-agent",
        "wire-floor",
        "skyline r",
        "collect --listen 127.0.0.1:0",
        "bench dsm",
    ] {
        let ended = run(directory.path(), line);
        assert_eq!(ended.in_words().code, Some(2), "{line}: {ended:?}");
    }
    let help = run(directory.path(), "--help");
    let text = help.succeeded().text();
    for word in ["Clusters:", "Paging:", "simulate", "skyline"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn options_of_absent_wings_are_unknown() {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        "run --nodes 2 -- true",
        "run --hosts a,b -- true",
        "run --check-races -- true",
        "record --accesses -- true",
        "record --paging -- true",
        "study --sharing -- true",
        "calibrate --nodes 2",
        "predict --validate --hosts a,b",
        "bench epcc --nodes 2",
        "workload run cg --nodes 2",
    ] {
        let ended = run(directory.path(), line);
        assert_eq!(ended.in_words().code, Some(2), "{line}: {ended:?}");
        assert!(ended.stderr.contains("unexpected argument"), "{ended:?}");
    }
}

#[test]
fn the_doctor_says_what_is_not_built_in() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(directory.path(), "doctor");
    let text = ended.succeeded().text();
    assert!(text.contains("without clusters and paging"), "{text}");
    for check in ["paging samples", "userfaultfd"] {
        assert!(!text.contains(check), "{check}: {text}");
    }
}
