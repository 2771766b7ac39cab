//! Accesses that belong together: to elements of a structure, or of an unrolled loop.

use crate::accesses::Classified;
use fathomp_regions::{Access, AccessClass};
use std::collections::BTreeMap;

/// Accesses further apart are not of one group, if no stride is larger.
const NEAR: i64 = 256;
/// What a group has to touch to be dense.
const DENSE: f32 = 0.75;

/// Puts accesses into groups, and those of dense groups into their class.
pub(crate) fn group(mut all: Vec<Classified>) -> Vec<Access> {
    let mut families: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (number, one) in all.iter().enumerate() {
        families.entry(one.family.clone()).or_default().push(number);
    }
    let mut group = 0;
    for (_, mut members) in families {
        members.sort_by_key(|number| all[*number].offset);
        let reach = members
            .iter()
            .filter_map(|number| all[*number].stride)
            .map(|stride| stride.saturating_abs())
            .max()
            .unwrap_or(0)
            .clamp(NEAR, 1 << 16);
        let mut rest: &[usize] = &members;
        while let Some(first) = rest.first() {
            let mut end = 1;
            while end < rest.len()
                && all[rest[end]]
                    .offset
                    .saturating_sub(all[rest[end - 1]].offset)
                    <= reach
                && all[rest[end]].offset.saturating_sub(all[*first].offset) <= 4 * reach
            {
                end += 1;
            }
            let (near, others) = rest.split_at(end);
            finish(&mut all, near, group);
            group += 1;
            rest = others;
        }
    }
    all.sort_by_key(|one| one.access.at);
    all.into_iter().map(|one| one.access).collect()
}

fn finish(all: &mut [Classified], members: &[usize], group: u32) {
    let stride = members.first().and_then(|first| all[*first].stride);
    let coverage = match stride {
        Some(stride) if stride != 0 => {
            let spans = members.iter().map(|number| {
                let one = &all[*number];
                (one.offset, i64::from(one.access.bytes))
            });
            covered(spans, stride.saturating_abs())
        }
        _ => match members.first().map(|first| &all[*first].access.class) {
            Some(AccessClass::Invariant | AccessClass::Unit) => 1.0,
            _ => 0.0,
        },
    };
    for number in members {
        let access = &mut all[*number].access;
        access.group = group;
        access.coverage = coverage;
        if matches!(access.class, AccessClass::Strided(_)) && coverage >= DENSE {
            access.class = AccessClass::Dense;
        }
    }
}

/// The share of the bytes of one stride that is touched, wherever in it the spans begin.
fn covered(spans: impl Iterator<Item = (i64, i64)>, stride: i64) -> f32 {
    let mut parts: Vec<(i64, i64)> = Vec::new();
    for (offset, bytes) in spans {
        if bytes >= stride {
            return 1.0;
        }
        let begin = offset.rem_euclid(stride);
        let end = begin.saturating_add(bytes);
        parts.push((begin, end.min(stride)));
        if end > stride {
            parts.push((0, end - stride));
        }
    }
    parts.sort_unstable();
    let (mut touched, mut up_to) = (0, 0);
    for (begin, end) in parts {
        touched += (end - begin.max(up_to)).max(0);
        up_to = up_to.max(end);
    }
    touched as f32 / stride as f32
}

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn coverage_wraps_and_does_not_count_twice() {
        let share = |spans: &[(i64, i64)], stride| covered(spans.iter().copied(), stride);
        assert_eq!(share(&[(0, 8)], 32), 0.25);
        assert_eq!(share(&[(0, 8), (8, 8), (40, 8), (-8, 8)], 32), 0.75);
        assert_eq!(share(&[(28, 8)], 32), 0.25);
        assert_eq!(share(&[(5, 64)], 32), 1.0);
    }
}
