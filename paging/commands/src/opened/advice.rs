//! Whether huge pages would help, and whether it would if the threads that use memory
//! touched it first: from every page fault, and what one costs on this machine.

use fathomp_faults::{FaultFacts, MappingKind, MappingRow};
use fathomp_skyline::questions::pages::{
    Advice, FaultCosts, HUGE_BYTES, MappingFaults, PAGE_BYTES, advise,
};
use fathomp_sys::counters::thread_usage;
use fathomp_types::units;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Mappings that are looked at.
const MAPPINGS_MAX: usize = 64;
/// Memory that is touched to measure what that costs: some milliseconds.
const MEASURED_BYTES: usize = 16 << 20;
/// Faults that touching it must have caused, so that each was of a small page.
const FAULTS_MIN: u64 = MEASURED_BYTES as u64 / PAGE_BYTES / 2;

/// What would help a run of so many nanoseconds. Nothing where faults cost nothing that can
/// be measured, as where the kernel gives huge pages to everybody.
pub(super) fn of(facts: &FaultFacts, wall_ns: u64) -> Vec<Advice> {
    let mappings: Vec<_> = facts
        .mappings
        .iter()
        .take(MAPPINGS_MAX)
        .map(|row| mapping(row, facts))
        .collect();
    if mappings.iter().all(|one| one.bytes < HUGE_BYTES) {
        return Vec::new();
    }
    costs().map_or_else(Vec::new, |costs| advise(&mappings, &costs, wall_ns))
}

/// A mapping with the first touches of all threads of its process, those without any
/// included, in the order in which they began to fault.
fn mapping(row: &MappingRow, facts: &FaultFacts) -> MappingFaults {
    let threads = facts.threads.iter();
    let first_touches = threads
        .filter(|thread| thread.process == row.process)
        .map(|thread| {
            let mut touches = row.first_touches.iter();
            touches
                .find(|touches| touches.thread == thread.thread)
                .map_or(0, |touches| touches.faults)
        });
    let bytes = row.end.saturating_sub(row.start);
    let file = Path::new(&row.name).file_name();
    MappingFaults {
        name: match (row.kind, file) {
            (MappingKind::Heap, _) => "heap".to_owned(),
            // The kernel calls memory without a file `//anon`.
            (MappingKind::Anonymous, Some(file)) if !row.name.starts_with("//") => {
                format!("data of {}", file.to_string_lossy())
            }
            _ => format!("mapped memory of {}", units::bytes(bytes)),
        },
        bytes,
        first_touches: first_touches.collect(),
        is_anonymous: matches!(row.kind, MappingKind::Heap | MappingKind::Anonymous),
        is_huge: row.kind == MappingKind::HugePages,
    }
}

/// What first touches cost here. A huge page costs as much as a small one, and the time to
/// clear the rest of it.
fn costs() -> Option<FaultCosts> {
    let before = thread_usage().minor_faults;
    let begin = Instant::now();
    // The kernel gives pages of zeros one by one, as they are touched.
    let mut memory = vec![0_u8; MEASURED_BYTES];
    for page in memory.chunks_mut(PAGE_BYTES as usize) {
        page[0] = 1;
    }
    black_box(&mut memory);
    let touched_ns = begin.elapsed().as_nanos() as f64;
    let faults = thread_usage().minor_faults.saturating_sub(before);
    if faults < FAULTS_MIN {
        return None;
    }
    let begin = Instant::now();
    memory.fill(2);
    black_box(&mut memory);
    let cleared_ns = begin.elapsed().as_nanos() as f64;
    let small_ns = touched_ns / faults as f64;
    Some(FaultCosts {
        small_ns,
        huge_ns: small_ns + cleared_ns * HUGE_BYTES as f64 / MEASURED_BYTES as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_faults::{FaultCounts, FirstTouches, ThreadFaults};

    fn thread(thread: u32) -> ThreadFaults {
        ThreadFaults {
            process: 7,
            thread,
            program: String::new(),
            counts: FaultCounts::default(),
        }
    }

    fn facts(first_touches: Vec<FirstTouches>) -> FaultFacts {
        FaultFacts {
            threads: vec![thread(7), thread(8)],
            mappings: vec![MappingRow {
                process: 7,
                kind: MappingKind::Anonymous,
                name: String::new(),
                start: 1 << 30,
                end: (1 << 30) + (400 << 20),
                counts: FaultCounts::default(),
                first_touches,
            }],
            ..FaultFacts::default()
        }
    }

    #[test]
    fn threads_without_touches_count_as_threads() {
        let facts = facts(vec![FirstTouches {
            thread: 7,
            faults: 102_400,
        }]);
        let mapping = mapping(&facts.mappings[0], &facts);
        assert_eq!(mapping.first_touches, [102_400, 0]);
        assert_eq!(mapping.name, "mapped memory of 400 MiB");
    }

    #[test]
    fn many_first_touches_of_a_short_run_are_worth_a_word() {
        if costs().is_none() {
            // The kernel gives huge pages to everybody here.
            return;
        }
        let first = FirstTouches {
            thread: 7,
            faults: 102_400,
        };
        let advice = of(&facts(vec![first]), 200_000_000);
        let workers = |one: &Advice| matches!(one, Advice::FirstTouchByWorkers { .. });
        assert!(advice.iter().any(workers), "{advice:?}");
        assert!(of(&facts(Vec::new()), 200_000_000).is_empty());
        assert!(of(&facts(vec![first]), u64::MAX).is_empty());
    }
}
