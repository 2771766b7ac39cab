//! The runtime has every entry point of LLVM's interface that an installed clang can emit for the
//! host: their names are strings in the compiler, or in the libraries that it is made of.
#![forbid(unsafe_code)]

use fathomp_requirements::{CLANG, with_tools};
use libtest_mimic::Trial;
use object::{Object as _, ObjectSymbol as _};
use std::collections::BTreeSet;
use std::process::Command;

/// What names of entry points begin with.
const PREFIX: &[u8] = b"__kmpc_";

/// Compilers that may be installed beside each other.
const COMPILERS: [&str; 8] = [
    "clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-20",
];

/// Beginnings of names that only code of devices calls: GPUs' teams, memory that their threads
/// share, and what a host tells the library for devices (`libomptarget`) before it offloads.
const DEVICES: [&str; 24] = [
    "__kmpc_alloc_shared",
    "__kmpc_free_shared",
    "__kmpc_barrier_simple_",
    "__kmpc_begin_sharing_variables",
    "__kmpc_end_sharing_variables",
    "__kmpc_get_shared_variables",
    "__kmpc_distribute_",
    "__kmpc_for_static_loop_",
    "__kmpc_get_hardware_",
    "__kmpc_get_warp_size",
    "__kmpc_global_ctor_",
    "__kmpc_global_dtor_",
    "__kmpc_is_generic_main_thread_id",
    "__kmpc_is_spmd_exec_mode",
    "__kmpc_kernel_",
    "__kmpc_nvptx_",
    "__kmpc_gpu_",
    "__kmpc_parallel_51",
    "__kmpc_parallel_level",
    "__kmpc_reduction_get_fixed_buffer",
    "__kmpc_push_target_tripcount",
    "__kmpc_shuffle_int",
    "__kmpc_target_",
    "__kmpc_syncwarp",
];
const WARPS: &str = "__kmpc_warp_active_thread_mask";

pub(crate) fn trials() -> Vec<Trial> {
    vec![with_tools(
        "emitted::clang_emits_what_the_runtime_has",
        &[CLANG],
        clang_emits_what_the_runtime_has,
    )]
}

fn clang_emits_what_the_runtime_has() {
    let library = fathomp_runtime::unpack().unwrap().library;
    let library = std::fs::read(library).unwrap();
    let library = object::File::parse(&*library).unwrap();
    let symbols = library
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    let ours: BTreeSet<String> = symbols
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect();
    let mut looked = 0;
    for compiler in COMPILERS {
        let emitted = emitted(compiler);
        if emitted.is_empty() {
            continue;
        }
        looked += 1;
        // That strings are found at all.
        for name in [
            "__kmpc_fork_call",
            "__kmpc_for_static_init_4",
            "__kmpc_omp_task",
        ] {
            assert!(emitted.contains(name), "{compiler} does not know {name}");
        }
        let of_device = |name: &&String| {
            name.as_str() == WARPS || DEVICES.iter().any(|prefix| name.starts_with(prefix))
        };
        let missing: Vec<_> = emitted
            .difference(&ours)
            .filter(|name| !of_device(name))
            .collect();
        assert!(
            missing.is_empty(),
            "{compiler} may call what the runtime lacks: {missing:?}"
        );
    }
    assert!(looked > 0, "no compiler has names of entry points");
}

/// Names in a compiler and in the parts of LLVM that it loads; none if it is not installed.
fn emitted(compiler: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let found = Command::new(compiler)
        .arg("-print-prog-name=clang")
        .output();
    let Ok(found) = found else {
        return names;
    };
    let program = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let loaded = Command::new("ldd").arg(&program).output();
    let loaded = loaded.map(|ldd| String::from_utf8_lossy(&ldd.stdout).into_owned());
    let loaded = loaded.unwrap_or_default();
    let parts = loaded
        .lines()
        .filter(|line| line.contains("libLLVM") || line.contains("libclang"))
        .filter_map(|line| line.split_whitespace().nth(2));
    for part in parts.chain([program.as_str()]) {
        if let Ok(bytes) = std::fs::read(part) {
            names.extend(strings(&bytes));
        }
    }
    names
}

/// Strings of C that begin as names of entry points do.
fn strings(bytes: &[u8]) -> impl Iterator<Item = String> {
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    bytes.split(|byte| *byte == 0).filter_map(move |string| {
        let long = string.len() > PREFIX.len() && string.starts_with(PREFIX);
        (long && string.iter().all(is_name)).then(|| String::from_utf8_lossy(string).into_owned())
    })
}
