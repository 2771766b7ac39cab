//! Circumstances that the tests can make only where the kernel, or a container's rules,
//! let them: file systems of their own, files of another user.

use crate::common::{self, CANNOT_START, compile, finish, instances, problems, refused};
use fathomp_requirements::{Forbidden, if_permitted};
use libtest_mimic::Trial;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        if_permitted(
            "permissions::programs_of_another_user",
            programs_of_another_user,
        ),
        if_permitted(
            "permissions::a_full_disk_loses_no_more_than_it_must",
            a_full_disk_loses_no_more_than_it_must,
        ),
    ]
}

fn programs_of_another_user() -> Result<(), Forbidden> {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(
        directory.path(),
        "privileged",
        "int main(void) { return 0; }",
        &[],
    );
    if chown(&program, Some(12345), None).is_err() {
        return Forbidden::because("only root can give a file away");
    }
    fs::set_permissions(program, Permissions::from_mode(0o4755)).unwrap();
    refused(directory.path(), "./privileged", CANNOT_START, "set-uid");
    Ok(())
}

fn a_full_disk_loses_no_more_than_it_must() -> Result<(), Forbidden> {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let source = common::TWO_REGIONS
        .replace("round < 20", "round < 10000")
        .replace("i < 10000", "i < 10");
    compile(directory.path(), "busy", &source, &["-fopenmp", "-g"]);
    // A mount of our own, which nobody else sees and which goes with us.
    let script = r#"
mount -t tmpfs -o size=1m tmpfs "$1" || exit 77
"$2" record -o "$1/recording" --threads 2 -- ./busy
echo "code $?"
"$2" --json regions "$1/recording" > regions.json
echo "code $?"
"#;
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(&disk)
        .arg(env!("CARGO_BIN_EXE_fathomp"))
        .env("XDG_CACHE_HOME", common::cache())
        .current_dir(directory.path());
    let ended = finish(&mut command);
    if ended.code == Some(77) || !ended.text().contains("code ") {
        return Forbidden::because("nothing may be mounted here");
    }
    ended.in_words();
    assert!(ended.text().contains("sum "), "{ended:?}");
    assert!(ended.stderr.contains("No space left"), "{ended:?}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join("regions.json")).unwrap()).unwrap();
    assert_eq!(instances(&json), [10_000, 10_000], "{ended:?}");
    assert!(
        problems(&json).contains("No space left"),
        "{}",
        problems(&json)
    );
    Ok(())
}
