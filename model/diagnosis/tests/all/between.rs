//! Serial code between short regions, which takes longer once other threads write what it reads.

use crate::known;
use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Analysis, Options, State, analyse};
use fathomp_diagnosis::{Cause, Kind};

const REGION: u64 = 0x1200;

/// Regions of `work`, each behind serial code of `serial_ns`.
fn by_turns(work: &[Work], serial_ns: u64, times: usize) -> Analysis {
    let mut script = Script::new(work.len() as u32);
    for _ in 0..times {
        script.serial(serial_ns);
        script.region(REGION, work);
    }
    analyse(&script.build(), &Options::default())
}

fn causes(analyses: &[Analysis]) -> Vec<Cause> {
    known::of(analyses).causes
}

fn cost(causes: &[Cause], kind: Kind) -> f64 {
    let of_kind = causes.iter().filter(|one| one.kind == kind);
    of_kind.map(|one| one.measured.ns).sum()
}

fn team(work_ns: u64, barrier_ns: u64) -> Vec<Work> {
    let one = || Work::compute(work_ns).and(State::ImplicitBarrier, barrier_ns);
    vec![one(), one()]
}

#[test]
fn serial_code_that_short_regions_lengthen_is_their_cost() {
    let alone = by_turns(&[Work::compute(1_000)], 200, 1_000);
    let two = by_turns(&team(500, 400), 1_000, 1_000);
    let found = causes(&[alone, two]);
    let first = &found[0];
    assert_eq!(first.kind, Kind::ShortRegions, "{found:#?}");
    let told = "the serial code between short regions takes 800 µs longer than with 1 thread";
    assert!(first.evidence.contains(told), "{}", first.evidence);
    // What is left is what one thread takes, as far as a second could have done half of it.
    let serial = cost(&found, Kind::SerialPart);
    assert!((serial - 100_000.0).abs() < 5_000.0, "{serial}");
}

#[test]
fn serial_code_grows_by_no_more_than_a_region_can_add() {
    // 50 µs longer behind each region is no matter of cache lines.
    let alone = by_turns(&[Work::compute(1_000)], 50_000, 1_000);
    let two = by_turns(&team(500, 400), 100_000, 1_000);
    let found = causes(&[alone, two]);
    assert_eq!(found[0].kind, Kind::SerialPart, "{found:#?}");
    assert!(cost(&found, Kind::SerialPart) > 45e6);
}

#[test]
fn serial_code_is_not_lengthened_by_long_regions() {
    let alone = by_turns(&[Work::compute(2_000_000)], 200_000, 20);
    let two = by_turns(&team(1_000_000, 1_000), 400_000, 20);
    let found = causes(&[alone, two]);
    assert!(found.iter().all(|one| one.kind != Kind::ShortRegions));
    assert!(cost(&found, Kind::SerialPart) > 3.9e6, "{found:#?}");
}
