//! Regions of edited sources are recognised, and never taken for others.

use super::*;
use fathomp_analysis::{Analysis, Lines};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A region of a function, on these lines, executed so often.
fn region(function: &str, first: u32, last: u32, executions: u64) -> Known {
    let mut region = Analysis::empty().regions.swap_remove(0);
    region.kind = SiteKind::Parallel;
    region.key = format!("parallel:/bin/solve+{:#x}", u64::from(first) * 0x100);
    region.name = format!("solve.c:{first}");
    region.place.function = Some(function.to_owned());
    region.place.file = Some("/src/solve.c".to_owned());
    region.place.line = Some(first);
    region.place.column = Some(9);
    region.lines = Some(Lines {
        file: "/src/solve.c".to_owned(),
        first,
        last,
    });
    region.instances = executions;
    Known::new(&region, None)
}

/// Names before and after, of what was matched.
fn matched(before: &[Known], after: &[Known]) -> Vec<(Vec<String>, Vec<String>, How)> {
    let names = |side: &[Known], regions: &[usize]| -> Vec<String> {
        regions.iter().map(|one| side[*one].name.clone()).collect()
    };
    let mut found: Vec<_> = pairs(before, after)
        .into_iter()
        .map(|pair| {
            (
                names(before, &pair.before),
                names(after, &pair.after),
                pair.how,
            )
        })
        .collect();
    found.sort();
    found
}

fn one(before: u32, after: u32, how: How) -> (Vec<String>, Vec<String>, How) {
    let name = |line: u32| vec![format!("solve.c:{line}")];
    (name(before), name(after), how)
}

#[test]
fn lines_that_move_take_their_regions_along() {
    let before = [
        region("fill", 10, 12, 3),
        region("fill", 20, 22, 3),
        region("step", 30, 40, 9),
    ];
    let after = [
        region("fill", 13, 15, 3),
        region("fill", 23, 25, 3),
        region("step", 33, 43, 9),
    ];
    assert_eq!(
        matched(&before, &after),
        [
            one(10, 13, How::Place),
            one(20, 23, How::Place),
            one(30, 33, How::Place)
        ]
    );
}

#[test]
fn a_region_that_was_edited_is_found_between_those_that_were_not() {
    let before = [
        region("main", 10, 12, 1),
        region("main", 20, 25, 7),
        region("main", 30, 38, 1),
    ];
    let after = [
        region("main", 10, 12, 1),
        region("main", 20, 29, 7),
        region("main", 34, 42, 1),
    ];
    assert_eq!(
        matched(&before, &after),
        [
            one(10, 10, How::Place),
            one(20, 20, How::Order),
            one(30, 34, How::Place)
        ]
    );
    // The only one of its function needs no neighbours.
    let found = matched(&[region("f", 1, 3, 1)], &[region("f", 2, 9, 1)]);
    assert_eq!(found, [one(1, 2, How::OnlyOne)]);
}

#[test]
fn a_region_that_was_split_is_compared_with_both_halves() {
    let before = [region("main", 10, 20, 5), region("main", 30, 33, 5)];
    let after = [
        region("main", 10, 14, 5),
        region("main", 15, 21, 5),
        region("main", 31, 34, 5),
    ];
    let name = |lines: &[u32]| -> Vec<String> {
        lines.iter().map(|line| format!("solve.c:{line}")).collect()
    };
    assert_eq!(
        matched(&before, &after),
        [
            (name(&[10]), name(&[10, 15]), How::Together),
            one(30, 31, How::Place)
        ]
    );
}

#[test]
fn what_is_new_or_gone_is_not_taken_for_another() {
    // The first is gone and a last has come, so that each stands where another stood.
    let before = [region("main", 10, 12, 1), region("main", 20, 25, 1)];
    let after = [region("main", 10, 15, 1), region("main", 20, 40, 1)];
    assert_eq!(matched(&before, &after), [one(20, 10, How::Place)]);
    // Other functions, and functions of other files that are called alike, are others.
    assert!(matched(&[region("f", 1, 3, 1)], &[region("g", 1, 3, 1)]).is_empty());
    let mut other = region("main", 1, 9, 1);
    other.file = Some("other.c".to_owned());
    assert!(matched(&[region("main", 1, 3, 1)], &[other.clone()]).is_empty());
    // A copy of the file is not.
    other.lines = Some(2);
    assert_eq!(
        matched(&[region("main", 1, 3, 1)], &[other]),
        [one(1, 1, How::Place)]
    );
}

#[test]
fn addresses_count_only_within_one_build() {
    let build = |id: &str, function: &str| Known {
        build: Some(id.to_owned()),
        ..region(function, 10, 12, 1)
    };
    // Inlined elsewhere: the same code, whatever it is called.
    assert_eq!(
        matched(&[build("aa", "f")], &[build("aa", "g")]),
        [one(10, 10, How::SameCode)]
    );
    assert!(matched(&[build("aa", "f")], &[build("bb", "g")]).is_empty());
}

#[test]
fn a_history_follows_a_region_through_all_sides() {
    let sides = [
        vec![region("f", 1, 3, 1), region("g", 10, 12, 1)],
        vec![region("f", 4, 6, 1)],
        vec![
            region("f", 7, 9, 1),
            region("g", 20, 22, 1),
            region("h", 30, 31, 1),
        ],
    ];
    let found = follow(&sides);
    let rows: Vec<&Vec<Vec<usize>>> = found.iter().map(|one| &one.regions).collect();
    assert_eq!(
        rows,
        [
            &vec![vec![0], vec![0], vec![0]],
            &vec![vec![1], vec![], vec![1]],
            &vec![vec![], vec![], vec![2]]
        ]
    );
    assert_eq!(found[1].how, [None, None, Some(How::Place)]);
}

#[test]
fn regions_that_were_joined_become_one_row() {
    let sides = [
        vec![region("f", 1, 3, 1), region("f", 5, 9, 1)],
        vec![region("f", 1, 12, 1)],
    ];
    let found = follow(&sides);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].regions, [vec![0, 1], vec![0]]);
    assert_eq!(found[0].how, [None, Some(How::Together)]);
}

fn regions() -> impl Strategy<Value = Vec<Known>> {
    let one =
        (0..3_u32, 1..40_u32, 0..6_u32, 1..3_u64).prop_map(|(function, first, more, times)| {
            region(&format!("f{function}"), first, first + more, times)
        });
    proptest::collection::vec(one, 0..8)
}

proptest! {
    #[test]
    fn each_region_is_in_one_row_and_functions_do_not_mix(
        sides in proptest::collection::vec(regions(), 1..4),
    ) {
        let found = follow(&sides);
        for (side, known) in sides.iter().enumerate() {
            let mut all: Vec<usize> =
                found.iter().flat_map(|row| row.regions[side].iter().copied()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..known.len()).collect::<Vec<_>>());
        }
        for row in &found {
            let mut functions = BTreeSet::new();
            for (side, regions) in row.regions.iter().enumerate() {
                functions.extend(regions.iter().map(|one| &sides[side][*one].function));
            }
            prop_assert_eq!(functions.len(), 1);
        }
    }

    #[test]
    fn what_is_unchanged_is_its_own_match_wherever_it_moves(
        mut known in regions(),
        lines in 0..50_u32,
    ) {
        known.sort_by_key(Known::order);
        known.dedup_by_key(|one| one.line);
        let moved: Vec<Known> = known
            .iter()
            .map(|one| Known { line: one.line.map(|line| line + lines), ..one.clone() })
            .collect();
        let pairs = pairs(&known, &moved);
        prop_assert_eq!(pairs.len(), known.len());
        for pair in pairs {
            prop_assert_eq!(&pair.before, &pair.after);
        }
    }
}
