//! Totals of regions whose values come in any order, in a process that has one plan.
// A program of its own: a process takes one plan, once.

mod common;

use common::{body, fork, identity, known};
use fathomp_omp::trips;
use fathomp_sys::modules;
use fathomp_sys::outlined::Opaque;
use fathomp_sys::safe_read::Leave;
use fathomp_trips::{ModulePlan, Plan};

extern "C" fn another(_: Opaque) {
    std::hint::black_box(2);
}

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
    let total = |first: u64| known(&fork(another, &[first, 2, 3])).unwrap();
    // What a look costs is printed, too; it means something in the runtime's profile.
    let time = |what: &str, next: &dyn Fn(u64) -> u64| {
        let rounds = 200_000_u64;
        let mut sum = 0;
        let begin = std::time::Instant::now();
        for round in 0..rounds {
            let block = std::hint::black_box([next(round), 2, 3]);
            sum += known(&fork(another, &block)).unwrap();
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
