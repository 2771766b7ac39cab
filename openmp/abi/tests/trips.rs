//! Words of regions that are about to begin, read by a plan.
// A program of its own: a process takes one plan, once.

mod common;

use common::{body, fork, identity, known};
use fathomp_omp::trips;
use fathomp_sys::modules;
use fathomp_sys::outlined::Opaque;
use fathomp_sys::safe_read::Leave;
use fathomp_trips::{Identity, ModulePlan, Plan};
use std::sync::atomic::{AtomicI64, Ordering};

static GLOBAL: AtomicI64 = AtomicI64::new(3);

extern "C" fn planned(_: Opaque) {
    std::hint::black_box(1);
}

extern "C" fn another(_: Opaque) {
    std::hint::black_box(2);
}

/// One test, since a process has one plan.
#[test]
fn totals_are_those_of_the_block_and_of_memory_behind_it() {
    let function = planned as *const () as usize;
    let loaded = modules::loaded(function).unwrap();
    let address = function as u64 - loaded.bias;
    let global = std::ptr::from_ref(&GLOBAL).addr() as u64 - loaded.bias;
    // An element behind a pointer, a field and a variable.
    let total = format!(
        "(+ (* (load4 (+ data 8)) (load8 module+{global:#x})) (load8 (+ (load8 data) 16)))"
    );
    let plan = |address, total: &str, identity| {
        let body = fathomp_trips::compile(&body(address, total)).unwrap();
        let plan = Plan {
            modules: vec![ModulePlan {
                identity,
                bodies: vec![body],
            }],
        };
        let plan = Plan::from_bytes(&plan.to_bytes()).unwrap();
        &*Box::leak(Box::new(plan))
    };
    // SAFETY: blocks of three words are handed over, as the plans say.
    let leave = unsafe { Leave::new() };

    let mut far = [0_u64, 0, 1000];
    let mut block = [far.as_ptr().addr() as u64, 7, 0];
    assert_eq!(known(&fork(planned, &block)), None, "no plan yet");

    trips::install(plan(address, &total, identity(&loaded)), leave);
    assert_eq!(known(&fork(another, &block)), None);
    for round in 1..4 {
        // Two sizes in turn, as multigrid methods have them.
        for size in [5, 6, 5, 6] {
            block[1] = size;
            assert_eq!(known(&fork(planned, &block)), Some(size * 3 * round + 1000));
        }
        GLOBAL.store(3 * (round as i64 + 1), Ordering::Relaxed);
    }
    GLOBAL.store(0, Ordering::Relaxed);
    assert_eq!(known(&fork(planned, &block)), Some(1000));
    // Behind a pointer changes are seen within some microseconds.
    far[2] = 2000;
    std::hint::black_box(&far);
    std::thread::sleep(std::time::Duration::from_millis(1));
    assert_eq!(known(&fork(planned, &block)), Some(2000));
    // Nothing is there to be read: not known, and no fault.
    block[0] = 8;
    assert_eq!(known(&fork(planned, &block)), None);
    block[0] = u64::MAX - 16;
    assert_eq!(known(&fork(planned, &block)), None);
    let mut none = fork(planned, &block);
    none.data = Opaque(0);
    assert_eq!(known(&none), None);

    // More sets than are kept: right all the same.
    trips::install(plan(address, "(load8 data)", identity(&loaded)), leave);
    for size in 0..5000 {
        assert_eq!(known(&fork(planned, &[size, 0, 0])), Some(size));
    }
    assert_eq!(known(&fork(planned, &[5, 0, 0])), Some(5));

    // Another build.
    let other = Identity::BuildId(vec![1; 20]);
    trips::install(plan(address, "(load8 data)", other), leave);
    assert_eq!(known(&fork(planned, &[5, 0, 0])), None);
}
