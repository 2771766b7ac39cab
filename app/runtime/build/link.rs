//! The C compiler as a linker: the library with its symbol versions, and the
//! calibration probe.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name programs ask for, so that a preloaded copy satisfies them all.
const SONAME: &str = "libgomp.so.1";

/// Functions of the C library, and of those of C++ and Fortran, that the cluster edition
/// stands in front of, and what they are called in the archive.
const IN_FRONT: [(&str, &str); 120] = [
    ("__libc_start_main", "fathomp_start_main"),
    ("malloc", "fathomp_malloc"),
    ("calloc", "fathomp_calloc"),
    ("realloc", "fathomp_realloc"),
    ("memalign", "fathomp_memalign"),
    ("aligned_alloc", "fathomp_memalign"),
    ("posix_memalign", "fathomp_posix_memalign"),
    ("malloc_usable_size", "fathomp_malloc_usable_size"),
    ("strdup", "fathomp_strdup"),
    ("free", "fathomp_free"),
    ("read", "fathomp_read"),
    ("pread", "fathomp_pread"),
    ("pread64", "fathomp_pread"),
    ("write", "fathomp_write"),
    ("pwrite", "fathomp_pwrite"),
    ("pwrite64", "fathomp_pwrite"),
    ("readv", "fathomp_readv"),
    ("writev", "fathomp_writev"),
    ("recv", "fathomp_recv"),
    ("send", "fathomp_send"),
    ("fread", "fathomp_fread"),
    ("fwrite", "fathomp_fwrite"),
    ("sched_yield", "fathomp_sched_yield"),
    ("sigaction", "fathomp_sigaction"),
    ("signal", "fathomp_signal"),
    ("mmap", "fathomp_mmap"),
    ("mmap64", "fathomp_mmap"),
    ("mprotect", "fathomp_mprotect"),
    ("mremap", "fathomp_mremap"),
    ("munmap", "fathomp_munmap"),
    ("madvise", "fathomp_madvise"),
    ("sigprocmask", "fathomp_sigprocmask"),
    ("pthread_sigmask", "fathomp_pthread_sigmask"),
    ("pthread_create", "fathomp_pthread_create"),
    ("thrd_create", "fathomp_thrd_create"),
    ("timer_create", "fathomp_timer_create"),
    ("mq_notify", "fathomp_mq_notify"),
    ("open", "fathomp_open"),
    ("open64", "fathomp_open"),
    ("openat", "fathomp_openat"),
    ("openat64", "fathomp_openat"),
    ("fopen", "fathomp_fopen"),
    ("fopen64", "fathomp_fopen"),
    ("opendir", "fathomp_opendir"),
    ("access", "fathomp_access"),
    ("unlink", "fathomp_unlink"),
    ("remove", "fathomp_remove"),
    ("rename", "fathomp_rename"),
    ("mkdir", "fathomp_mkdir"),
    ("rmdir", "fathomp_rmdir"),
    ("chdir", "fathomp_chdir"),
    ("stat", "fathomp_stat"),
    ("stat64", "fathomp_stat"),
    ("lstat", "fathomp_lstat"),
    ("lstat64", "fathomp_lstat"),
    ("fstat", "fathomp_fstat"),
    ("fstat64", "fathomp_fstat"),
    ("fstatat", "fathomp_fstatat"),
    ("fstatat64", "fathomp_fstatat"),
    ("__xstat", "fathomp_xstat"),
    ("__xstat64", "fathomp_xstat"),
    ("__lxstat", "fathomp_lxstat"),
    ("__lxstat64", "fathomp_lxstat"),
    ("__fxstat", "fathomp_fxstat"),
    ("__fxstat64", "fathomp_fxstat"),
    ("readlink", "fathomp_readlink"),
    ("__readlink_chk", "fathomp_readlink_chk"),
    ("getcwd", "fathomp_getcwd"),
    ("__getcwd_chk", "fathomp_getcwd_chk"),
    ("getrandom", "fathomp_getrandom"),
    ("getentropy", "fathomp_getentropy"),
    ("getrusage", "fathomp_getrusage"),
    ("getrlimit", "fathomp_getrlimit"),
    ("getrlimit64", "fathomp_getrlimit"),
    ("times", "fathomp_times"),
    ("uname", "fathomp_uname"),
    ("sysinfo", "fathomp_sysinfo"),
    ("getitimer", "fathomp_getitimer"),
    ("sched_getaffinity", "fathomp_sched_getaffinity"),
    ("nanosleep", "fathomp_nanosleep"),
    ("poll", "fathomp_poll"),
    ("select", "fathomp_select"),
    ("epoll_wait", "fathomp_epoll_wait"),
    ("__recv_chk", "fathomp_recv_chk"),
    ("recvfrom", "fathomp_recvfrom"),
    ("sendto", "fathomp_sendto"),
    ("recvmsg", "fathomp_recvmsg"),
    ("sendmsg", "fathomp_sendmsg"),
    ("ioctl", "fathomp_ioctl"),
    ("__read_chk", "fathomp_read_chk"),
    ("__pread_chk", "fathomp_pread_chk"),
    ("__pread64_chk", "fathomp_pread_chk"),
    ("preadv", "fathomp_preadv"),
    ("preadv64", "fathomp_preadv"),
    ("pwritev", "fathomp_pwritev"),
    ("pwritev64", "fathomp_pwritev"),
    ("__fread_chk", "fathomp_fread_chk"),
    ("fchdir", "fathomp_fchdir"),
    ("setenv", "fathomp_setenv"),
    ("unsetenv", "fathomp_unsetenv"),
    ("putenv", "fathomp_putenv"),
    ("clearenv", "fathomp_clearenv"),
    ("umask", "fathomp_umask"),
    ("setlocale", "fathomp_setlocale"),
    ("setrlimit", "fathomp_setrlimit"),
    ("setrlimit64", "fathomp_setrlimit"),
    ("srand", "fathomp_srandom"),
    ("srandom", "fathomp_srandom"),
    ("srand48", "fathomp_srand48"),
    ("bsd_signal", "fathomp_signal"),
    ("ssignal", "fathomp_signal"),
    ("sysv_signal", "fathomp_sysv_signal"),
    ("__sysv_signal", "fathomp_sysv_signal"),
    ("pthread_getattr_np", "fathomp_pthread_getattr"),
    ("_ZSt15set_new_handlerPFvvE", "fathomp_set_new_handler"),
    ("_ZSt13set_terminatePFvvE", "fathomp_set_terminate"),
    ("_ZSt14set_unexpectedPFvvE", "fathomp_set_unexpected"),
    ("_ZNSt6locale6globalERKS_", "fathomp_locale_global"),
    (
        "_ZNSt8ios_base15sync_with_stdioEb",
        "fathomp_sync_with_stdio",
    ),
    ("_gfortran_st_write_done", "fathomp_st_write_done"),
];

/// What stands in front of the C library in either edition.
const ALWAYS_IN_FRONT: [(&str, &str); 1] = [("dlclose", "fathomp_dlclose")];

/// What a library is there for.
pub(crate) enum Edition {
    /// One process.
    Plain,
    /// Several nodes: it also stands in front of the C library. What programs ask
    /// for that were linked with an older one is in a file of assembly, since a
    /// name has one version in a linker's script.
    ///
    /// Another file of assembly makes the loader lay out thread-local variables in whole
    /// pages.
    Cluster { older: PathBuf, tls: PathBuf },
}

/// The command that links the crate `face` into a shared library that the loader knows by `name`:
/// what the version script `map` exports, and what that reaches. What is in `first` comes before
/// the code in the library; the caller adds what follows.
pub(crate) fn shared_library(
    archive: &Path,
    face: &str,
    name: &str,
    map: &Path,
    first: &[&Path],
    output: &Path,
) -> Result<Command, Box<dyn Error>> {
    let load = output.with_extension("load.s");
    fs::write(&load, loading(face))?;
    let mut version_script = OsString::from("-Wl,--version-script=");
    version_script.push(map);
    let mut command = compiler();
    command
        .arg("-shared")
        .args(first)
        .arg(load)
        .arg("-Wl,--whole-archive")
        .arg(archive)
        .arg("-Wl,--no-whole-archive")
        .arg(version_script)
        .arg(format!("-Wl,-soname,{name}"))
        // Bound before main: no lazy binding inside a region or a signal handler, and a copy that
        // dlclose cannot take away from threads that still run in it.
        .args(["-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,nodelete"])
        .args(["-Wl,-z,noexecstack", "-Wl,--no-undefined"])
        .args(["-Wl,--gc-sections", "-Wl,--strip-debug"])
        // The unwinder is linked in, so that the library needs libc alone.
        .args(["-static-libgcc", "-lgcc_eh", "-lpthread", "-ldl"])
        .arg("-o")
        .arg(output);
    Ok(command)
}

/// Assembly that has the loader call what `face` does first and last. It is not in the crates:
/// each library would do it for all of them.
fn loading(face: &str) -> String {
    let entry = |list: &str, function: &str| {
        format!(
            "        .section .{list}, \"aw\", @{list}\n        .balign 8\n        \
             .quad   fathomp_{face}_{function}\n"
        )
    };
    entry("init_array", "load")
        + &entry("fini_array", "finish")
        + "        .section .note.GNU-stack, \"\", @progbits\n"
}

/// Links the runtime: it exports what `map` names, and what is in the files of assembly under
/// other versions.
pub(crate) fn runtime(
    archive: &Path,
    map: &Path,
    other_names: &[PathBuf],
    edition: &Edition,
    output: &Path,
) -> Result<(), Box<dyn Error>> {
    let first = match edition {
        Edition::Plain => None,
        Edition::Cluster { tls, .. } => Some(tls.as_path()),
    };
    let face = match edition {
        Edition::Plain => "abi",
        Edition::Cluster { .. } => "edition",
    };
    let mut command = shared_library(archive, face, SONAME, map, first.as_slice(), output)?;
    command.args(other_names).arg("-lm");
    let mut in_front = ALWAYS_IN_FRONT.to_vec();
    if let Edition::Cluster { older, .. } = edition {
        command
            .arg("-Wl,--undefined=fathomp_begins_a_page")
            .arg(older)
            // A study looks where threads are in one process; local names here would be 0.15 MB of
            // the program.
            .arg("-Wl,--strip-all");
        in_front.extend(IN_FRONT);
    }
    for (name, ours) in in_front {
        command.arg(format!("-Wl,--undefined={ours}"));
        command.arg(format!("-Wl,--defsym={name}={ours}"));
    }
    run(command, "the runtime library")
}

/// Compiles the probe, which finds the library beside itself.
pub(crate) fn probe(source: &Path, library: &Path, output: &Path) -> Result<(), Box<dyn Error>> {
    let mut command = compiler();
    command
        .args(["-O2", "-std=c11", "-Wall", "-Wextra", "-pthread"])
        .arg(source.join("probe.c"))
        .arg(library)
        .args(["-Wl,-rpath,$ORIGIN", "-s", "-o"])
        .arg(output);
    run(command, "the calibration probe")
}

pub(crate) fn compiler() -> Command {
    Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

pub(crate) fn run(mut command: Command, what: &str) -> Result<(), Box<dyn Error>> {
    let status = command.status().map_err(|error| {
        format!("no C compiler to link {what} ({error}): install gcc, or set CC")
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("linking {what} failed: {command:?}").into())
    }
}
