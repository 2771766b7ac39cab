//! How much was understood.

use crate::text::{Grid, percent, printable};
use fathomp_regions::{Coverage, ReasonKind, Regions, Share};

pub(super) fn table(text: &mut String, regions: &Regions, width: usize) {
    let mut grid = Grid::new("Understood")
        .column("Regions", 0)
        .column("Loop counts", 0)
        .column("Innermost accesses", 0)
        .column("By weight", 2)
        .column("Other accesses", 1);
    let modules = regions.modules.iter().map(|one| (&one.path, &one.coverage));
    let sources = regions.sources.iter().map(|one| (&one.path, &one.coverage));
    let mut reasons: Vec<(ReasonKind, u64)> = Vec::new();
    for (path, coverage) in modules.chain(sources) {
        grid.row(printable(path), row(coverage));
        for (kind, times) in &coverage.unknown {
            match reasons.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => *sum += times,
                None => reasons.push((*kind, *times)),
            }
        }
    }
    text.push_str(&grid.render(width));
    reasons.sort_by_key(|(kind, times)| (std::cmp::Reverse(*times), *kind));
    for (kind, times) in reasons {
        text.push_str(&format!("  {times} not known: {}\n", reason(kind)));
    }
    for source in &regions.sources {
        let lines: u64 = source
            .unread
            .iter()
            .map(|(first, last)| u64::from(last.saturating_sub(*first)) + 1)
            .sum();
        if lines > 0 {
            let first = source.unread.first().map_or(0, |(first, _)| *first);
            text.push_str(&format!(
                "  {}: {lines} of {} lines could not be read, the first of them {first}\n",
                printable(&source.path),
                source.lines
            ));
        }
    }
}

fn row(coverage: &Coverage) -> Vec<String> {
    let weight = &coverage.innermost_accesses;
    vec![
        share(&coverage.bodies),
        share(&coverage.trips),
        share(&coverage.innermost_accesses),
        if weight.all_weight > 0.0 {
            percent(weight.known_weight / weight.all_weight)
        } else {
            String::new()
        },
        share(&coverage.outer_accesses),
    ]
}

fn share(share: &Share) -> String {
    format!("{}/{}", share.known, share.all)
}

fn reason(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::Call => "a value that a call left",
        ReasonKind::ChangedMemory => "a value from memory that the loop may change",
        ReasonKind::DataDependentExit => "a loop whose end depends on data",
        ReasonKind::Irreducible => "a loop with several entries",
        ReasonKind::MergedValue => "a value that differs by the way control took",
        ReasonKind::Instruction => "an instruction whose effect is not followed",
        ReasonKind::IndirectJump => "a jump whose targets are not known",
        ReasonKind::Undecodable => "bytes that are no instructions",
        ReasonKind::TooLarge => "an expression that grew too large",
        ReasonKind::Unreadable => "source that could not be read",
        ReasonKind::NotAffine => "a subscript or head of a loop that is no sum of loop variables",
        ReasonKind::Other => "other reasons",
    }
}
