//! What the library exports: the names that it stands in front of and what it answers to, and
//! no other.
// A program of its own: the C library is looked for names, and what else is linked might have them.
#![allow(missing_docs, reason = "no interface of the crate")]

use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::ffi::CString;

const OWN: [&str; 4] = [
    "fathomp_paging_enter",
    "fathomp_paging_leave",
    "fathomp_paging_phase",
    "fathomp_paging_interface",
];

/// Functions of C libraries that are newer than the one here may be.
const NEWER: [&str; 1] = ["__isoc23_"];

fn exported() -> BTreeSet<String> {
    let interposer = fathomp_runtime::interposer().unwrap();
    let file = object::File::parse(&*interposer).unwrap();
    let symbols = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    symbols
        .map(|symbol| symbol.name().unwrap().to_owned())
        .collect()
}

#[test]
fn every_name_is_one_of_the_c_librarys_of_mpis_or_our_own() {
    let names = exported();
    for own in OWN {
        assert!(names.contains(own), "{own}");
    }
    let in_front = names.iter().filter(|name| !OWN.contains(&name.as_str()));
    let (mpi, others): (Vec<_>, Vec<_>) =
        in_front.partition(|name| name.starts_with("MPI_") || name.starts_with("mpi_"));
    // Five names each.
    assert!(
        mpi.len() > 900 && mpi.len().is_multiple_of(5),
        "{}",
        mpi.len()
    );
    let unknown: Vec<_> = others
        .into_iter()
        .filter(|name| !NEWER.iter().any(|newer| name.starts_with(newer)))
        .filter(|name| {
            let name = CString::new(name.as_str()).unwrap();
            // SAFETY: a C string.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
        })
        .collect();
    assert!(unknown.is_empty(), "the C library has none of {unknown:?}");
}

#[test]
fn what_programs_use_to_read_and_write_is_among_them() {
    let names = exported();
    for name in [
        "read",
        "write",
        "pread64",
        "pwritev2",
        "readv",
        "__read_chk",
        "open",
        "__open64_2",
        "openat",
        "close",
        "fsync",
        "sendfile64",
        "copy_file_range",
        "getc",
        "__uflow",
        "__overflow",
        "putc_unlocked",
        "printf",
        "__printf_chk",
        "__isoc99_fscanf",
        "getline",
        "fread",
        "fwrite",
        "fflush",
        "poll",
        "select",
        "epoll_wait",
        "recv",
        "sendmsg",
        "accept",
        "connect",
        "waitpid",
        "fork",
        "vfork",
        "execve",
        "execl",
        "_exit",
        "pthread_create",
        "pthread_cond_wait",
        "MPI_Send",
        "mpi_send_",
        "mpi_send_f08_",
        "MPI_File_write_at_all",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn it_needs_the_c_library_alone() {
    let interposer = fathomp_runtime::interposer().unwrap();
    let file = object::File::parse(&*interposer).unwrap();
    let libraries: BTreeSet<_> = file
        .import_libraries()
        .unwrap()
        .map(|library| String::from_utf8_lossy(library.unwrap().name()).into_owned())
        .collect();
    let allowed = ["libc.so.6", "ld-linux-x86-64.so.2"];
    assert!(
        libraries.iter().all(|one| allowed.contains(&one.as_str())),
        "{libraries:?}"
    );
}
