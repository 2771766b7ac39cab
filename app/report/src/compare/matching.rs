//! Which region of one build is which of another.
//!
//! A region is known by its module and address, which are others in every build; a change in a
//! source moves lines as well. So regions of different builds are matched within the function that
//! they stand in, in the order of their lines, as tools do that compare texts: those that look the
//! same and only once on either side hold the rest in place. Where the regions between them cannot be
//! told apart they are counted together, since a wrong match would be worse than none.

use super::model::How;
use fathomp_analysis::{Region, SiteKind};
use std::collections::BTreeMap;

/// A region as far as it can be recognised.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) key: String,
    pub(super) name: String,
    kind: SiteKind,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    lines: Option<u32>,
    executions: u64,
    /// The build of its module; none if that is unknown.
    build: Option<String>,
}

impl Known {
    pub(super) fn new(region: &Region, build: Option<&str>) -> Self {
        let place = &region.place;
        let base = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
        let lines = region.lines.as_ref();
        Self {
            key: region.key.clone(),
            name: match region.kind {
                SiteKind::Serial => "outside regions".to_owned(),
                _ => region.name.clone(),
            },
            kind: region.kind,
            function: place.function.clone(),
            file: place.file.as_ref().map(base),
            line: place.line,
            column: place.column,
            lines: lines.map(|lines| lines.last.saturating_sub(lines.first)),
            executions: region.instances,
            build: build.filter(|id| !id.is_empty()).map(str::to_owned),
        }
    }

    /// What regions of its function are called together.
    pub(super) fn neighbourhood(&self) -> String {
        let function = self.function.as_deref().unwrap_or("?");
        format!("regions of {function}")
    }

    /// Regions of one class can be the same.
    fn class(&self) -> &'static str {
        match self.kind {
            SiteKind::Serial => "serial",
            SiteKind::Teams => "teams",
            _ => "parallel",
        }
    }

    /// Where it is in its module.
    fn address(&self) -> Option<&str> {
        self.key.rsplit_once('+').map(|(_, address)| address)
    }

    /// The very same code, or what has no code.
    fn is_same_code(&self, other: &Self) -> bool {
        match self.kind == other.kind {
            true if self.kind == SiteKind::Serial => true,
            true => {
                self.build.is_some()
                    && self.build == other.build
                    && self.address().is_some()
                    && self.address() == other.address()
            }
            false => false,
        }
    }

    /// What stays where only the lines above are edited.
    fn looks(&self) -> Option<(u32, Option<u32>)> {
        Some((self.lines?, self.column))
    }

    /// What puts regions of a function into order.
    fn order(&self) -> (Option<u32>, Option<u32>, u64) {
        let digits = self.address().and_then(|text| text.strip_prefix("0x"));
        let address = digits.and_then(|text| u64::from_str_radix(text, 16).ok());
        (self.line, self.column, address.unwrap_or(0))
    }
}

/// Regions that are one: one on each side, or several that cannot be told apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) before: Vec<usize>,
    pub(super) after: Vec<usize>,
    pub(super) how: How,
}

/// Finds the regions of `before` among those of `after`.
pub(super) fn pairs(before: &[Known], after: &[Known]) -> Vec<Pair> {
    let mut left = Left {
        before,
        after,
        rest: [before, after].map(|side| (0..side.len()).collect()),
        pairs: Vec::new(),
    };
    left.same_code();
    let with_file =
        |one: &Known| Some((one.class(), Some(one.file.clone()?), one.function.clone()?));
    left.by(with_file, false);
    // A copy of the source under another name. Functions of many programs are called alike.
    let by_function = |one: &Known| Some((one.class(), None, one.function.clone()?));
    left.by(by_function, true);
    left.pairs
}

/// What stands together: kind, file and function.
type Neighbourhood = (&'static str, Option<String>, String);

/// Regions that are not matched yet, by their numbers.
struct Left<'a> {
    before: &'a [Known],
    after: &'a [Known],
    rest: [Vec<usize>; 2],
    pairs: Vec<Pair>,
}

impl Left<'_> {
    fn take(&mut self, before: &[usize], after: &[usize], how: How) {
        self.rest[0].retain(|one| !before.contains(one));
        self.rest[1].retain(|one| !after.contains(one));
        self.pairs.push(Pair {
            before: before.to_vec(),
            after: after.to_vec(),
            how,
        });
    }

    fn same_code(&mut self) {
        for one in self.rest[0].clone() {
            let mut others = self.rest[1].iter().copied();
            let same = others.find(|other| self.before[one].is_same_code(&self.after[*other]));
            if let Some(other) = same {
                self.take(&[one], &[other], How::SameCode);
            }
        }
    }

    /// Matches what stands together; `anchored` if nothing is said of functions in which no region
    /// looks as it did.
    fn by(&mut self, of: impl Fn(&Known) -> Option<Neighbourhood>, anchored: bool) {
        let mut groups: BTreeMap<Neighbourhood, [Vec<usize>; 2]> = BTreeMap::new();
        for side in 0..2 {
            let known = [self.before, self.after][side];
            for &one in &self.rest[side] {
                if let Some(key) = of(&known[one]) {
                    groups.entry(key).or_default()[side].push(one);
                }
            }
        }
        for [mut before, mut after] in groups.into_values() {
            before.sort_by_key(|one| self.before[*one].order());
            after.sort_by_key(|one| self.after[*one].order());
            self.function(&before, &after, anchored);
        }
    }

    /// The regions of one function, in order.
    fn function(&mut self, before: &[usize], after: &[usize], anchored: bool) {
        if before.is_empty() || after.is_empty() {
            return;
        }
        let looks = [
            before.iter().map(|one| self.before[*one].looks()).collect(),
            after.iter().map(|one| self.after[*one].looks()).collect(),
        ];
        let [ours, theirs]: &[Vec<_>; 2] = &looks;
        if ours == theirs && ours.iter().all(Option::is_some) {
            for (one, other) in before.iter().zip(after) {
                self.take(&[*one], &[*other], How::Place);
            }
            return;
        }
        let anchors = anchors(ours, theirs);
        if anchors.is_empty() && anchored {
            return;
        }
        if let ([one], [other], true) = (before, after, anchors.is_empty()) {
            self.take(&[*one], &[*other], How::OnlyOne);
            return;
        }
        let (mut from, mut since) = (0, 0);
        for &(at, there) in anchors.iter().chain(&[(before.len(), after.len())]) {
            self.between(&before[from..at], &after[since..there]);
            if at < before.len() {
                self.take(&[before[at]], &[after[there]], How::Place);
            }
            (from, since) = (at + 1, there + 1);
        }
    }

    /// Regions between two that were recognised.
    fn between(&mut self, before: &[usize], after: &[usize]) {
        if before.is_empty() || after.is_empty() {
            return;
        }
        let mut both = before.iter().zip(after);
        let alike =
            both.all(|(one, other)| self.before[*one].executions == self.after[*other].executions);
        if before.len() == after.len() && alike {
            for (one, other) in before.iter().zip(after) {
                self.take(&[*one], &[*other], How::Order);
            }
        } else {
            self.take(before, after, How::Together);
        }
    }
}

/// Positions of what is there once on each side, in the same order on both: the longest such list.
fn anchors<T: PartialEq>(before: &[Option<T>], after: &[Option<T>]) -> Vec<(usize, usize)> {
    let only = |side: &[Option<T>], one: &Option<T>| {
        let mut at = side.iter().enumerate().filter(|(_, other)| *other == one);
        let first = at.next().map(|(at, _)| at);
        first.filter(|_| at.next().is_none())
    };
    let unique: Vec<(usize, usize)> = before
        .iter()
        .enumerate()
        .filter(|(_, one)| one.is_some() && only(before, one).is_some())
        .filter_map(|(at, one)| Some((at, only(after, one)?)))
        .collect();
    // Functions have few regions: the length of the longest list that ends at each will do.
    let mut longest: Vec<(usize, Option<usize>)> = Vec::with_capacity(unique.len());
    for (index, (_, there)) in unique.iter().enumerate() {
        let earlier = (0..index).filter(|one| unique[*one].1 < *there);
        let best = earlier.max_by_key(|one| longest[*one].0);
        longest.push((best.map_or(1, |one| longest[one].0 + 1), best));
    }
    let mut at = (0..unique.len()).max_by_key(|one| longest[*one].0);
    let mut found = Vec::new();
    while let Some(index) = at {
        found.push(unique[index]);
        at = longest[index].1;
    }
    found.reverse();
    found
}

/// Regions of several sides that are taken for one: their numbers on each side, and how they were
/// recognised among the regions of earlier sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Matched {
    pub(super) regions: Vec<Vec<usize>>,
    pub(super) how: Vec<Option<How>>,
}

/// Follows the regions from side to side: each side is compared with what was last seen of each
/// region.
pub(super) fn follow(sides: &[Vec<Known>]) -> Vec<Matched> {
    let mut all: Vec<Matched> = Vec::new();
    for (side, known) in sides.iter().enumerate() {
        // What was last seen, and of which.
        let mut last: Vec<(usize, Known)> = Vec::new();
        for (index, one) in all.iter().enumerate() {
            let seen = (0..side).rev().find(|side| !one.regions[*side].is_empty());
            let seen = seen.into_iter().flat_map(|side| {
                let regions = one.regions[side].iter();
                regions.map(move |region| sides[side][*region].clone())
            });
            last.extend(seen.map(|known| (index, known)));
        }
        let (owners, before): (Vec<usize>, Vec<Known>) = last.into_iter().unzip();
        for one in &mut all {
            one.regions.push(Vec::new());
            one.how.push(None);
        }
        let mut is_new = vec![true; known.len()];
        // Where several become one, the others go into the first.
        let mut goes_to: Vec<usize> = (0..all.len()).collect();
        for pair in pairs(&before, known) {
            let mut into: Vec<usize> = pair
                .before
                .iter()
                .map(|one| goes_to[owners[*one]])
                .collect();
            into.sort_unstable();
            into.dedup();
            let Some((&first, others)) = into.split_first() else {
                continue;
            };
            for &other in others {
                let gone = std::mem::take(&mut all[other]);
                for (mine, theirs) in all[first].regions.iter_mut().zip(gone.regions) {
                    mine.extend(theirs);
                }
                goes_to
                    .iter_mut()
                    .filter(|to| **to == other)
                    .for_each(|to| *to = first);
            }
            let how = &mut all[first].how[side];
            *how = (*how).max(Some(pair.how));
            for &region in &pair.after {
                is_new[region] = false;
                all[first].regions[side].push(region);
            }
        }
        all.retain(|one| !one.regions.is_empty());
        for region in (0..known.len()).filter(|region| is_new[*region]) {
            let mut one = Matched {
                regions: vec![Vec::new(); side + 1],
                how: vec![None; side + 1],
            };
            one.regions[side].push(region);
            all.push(one);
        }
    }
    all
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
