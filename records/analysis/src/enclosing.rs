//! Regions that reach over the regions inside them.
//!
//! Compilers give a call that enters a region the line of something before it, so
//! the code of a region that ends with another region does not tell where it ends.
//! That the other one was encountered in it does.

use crate::facts::{Lines, Region};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Lengthens every region that lies around a region encountered in it, if both are
/// in one function of the source.
pub(crate) fn reach_over_inner(regions: &mut [Region]) {
    let index: HashMap<String, usize> = regions
        .iter()
        .enumerate()
        .map(|(index, region)| (region.key.clone(), index))
        .collect();
    let mut inmost_first: Vec<usize> = (0..regions.len()).collect();
    inmost_first.sort_by_key(|index| Reverse(regions[*index].level));
    for inner in inmost_first {
        let Some(Lines { file, first, last }) = regions[inner].lines.clone() else {
            continue;
        };
        for parent in regions[inner].parents.clone() {
            let Some(&outer) = index.get(&parent).filter(|outer| **outer != inner) else {
                continue;
            };
            let together = regions[outer].place.function == regions[inner].place.function;
            if let Some(lines) = &mut regions[outer].lines
                && together
                && lines.file == file
                && lines.first <= first
            {
                let most = lines.first.saturating_add(Lines::MOST - 1);
                lines.last = lines.last.max(last).min(most);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::demo;
    use crate::{Options, analyse};

    fn lines(file: &str, first: u32, last: u32) -> Option<Lines> {
        Some(Lines {
            file: file.to_owned(),
            first,
            last,
        })
    }

    #[test]
    fn a_region_ends_no_earlier_than_those_inside_it() {
        let template = analyse(&demo(2), &Options::default()).regions.remove(1);
        let region = |key: &str, level, parent: &str, function: &str, lines| Region {
            key: key.to_owned(),
            level,
            parents: vec![parent.to_owned()],
            place: crate::Place {
                function: Some(function.to_owned()),
                ..crate::Place::default()
            },
            lines,
            ..template.clone()
        };
        let mut regions = [
            region("outer", 1, "serial", "step", lines("a.c", 10, 12)),
            region("inner", 2, "outer", "step", lines("a.c", 20, 24)),
            region("inmost", 3, "inner", "step", lines("a.c", 22, 29)),
            region("called", 2, "outer", "helper", lines("a.c", 50, 60)),
            region("before", 2, "outer", "step", lines("a.c", 1, 5)),
            region("elsewhere", 2, "outer", "step", lines("b.c", 11, 99)),
            region("unknown", 2, "outer", "step", None),
            region("itself", 2, "itself", "step", lines("a.c", 100, 101)),
            region("long", 1, "serial", "step", lines("c.c", 10, 12)),
            region("far", 2, "long", "step", lines("c.c", 900, 910)),
        ];
        reach_over_inner(&mut regions);
        let last = |index: usize| regions[index].lines.as_ref().map(|lines| lines.last);
        assert_eq!(last(0), Some(29));
        assert_eq!(last(1), Some(29));
        assert_eq!(last(2), Some(29));
        assert_eq!(last(7), Some(101));
        assert_eq!(last(8), Some(209), "cut");
    }
}
