//! Pieces that work comes in, and the longest of them.

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Options, PieceKind, Pieces, analyse};

fn pieces(work: &[Work]) -> Vec<Pieces> {
    let mut script = Script::new(work.len() as u32);
    script.region(0x1200, work);
    let analysis = analyse(&script.build(), &Options::default());
    let regions = analysis.regions.iter();
    regions
        .flat_map(|region| region.work.pieces.clone())
        .collect()
}

fn chunks(number: u64, each_ns: u64, longest_ns: u64) -> Work {
    Work {
        longest_chunk_ns: longest_ns,
        ..Work::compute(number * each_ns).dynamic(number, number)
    }
}

fn tasks(created: u64, run: u64, work_ns: u64, longest_ns: u64) -> Work {
    Work {
        longest_task_ns: longest_ns,
        ..Work::compute(work_ns).tasks(created, 0, run)
    }
}

#[test]
fn a_long_chunk_among_short_ones_is_known_by_its_time() {
    // 20 chunks, of which one has four tenths of the work.
    let [found] = pieces(&[
        chunks(8, 1_000_000, 6_400_000),
        chunks(12, 666_667, 700_000),
    ])[..] else {
        panic!("one loop");
    };
    assert_eq!((found.kind, found.pieces), (PieceKind::Chunks, 20));
    let longest = found.longest.expect("it is known");
    assert!((longest - 0.4).abs() < 0.01, "{longest}");
}

#[test]
fn equal_chunks_have_no_longest() {
    let [found] = pieces(&[
        chunks(10, 1_000_000, 1_010_000),
        chunks(10, 1_000_000, 1_050_000),
    ])[..] else {
        panic!("one loop");
    };
    assert_eq!((found.pieces, found.longest), (20, None));
}

#[test]
fn of_unlike_tasks_the_longest_is_known() {
    let two = [
        tasks(31, 15, 15_000_000, 1_100_000),
        tasks(0, 16, 15_000_000, 10_000_000),
    ];
    let [found] = pieces(&two)[..] else {
        panic!("one group of tasks");
    };
    assert_eq!((found.kind, found.pieces), (PieceKind::Tasks, 31));
    let longest = found.longest.expect("it is known");
    assert!((longest - 1.0 / 3.0).abs() < 0.01, "{longest}");
}

#[test]
fn of_unlike_tasks_that_were_not_timed_nothing_is_known() {
    // One thread runs one task in the time in which the other runs thirty.
    let two = [tasks(31, 30, 15_000_000, 0), tasks(0, 1, 15_000_000, 0)];
    assert_eq!(pieces(&two), []);
}
