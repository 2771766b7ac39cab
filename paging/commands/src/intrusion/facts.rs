//! What a paging recording holds, in the numbers of the published table.

use fathomp_bench::intrusion::{Counted, Recorded};
use fathomp_paging::reader::{OpenError, Recording};
use fathomp_paging::stream::EXTENSION;
use fathomp_paging::{Task, TaskKind};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The facts of the paging recording in `streams`, which `writer` wrote.
pub(super) fn read(streams: &Path, writer: &str) -> Result<Recorded, OpenError> {
    let recording = Recording::open(streams)?;
    Ok(Recorded {
        writer: writer.to_owned(),
        trace_bytes: bytes(streams),
        ..of(&recording)
    })
}

fn of(recording: &Recording) -> Recorded {
    let threads = || {
        let tasks = recording.tasks().iter();
        tasks.filter(|task| task.kind == TaskKind::Thread)
    };
    let (counted, number): (_, fn(&Task) -> Option<u32>) =
        if threads().any(|task| task.node.is_some()) {
            (Counted::Nodes, |task| task.node)
        } else if threads().any(|task| task.rank.is_some()) {
            (Counted::Ranks, |task| task.rank)
        } else {
            (Counted::Tasks, |task| Some(task.id.0))
        };
    let (mut all, mut profiled) = (BTreeSet::new(), BTreeSet::new());
    let mut facts = Recorded {
        counted,
        ..Recorded::default()
    };
    for task in threads() {
        all.extend(number(task));
        let note = recording.end_note(task.id).unwrap_or_default();
        let merged = note.binned.saturating_add(note.merged_early);
        let changes = note.intervals.saturating_add(merged);
        // Of a thread that lived too short to be known by its number, nobody chose anything.
        if recording.is_selected(task.id) && changes > 0 {
            profiled.extend(number(task));
        }
        facts.state_changes += changes;
        facts.merged += merged;
        facts.lost += note.changes_lost;
    }
    facts.nodes = all.len() as u64;
    facts.nodes_profiled = profiled.len() as u64;
    facts
}

/// Bytes of the streams in a directory, wherever they lie.
fn bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == EXTENSION))
        .filter_map(|path| fs::metadata(path).ok())
        .map(|found| found.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_paging::testing::Builder;
    use fathomp_paging::{Activity, Counts, State};

    const COMPUTE: State = State::active(Activity::Compute);

    #[test]
    fn what_a_node_is_depends_on_the_program() {
        let mut plain = Builder::new();
        for task in 0..4 {
            let task_builder = plain.task();
            task_builder.stay(10, COMPUTE, Counts::ZERO);
            task_builder.note().selected = Some(task < 3);
        }
        let facts = of(&plain.build());
        assert_eq!(
            (facts.counted, facts.nodes, facts.nodes_profiled),
            (Counted::Tasks, 4, 3)
        );
        let mut ranks = Builder::new();
        // The program that starts the ranks is none.
        ranks.task().stay(10, COMPUTE, Counts::ZERO);
        for rank in [0, 0, 1] {
            let task = ranks.task();
            task.stay(10, COMPUTE, Counts::ZERO);
            task.note().rank = Some(rank);
        }
        let facts = of(&ranks.build());
        assert_eq!((facts.counted, facts.nodes), (Counted::Ranks, 2));
    }

    #[test]
    fn changes_are_counted_merged_or_not() {
        let mut builder = Builder::new();
        let task = builder.task();
        for end in 1..=10 {
            task.stay(end * 10, COMPUTE, Counts::ZERO);
        }
        task.merge(1000);
        for end in 11..=15 {
            task.stay(end * 10, COMPUTE, Counts::ZERO);
        }
        let facts = of(&builder.build());
        assert_eq!((facts.state_changes, facts.merged, facts.lost), (15, 5, 0));
    }
}
