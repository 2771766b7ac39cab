//! Which clause made a region run on one thread: gcc passes `if` clauses that are false on as
//! `num_threads(1)`, so the rest of the executions, or the directive in the source, has to tell.
//! And regions that lie in themselves, whose inner executions have one thread.

use crate::facts::{PieceKind, Region};
use fathomp_trace::record::Decider;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Lines that a directive may continue over.
const LINES_MOST: u32 = 12;
/// Lines beyond are not looked for.
const LAST_LINE: u32 = 1_000_000;

impl Region {
    /// Whether it was encountered in itself: its sums then are those of its outermost executions,
    /// but for lengths, which count once for each level.
    #[must_use]
    pub fn is_recursive(&self) -> bool {
        self.parents.contains(&self.key)
    }

    /// Pieces that a recursive region divides its work into, if executions inside it run on one
    /// thread each: what one execution has is all that there is for its team.
    #[must_use]
    pub fn recursive_pieces(&self) -> Option<u64> {
        let alone = self.deciders.get(&Decider::Levels)?.executions;
        let sections = self
            .work
            .pieces
            .iter()
            .find(|one| one.kind == PieceKind::Sections);
        let counted = self.trips.as_ref().map(|trips| trips.most);
        let most = counted.or(sections.map(|one| one.pieces))?;
        (self.is_recursive() && alone > self.instances / 2 && most > 0).then_some(most)
    }
}

/// Says which clause it was, where that is certain. Files are named from `directory`.
pub(crate) fn resolve(region: &mut Region, directory: &Path) {
    let Some(one) = region.deciders.get(&Decider::One).copied() else {
        return;
    };
    // Where executions go by what the program is given, there is no num_threads clause.
    let free = [Decider::Environment, Decider::Routine, Decider::Dynamic];
    let decider = if free.iter().any(|free| region.deciders.contains_key(free)) {
        Decider::If
    } else {
        match directive(region, directory).as_deref().and_then(clause) {
            Some(decider) => decider,
            None => return,
        }
    };
    region.deciders.remove(&Decider::One);
    let known = region.deciders.entry(decider).or_default();
    known.executions += one.executions;
    known.wall_ns = known.wall_ns.saturating_add(one.wall_ns);
    known.team_size_max = known.team_size_max.max(1);
}

/// The region's directive as it is written, continued lines joined.
fn directive(region: &Region, directory: &Path) -> Option<String> {
    let place = &region.place;
    let line = place.line.filter(|line| (1..LAST_LINE).contains(line))?;
    let file = File::open(directory.join(place.file.as_ref()?)).ok()?;
    let mut text = String::new();
    // Compilers name the first line of a directive, or one of those that continue it.
    let first = line.saturating_sub(LINES_MOST).max(1);
    for (number, line_read) in (first..).zip(BufReader::new(file).lines().skip(first as usize - 1))
    {
        let read = line_read.ok()?;
        let end = read.trim_end();
        text.push_str(end);
        text.push(' ');
        let continues = end.ends_with(['\\', '&']);
        match continues {
            true if number < line + LINES_MOST => {}
            false if number < line => text.clear(),
            _ => break,
        }
    }
    Some(text.to_ascii_lowercase())
}

/// Which of the two clauses it has, if it has only one of them. Names of macros may end in `if`.
fn clause(directive: &str) -> Option<Decider> {
    let has_if = directive.match_indices("if").any(|(at, found)| {
        let rest = directive[at + found.len()..].trim_start();
        let before = directive[..at].chars().next_back();
        rest.starts_with('(') && before.is_none_or(|before| !before.is_ascii_alphanumeric())
    });
    match (has_if, directive.contains("num_threads")) {
        (true, false) => Some(Decider::If),
        (false, true) => Some(Decider::Clause),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_read_where_only_one_can_be_meant() {
        let of = |text: &str| clause(text);
        assert_eq!(of("#pragma omp parallel for if(n>1000)"), Some(Decider::If));
        assert_eq!(
            of("!$omp parallel do if (n > 9) &  !$omp private(x)"),
            Some(Decider::If)
        );
        assert_eq!(
            of("cimg_pragma_openmp(parallel for cimg_openmp_if(w>=9))"),
            Some(Decider::If)
        );
        assert_eq!(
            of("#pragma omp parallel num_threads(1)"),
            Some(Decider::Clause)
        );
        assert_eq!(of("#pragma omp parallel num_threads(k) if(k>1)"), None);
        assert_eq!(
            of("#pragma omp parallel for schedule(static) notif(x)"),
            None
        );
        assert_eq!(of("    for (i = 0; i < n; i++)"), None);
    }
}
