//! Prints what processes left in the ring files of a live directory, to look at by hand:
//! `dump DIRECTORY [all]`.
#![allow(missing_docs, dead_code, reason = "no interface of the crate")]

#[path = "../tests/support/feed.rs"]
mod feed;

use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(live) = arguments.next() else {
        eprintln!("usage: dump DIRECTORY [all]");
        return;
    };
    let all = arguments.next().is_some();
    for process in feed::processes(Path::new(&live)) {
        let facts = &process.facts;
        let end = facts.end.as_ref();
        println!(
            "{} [{}] of {}: {} threads, {:?}, rank {:?}, calls {:?} of {:?}{}",
            facts.program,
            facts.pid,
            facts.parent,
            process.threads.len(),
            end.map(|end| end.ending),
            facts.rank,
            end.map(|end| end.io_calls_seen),
            end.and_then(|end| end.io_calls_made),
            if end.is_some_and(|end| end.environment_cleared) {
                ", cleared"
            } else {
                ""
            },
        );
        for thread in &process.threads {
            let mut sums = BTreeMap::<_, (u64, f64, u64, u64, u64)>::new();
            for stay in process.stays_of(thread) {
                use fathomp_paging::Counter;
                if all {
                    let counts: Vec<_> = stay.counts.nonzero().collect();
                    println!(
                        "    {:?} {} {:.0} ns {counts:?}",
                        stay.state, stay.cause, stay.ns
                    );
                }
                let sum = sums.entry((stay.state, stay.cause)).or_default();
                sum.0 += 1;
                sum.1 += stay.ns;
                sum.2 += stay.counts[Counter::MinorFaults];
                sum.3 += stay.counts[Counter::BytesRead];
                sum.4 += stay.counts[Counter::BytesWritten];
            }
            println!("  {:?}", thread.last());
            for ((state, cause), (times, ns, faults, read, written)) in sums {
                println!(
                    "  {:13} {} {cause:20} {times:8} x {:12.0} ns, {faults} faults, {read} B read, {written} B written",
                    state.activity.name(),
                    if state.suspended {
                        "suspended"
                    } else {
                        "active   "
                    },
                    ns,
                );
            }
        }
    }
}
