//! Nodes where the kernel, or a container's rules, let the tests make odd circumstances.

use crate::common::{self, finish, on_nodes, two_regions};
use fathomp_requirements::{Forbidden, if_permitted};
use libtest_mimic::Trial;
use std::process::{Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![if_permitted(
        "nodes::a_system_without_a_null_device_is_named",
        a_system_without_a_null_device_is_named,
    )]
}

fn a_system_without_a_null_device_is_named() -> Result<(), Forbidden> {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    // A mount of our own, which nobody else sees and which goes with us.
    let script = "mount -t tmpfs tmpfs /dev || exit 77; exec \"$0\" \"$@\"";
    let nodes = on_nodes(directory.path(), 2, &program);
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .arg(nodes.get_program())
        .args(nodes.get_args())
        .env("XDG_CACHE_HOME", common::cache())
        .current_dir(directory.path())
        .stdin(Stdio::null());
    let ended = finish(&mut command);
    if ended.code == Some(77) || !ended.stderr.contains("fathomp:") {
        return Forbidden::because("nothing may be mounted here");
    }
    let said = &ended.in_words().stderr;
    assert_eq!(ended.code, Some(70), "{said}");
    assert!(said.contains("there is no /dev/null (mknod"), "{said}");
    Ok(())
}
