//! Programs that cannot be started with the runtime in front of them: each is
//! refused in one sentence.

use crate::common::{CANNOT_START, compile, fathomp, finish, refused, run};
use fathomp_toolchain::testing::write_executable;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const EMPTY: &str = "int main(void) { return 0; }";
const NOT_FOUND: i32 = 127;

fn executable(path: &Path, content: &[u8]) {
    write_executable(path, content).unwrap();
}

#[test]
fn missing() {
    let directory = tempfile::tempdir().unwrap();
    refused(directory.path(), "./missing", NOT_FOUND, "no such file");
    refused(
        directory.path(),
        "surely-no-such-program",
        NOT_FOUND,
        "no such program",
    );
    finish(fathomp(directory.path()).args(["run", "--", ""])).refused(NOT_FOUND, "no such program");
}

#[test]
fn missing_where_a_directory_of_the_path_cannot_be_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    symlink("closed", &closed).unwrap();
    let mut command = fathomp(directory.path());
    command.env("PATH", closed).args(["run", "--", "gone"]);
    finish(&mut command).refused(NOT_FOUND, "no such program");
}

#[test]
fn a_dangling_link_and_a_loop_of_links() {
    let directory = tempfile::tempdir().unwrap();
    symlink("nowhere", directory.path().join("dangling")).unwrap();
    symlink("loop", directory.path().join("loop")).unwrap();
    refused(directory.path(), "./dangling", NOT_FOUND, "no such file");
    run(directory.path(), "run -- ./loop").refused(CANNOT_START, "./loop");
}

#[test]
fn directories_and_devices() {
    let directory = tempfile::tempdir().unwrap();
    refused(directory.path(), "/tmp", CANNOT_START, "is a directory");
    refused(
        directory.path(),
        "/dev/null",
        CANNOT_START,
        "not an ordinary file",
    );
}

#[test]
fn not_executable() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("data"), "#!/bin/sh\n").unwrap();
    refused(directory.path(), "./data", CANNOT_START, "chmod +x");
}

#[test]
fn statically_linked() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "static", EMPTY, &["-static"]);
    refused(
        directory.path(),
        "./static",
        CANNOT_START,
        "statically linked",
    );
    compile(directory.path(), "static-pie", EMPTY, &["-static-pie"]);
    refused(
        directory.path(),
        "./static-pie",
        CANNOT_START,
        "statically linked",
    );
}

#[test]
fn thirty_two_bits() {
    let directory = tempfile::tempdir().unwrap();
    let mut header = vec![0_u8; 52];
    header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    header[16] = 2; // ET_EXEC
    header[18] = 3; // EM_386
    executable(&directory.path().join("old"), &header);
    refused(directory.path(), "./old", CANNOT_START, "32-bit");
}

#[test]
fn another_architecture() {
    let directory = tempfile::tempdir().unwrap();
    let mut header = vec![0_u8; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16] = 2; // ET_EXEC
    header[18] = 0x16; // EM_S390
    executable(&directory.path().join("mainframe"), &header);
    refused(directory.path(), "./mainframe", CANNOT_START, "s390x");
}

#[test]
fn not_a_program_at_all() {
    let directory = tempfile::tempdir().unwrap();
    for content in [&b""[..], b"hello\n", b"\x7f", b"\xff\xfe\0\0", b"#!\n"] {
        executable(&directory.path().join("data"), content);
        refused(
            directory.path(),
            "./data",
            CANNOT_START,
            "neither an ELF program nor a script",
        );
    }
}

#[test]
fn an_elf_file_cut_at_many_places() {
    let directory = tempfile::tempdir().unwrap();
    let whole = fs::read(compile(directory.path(), "whole", EMPTY, &[])).unwrap();
    let path = directory.path().join("cut");
    for length in [4, 5, 16, 19, 20, 63, 64, 100, 400, 600] {
        executable(&path, &whole[..length]);
        let ended = run(directory.path(), "run -- ./cut");
        assert_eq!(ended.code, Some(CANNOT_START), "{length}: {ended:?}");
        ended.in_words();
    }
}

#[test]
fn an_elf_file_with_garbage_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let whole = fs::read(compile(directory.path(), "whole", EMPTY, &[])).unwrap();
    let path = directory.path().join("garbage");
    for start in [24, 32, 40, 54, 64, 200] {
        let mut bytes = whole.clone();
        bytes[start..start + 8].fill(0xff);
        executable(&path, &bytes);
        // Some damage is invisible from outside: then the kernel or the loader
        // says what is wrong. What counts is that nothing panics.
        run(directory.path(), "run -- ./garbage").in_words();
    }
}

#[test]
fn objects_and_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let object = compile(directory.path(), "object", EMPTY, &["-c"]);
    fs::set_permissions(object, Permissions::from_mode(0o755)).unwrap();
    refused(directory.path(), "./object", CANNOT_START, "object file");
    compile(directory.path(), "library", EMPTY, &["-shared", "-fPIC"]);
    refused(
        directory.path(),
        "./library",
        CANNOT_START,
        "shared library",
    );
}

#[test]
fn scripts_without_an_interpreter() {
    let directory = tempfile::tempdir().unwrap();
    executable(
        &directory.path().join("script"),
        b"#!/no/such/interpreter\n",
    );
    refused(
        directory.path(),
        "./script",
        CANNOT_START,
        "/no/such/interpreter",
    );
    let itself = directory.path().join("itself");
    executable(&itself, format!("#!{}\n", itself.display()).as_bytes());
    refused(directory.path(), "./itself", CANNOT_START, "");
}
