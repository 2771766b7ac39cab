//! Functions that are known by their names: the OpenMP interfaces of gcc (libgomp) and, in
//! [`llvm`], of clang, and what of others matters.

pub(crate) mod llvm;

use fathomp_regions::{BodyKind, CallKind, ScheduleKind};

/// An entry point that starts a body: which of its arguments say what, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Starter {
    pub(crate) kind: BodyKind,
    pub(crate) function: u8,
    /// Threads asked for.
    pub(crate) threads: Option<u8>,
    /// First of the arguments that say a loop's first value, bound and step.
    pub(crate) range: Option<u8>,
}

/// What an entry point starts.
pub(crate) fn starter(name: &str) -> Option<Starter> {
    let name = base(name);
    let starter = |kind, threads, range| Starter {
        kind,
        function: 0,
        threads,
        range,
    };
    Some(match name {
        "GOMP_parallel" | "GOMP_parallel_start" | "GOMP_parallel_reductions" => {
            starter(BodyKind::Parallel, Some(2), None)
        }
        "GOMP_parallel_sections" | "GOMP_parallel_sections_start" => {
            starter(BodyKind::ParallelSections, Some(2), None)
        }
        "GOMP_task" => starter(BodyKind::Task, None, None),
        "GOMP_taskloop" | "GOMP_taskloop_ull" => starter(BodyKind::Taskloop, None, None),
        "GOMP_teams_reg" => starter(BodyKind::Target, None, None),
        "GOMP_target" | "GOMP_target_ext" | "GOMP_target_41" => Starter {
            function: 1,
            ..starter(BodyKind::Target, None, None)
        },
        _ if name.starts_with("GOMP_parallel_loop_") => {
            starter(BodyKind::ParallelLoop, Some(2), Some(3))
        }
        _ => {
            let (kind, function) = llvm::starter(name)?;
            Starter {
                function,
                ..starter(kind, None, None)
            }
        }
    })
}

/// A call that hands out chunks of a worksharing loop, or sections: which of its arguments say
/// what, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worksharing {
    pub(crate) kind: ScheduleKind,
    pub(crate) sections: bool,
    /// Whether it asks for a further chunk rather than begins the loop.
    pub(crate) further: bool,
    /// First value, bound and step.
    pub(crate) range: Option<u8>,
    /// Iterations a chunk.
    pub(crate) chunk: Option<u8>,
    /// Where it puts the bounds of the chunk: two addresses.
    pub(crate) bounds: u8,
}

/// What a call of that name hands out.
pub(crate) fn worksharing(name: &str) -> Option<Worksharing> {
    let name = base(name);
    if let Some(rest) = name.strip_prefix("GOMP_sections") {
        let further = rest == "_next";
        return (further || rest == "_start" || rest == "2_start").then_some(Worksharing {
            kind: ScheduleKind::Dynamic,
            sections: true,
            further,
            range: None,
            chunk: None,
            bounds: 0,
        });
    }
    let rest = name.strip_prefix("GOMP_loop_")?;
    let (rest, shift) = match rest.strip_prefix("ull_") {
        Some(rest) => (rest, 1),
        None => (rest, 0),
    };
    let (what, further) = match rest.strip_suffix("_next") {
        Some(what) => (what, true),
        None if rest == "start" || rest == "ordered_start" => ("", false),
        None => (rest.strip_suffix("_start")?, false),
    };
    let kind = if what.contains("dynamic") {
        ScheduleKind::Dynamic
    } else if what.contains("guided") {
        ScheduleKind::Guided
    } else if what.contains("static") {
        ScheduleKind::Static
    } else {
        ScheduleKind::Runtime
    };
    let (range, chunk, bounds) = if further {
        (None, None, 0)
    } else if what.contains("doacross") {
        (
            None,
            None,
            if kind == ScheduleKind::Runtime { 2 } else { 3 },
        )
    } else if what.is_empty() {
        (Some(shift), Some(shift + 4), shift + 5)
    } else if kind == ScheduleKind::Runtime {
        (Some(shift), None, shift + 3)
    } else {
        (Some(shift), Some(shift + 3), shift + 4)
    };
    Some(Worksharing {
        kind,
        sections: false,
        further,
        range,
        chunk,
        bounds,
    })
}

/// Names that say that a function shares work between threads, beside chunks.
pub(crate) fn is_sharing(name: &str) -> bool {
    worksharing(name).is_some() || starts_single(name) || llvm::shares(base(name))
}

fn starts_single(name: &str) -> bool {
    matches!(base(name), "GOMP_single_start" | "GOMP_single_copy_start")
}

/// Whether a function returns its first argument, which compilers rely on.
pub(crate) fn returns_first_argument(name: &str) -> bool {
    matches!(
        base(name),
        "memset" | "memcpy" | "memmove" | "__memset_chk" | "__memcpy_chk" | "__memmove_chk"
    )
}

/// What a function is, by its name.
pub(crate) fn kind(name: &str) -> CallKind {
    let name = base(name);
    if let Some(rest) = name.strip_prefix("GOMP_") {
        return runtime(rest);
    }
    if name.starts_with("omp_") {
        let lock = name.contains("_lock") || name.contains("_nest_lock");
        return if lock {
            CallKind::Mutex
        } else {
            CallKind::Runtime
        };
    }
    if name.starts_with("GOACC_") {
        return CallKind::Runtime;
    }
    if let Some(rest) = name.strip_prefix("__kmpc_") {
        return llvm::kind(rest);
    }
    if MATH.contains(&name)
        || name
            .strip_suffix(['f', 'l'])
            .is_some_and(|name| MATH.contains(&name))
        || name.starts_with("_ZGV")
        || name.starts_with("__pow")
        || name.starts_with("_gfortran_pow_")
    {
        return CallKind::Math;
    }
    match name {
        "malloc" | "calloc" | "realloc" | "free" | "posix_memalign" | "aligned_alloc" | "_Znwm"
        | "_Znam" | "_ZdlPv" | "_ZdlPvm" | "_ZdaPv" | "_ZdaPvm" => CallKind::Allocation,
        "memcpy" | "memmove" | "memset" | "memcmp" | "bcopy" | "strlen" | "strcmp" | "strcpy"
        | "__memcpy_chk" | "__memset_chk" | "__memmove_chk" => CallKind::Memory,
        _ => CallKind::Other,
    }
}

fn runtime(rest: &str) -> CallKind {
    if rest.starts_with("barrier") {
        CallKind::Barrier
    } else if rest.starts_with("critical") || rest.starts_with("atomic") {
        CallKind::Mutex
    } else if rest.starts_with("task") {
        CallKind::Tasking
    } else if rest.starts_with("parallel") || rest.starts_with("teams") {
        CallKind::Parallel
    } else if rest.starts_with("loop")
        || rest.starts_with("sections")
        || rest.starts_with("single")
        || rest.starts_with("ordered")
        || rest.starts_with("doacross")
        || rest.starts_with("workshare")
    {
        CallKind::Worksharing
    } else {
        CallKind::Runtime
    }
}

/// A name without its version.
pub(crate) fn base(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// Functions of the mathematical library, for doubles.
const MATH: &[&str] = &[
    "sqrt",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "sincos",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "hypot",
    "fabs",
    "fmin",
    "fmax",
    "fmod",
    "fdim",
    "fma",
    "floor",
    "ceil",
    "round",
    "trunc",
    "rint",
    "nearbyint",
    "lround",
    "llround",
    "lrint",
    "llrint",
    "ldexp",
    "frexp",
    "modf",
    "copysign",
    "remainder",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "cexp",
    "cabs",
    "csqrt",
    "cpow",
    "clog",
    "__muldc3",
    "__divdc3",
    "__mulsc3",
    "__divsc3",
    "abs",
    "labs",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_points_are_known_with_their_arguments() {
        let dynamic = starter("GOMP_parallel_loop_nonmonotonic_dynamic@GOMP_4.5").unwrap();
        assert_eq!(
            (dynamic.range, dynamic.kind),
            (Some(3), BodyKind::ParallelLoop)
        );
        assert_eq!(starter("GOMP_parallel_end"), None);
        assert_eq!(starter("GOMP_target").map(|s| s.function), Some(1));
        let next = worksharing("GOMP_loop_ull_guided_next").unwrap();
        assert!(next.further && next.bounds == 0 && next.kind == ScheduleKind::Guided);
        let start = worksharing("GOMP_loop_ull_dynamic_start").unwrap();
        assert_eq!(
            (start.range, start.chunk, start.bounds),
            (Some(1), Some(4), 5)
        );
        let start = worksharing("GOMP_loop_runtime_start").unwrap();
        assert_eq!((start.range, start.chunk, start.bounds), (Some(0), None, 3));
        let start = worksharing("GOMP_loop_start").unwrap();
        assert_eq!(
            (start.range, start.chunk, start.bounds),
            (Some(0), Some(4), 5)
        );
        assert_eq!(worksharing("GOMP_loop_end"), None);
        assert!(worksharing("GOMP_sections_next").unwrap().sections);
    }

    #[test]
    fn functions_have_their_kinds() {
        assert_eq!(kind("GOMP_barrier"), CallKind::Barrier);
        assert_eq!(kind("omp_set_lock"), CallKind::Mutex);
        assert_eq!(kind("sqrtf"), CallKind::Math);
        assert_eq!(kind("free"), CallKind::Allocation);
        assert_eq!(kind("main"), CallKind::Other);
    }
}
