//! The readers, by what they read.

mod answers;
mod damage;
mod feed;
mod hosts;
mod memory;
mod nodes;
mod options;
mod paging;
mod plans;
mod programs;
mod sources;
mod traces;

use crate::target::Target;

/// All of them.
pub const ALL: &[Target] = &[
    damage::BLOCKS,
    traces::STREAM,
    traces::META,
    traces::RING,
    paging::STREAM,
    paging::META,
    paging::FAULTS,
    paging::SETUP,
    feed::MESSAGES,
    feed::WORDS,
    feed::RING_FILE,
    feed::PAST,
    memory::RING,
    memory::BOARD,
    memory::EVENTS,
    nodes::MESSAGE,
    nodes::DIFF,
    nodes::FRAME,
    nodes::ORDER,
    nodes::LETTER,
    nodes::WORLD,
    nodes::TRANSPORT,
    hosts::FRAMES,
    hosts::HANDOVER,
    hosts::FACTS,
    hosts::CONTROL,
    hosts::OPENING,
    hosts::LIST,
    programs::IMAGE,
    programs::SCAN,
    programs::PATCH,
    programs::SYMBOLS,
    programs::INSTRUCTIONS,
    programs::DRY,
    sources::C,
    sources::CPP,
    sources::FREE,
    sources::FIXED,
    sources::COMMANDS,
    plans::PLAN,
    plans::REGIONS,
    plans::EXPRESSION,
    plans::ADVICE,
    plans::TABLE,
    plans::CHOICES,
    answers::MACHINE,
    answers::CLUSTER,
    answers::COUNTS,
    answers::WEIGHTS,
    answers::BENCH,
    answers::CALLGRIND,
    answers::ACCESSES,
    answers::SHARING,
    options::ENVIRONMENT,
    options::ARGUMENTS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_differ() {
        let names: BTreeSet<_> = ALL.iter().map(|target| target.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    /// Else nothing behind the first check would be reached.
    #[test]
    fn what_targets_begin_with_is_read() {
        let mut refused = Vec::new();
        for target in ALL {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{} begins with nothing", target.name);
            let said = seeds.iter().map(|seed| (target.read)(seed));
            refused.extend(
                (0..)
                    .zip(said)
                    .filter(|(_, said)| said.is_refused())
                    .map(|(number, _)| format!("{} {number}", target.name)),
            );
        }
        // The room of this process is nobody else's.
        std::fs::remove_dir_all(crate::room::path()).unwrap();
        assert!(refused.is_empty(), "{refused:?}");
    }
}
