//! Other names of the library's functions.
//!
//! LLVM's library has everything under one version, whatever gcc's has it under. Programs linked
//! with it ask for that.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The version of LLVM's library.
const VERSION: &str = "VERSION";

/// Routines that LLVM's header for C calls by names of their own, with what stands between `omp`
/// or `kmp` and `_` in these.
const FOR_C: [&str; 22] = [
    "omp_set_affinity_format",
    "omp_get_affinity_format",
    "omp_display_affinity",
    "omp_capture_affinity",
    "omp_get_ancestor_thread_num",
    "omp_get_team_size",
    "omp_set_dynamic",
    "omp_set_max_active_levels",
    "omp_set_nested",
    "omp_set_num_threads",
    "omp_set_schedule",
    "kmp_aligned_malloc",
    "kmp_calloc",
    "kmp_free",
    "kmp_malloc",
    "kmp_realloc",
    "kmp_set_blocktime",
    "kmp_set_defaults",
    "kmp_set_disp_num_buffers",
    "kmp_set_library",
    "kmp_set_stacksize",
    "kmp_set_stacksize_s",
];

/// Routines that LLVM's library answers in another way than gcc's.
const OTHERWISE: [&str; 10] = [
    "omp_get_affinity_format",
    "omp_get_affinity_format_",
    "omp_display_affinity",
    "omp_display_affinity_",
    "omp_capture_affinity",
    "omp_capture_affinity_",
    "omp_get_schedule",
    "omp_get_schedule_",
    "omp_get_schedule_8_",
    "omp_get_device_from_uid",
];

/// What atomic updates of 80-bit numbers do.
const OF_80_BITS: &[&str] = &[
    "add",
    "add_cpt",
    "div",
    "div_cpt",
    "div_cpt_rev",
    "div_rev",
    "mul",
    "mul_cpt",
    "rd",
    "sub",
    "sub_cpt",
    "sub_cpt_rev",
    "sub_rev",
    "swp",
    "wr",
];

/// Entry points of LLVM's library that the runtime does not have, by the beginnings of their names
/// and what may follow: atomic updates of 80-bit numbers, and graphs of tasks.
const NOT_OF_LLVM: [(&str, &[&str]); 7] = [
    ("__kmpc_atomic_float10_", OF_80_BITS),
    ("__kmpc_atomic_cmplx10_", OF_80_BITS),
    (
        "__kmpc_atomic_float10_",
        &["max", "max_cpt", "min", "min_cpt"],
    ),
    (
        "__kmpc_atomic_cmplx4_",
        &["add_cmplx8", "div_cmplx8", "mul_cmplx8", "sub_cmplx8"],
    ),
    ("__kmpc_task_get_", &["depnode", "successors"]),
    ("__kmpc_for_", &["collapsed_init"]),
    (
        "__kmpc_",
        &["calc_original_ivs_rectang", "process_loop_nest_rectang"],
    ),
];

/// What LLVM's programs mean by `name`.
fn meant(name: &str) -> String {
    let prefix = if OTHERWISE.contains(&name) {
        "fathomp_llvm_"
    } else {
        ""
    };
    format!("{prefix}{name}")
}

/// Writes assembly in which each function that the version script `interface` names as a part of
/// OpenMP has another name, under LLVM's version, and each that the script `missing` names ends the
/// program with a line that names it, as do those of LLVM's library that are not provided.
pub(crate) fn write(interface: &str, missing: &str, output: &Path) -> Result<(), Box<dyn Error>> {
    let mut assembly = String::from("        .text\n");
    // A jump keeps the return address and all arguments.
    let mut stub = |name: &str, leads_to: &str| {
        write!(
            assembly,
            "        .globl  {name}\n        .type   {name}, @function\n\
             {name}:\n        jmp     {leads_to}@PLT\n\
             \x20       .size   {name}, . - {name}\n",
        )
    };
    let functions: Vec<_> = functions(interface).collect();
    for name in &functions {
        stub(&format!("llvm_{name}"), &meant(name))?;
    }
    for name in FOR_C {
        let (library, routine) = name.split_once('_').unwrap_or((name, ""));
        stub(&format!("{library}c_{routine}"), &meant(name))?;
    }
    for name in functions {
        writeln!(assembly, "        .symver llvm_{name}, {name}@{VERSION}")?;
    }
    let of_llvm = NOT_OF_LLVM.iter().flat_map(|(start, ends)| {
        let name = move |end: &&str| format!("{start}{end}");
        ends.iter().map(name)
    });
    for name in listed(missing).map(str::to_owned).chain(of_llvm) {
        write!(
            assembly,
            "        .globl  {name}\n        .type   {name}, @function\n\
             {name}:\n        leaq    .Lname_{name}(%rip), %rdi\n        jmp     fathomp_missing@PLT\n\
             \x20       .size   {name}, . - {name}\n\
             \x20       .section .rodata.str1.1, \"aMS\", @progbits, 1\n\
             .Lname_{name}:\n        .string \"{name}\"\n        .text\n",
        )?;
    }
    assembly.push_str("        .section .note.GNU-stack, \"\", @progbits\n");
    fs::write(output, assembly)?;
    Ok(())
}

/// The functions of OpenMP in a version script of one name a line.
fn functions(interface: &str) -> impl Iterator<Item = &str> {
    listed(interface).filter(|name| name.starts_with("omp_") || name.starts_with("GOMP_"))
}

/// The names in a version script of one name a line.
fn listed(interface: &str) -> impl Iterator<Item = &str> {
    let entries = interface
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'));
    entries.filter(|entry| !entry.starts_with('}'))
}
