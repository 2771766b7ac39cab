//! Totals of regions whose values come in any order, in a process that has one plan.

use fathomp_omp::parallel::Fork;
use fathomp_omp::trips;
use fathomp_regions::{Body, Known, Loop, LoopRole, Schedule, ScheduleKind};
use fathomp_sys::modules;
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::peek::Leave;
use fathomp_trips::{Identity, ModulePlan, Plan};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

extern "C" fn another(_: Opaque) {
    std::hint::black_box(2);
}

fn fork(function: extern "C" fn(Opaque), block: &[u64]) -> Fork<'static> {
    Fork {
        // SAFETY: it does nothing with its argument.
        function: unsafe { Outlined::from_program(function) },
        data: Opaque(block.as_ptr().addr()),
        threads: 0,
        bind: None,
        call: 0,
        preset: None,
        prepare: None,
    }
}

fn body(address: u64, total: &str) -> Body {
    Body {
        address,
        data_bytes: 24,
        loops: vec![Loop {
            parent: None,
            depth: 0,
            innermost: true,
            header: address,
            place: None,
            trips: Known::Known("(/ 1 0)".parse().unwrap()),
            worksharing: Some(Schedule {
                kind: ScheduleKind::Static,
                chunk: None,
                total: Some(total.parse().unwrap()),
            }),
            role: LoopRole::Whole,
            entered_if: None,
        }],
        ..Body::default()
    }
}

fn identity(loaded: &modules::Loaded) -> Identity {
    if !loaded.build_id.is_empty() {
        return Identity::BuildId(loaded.build_id.clone());
    }
    let path = std::fs::canonicalize(&loaded.path).unwrap();
    let data = std::fs::metadata(&path).unwrap();
    Identity::File {
        path: path.as_os_str().as_bytes().to_vec(),
        size: data.len(),
        changed_unix_ns: data.mtime() as u64 * 1_000_000_000 + data.mtime_nsec() as u64,
    }
}

/// One test, since a process has one plan.
#[test]
fn looks_at_values_in_any_order_give_their_totals() {
    let function = another as *const () as usize;
    let loaded = modules::loaded(function).unwrap();
    let mut fifteen = "(load8 data)".to_owned();
    for offset in [8, 16, 8, 16] {
        fifteen = format!("(max (/ (+ {fifteen} 3) 4) (load8 (+ data {offset})))");
    }
    let plan = Plan {
        modules: vec![ModulePlan {
            identity: identity(&loaded),
            bodies: vec![
                fathomp_trips::compile(&body(function as u64 - loaded.bias, &fifteen)).unwrap(),
            ],
        }],
    };
    // SAFETY: blocks of three words are handed over, as the plan says.
    trips::install(Box::leak(Box::new(plan)), unsafe { Leave::new() });
    let total = |first: u64| trips::total(&fork(another, &[first, 2, 3])).unwrap();
    // What a look costs is printed, too; it means something in the runtime's profile.
    let time = |what: &str, next: &dyn Fn(u64) -> u64| {
        let rounds = 200_000_u64;
        let mut sum = 0;
        let begin = std::time::Instant::now();
        for round in 0..rounds {
            let block = std::hint::black_box([next(round), 2, 3]);
            sum += trips::total(&fork(another, &block)).unwrap();
        }
        let each = begin.elapsed().as_nanos() as f64 / rounds as f64;
        println!("{what}: {each:.1} ns");
        let period = (0..8).map(|round| total(next(round))).sum::<u64>();
        if (0..8).all(|round| next(round) == next(round + 8)) {
            assert_eq!(sum, rounds / 8 * period, "{what}");
        }
    };
    time("the same values", &|_| 100);
    time("two sets in turn", &|round| round % 2 * 50);
    time("eight sets in turn", &|round| round % 8 * 50);
    time("never the same", &|round| round);
}
