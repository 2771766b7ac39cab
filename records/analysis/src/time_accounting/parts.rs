//! A thread's part in a region instance, and how parts nest on a thread.

use super::states::{take, total};
use fathomp_trace::model::Process;
use fathomp_trace::record::{Instance, Record};
use fathomp_trace::state::{PerState, State};
use fathomp_types::{SiteId, Ticks};
use std::cmp::Reverse;
use std::ops::Range;

/// A thread's part in one execution of a region (or in several merged ones).
#[derive(Debug)]
pub(crate) struct Part<'a> {
    /// Index of the thread in its process.
    pub(crate) thread: usize,
    /// Index of the region in the analysis.
    pub(crate) region: usize,
    /// What was recorded.
    pub(crate) record: &'a Instance,
    /// What the thread is charged for: from here. Of merged parts the hull.
    pub(crate) from: Ticks,
    /// To here.
    pub(crate) to: Ticks,
    /// Length of the charge: `to - from`, or the sum over merged executions.
    pub(crate) length: Ticks,
    /// The charge per state, without nested regions on this thread.
    pub(crate) states: PerState<Ticks>,
    /// Charges of regions nested directly in this part on this thread.
    pub(crate) nested: Ticks,
    /// Part on the same thread that this one is nested in.
    pub(crate) outer: Option<usize>,
}

impl Part<'_> {
    /// Sum of several executions.
    pub(crate) fn merged(&self) -> bool {
        self.record.merged > 1
    }

    /// This thread encountered the region.
    pub(crate) fn encountered(&self) -> bool {
        self.record.thread_num == 0
    }

    /// When the thread began, as recorded, bounded by the end.
    pub(crate) fn begin(&self) -> Ticks {
        self.record.begin.min(self.record.end)
    }

    /// Executions summed here.
    pub(crate) fn executions(&self) -> u64 {
        u64::from(self.record.merged.max(1))
    }
}

/// Collects the instance records of all threads, sorted by thread, then from
/// outside in: by begin, the longer first.
pub(crate) fn collect<'a>(
    process: &'a Process,
    region_of: impl Fn(SiteId) -> usize,
) -> (Vec<Part<'a>>, Vec<Range<usize>>) {
    let mut parts = Vec::new();
    let mut by_thread = Vec::with_capacity(process.threads.len());
    for (thread, stream) in process.threads.iter().enumerate() {
        let first = parts.len();
        for record in &stream.records {
            let Record::Instance(instance) = record else {
                continue;
            };
            if instance.site == SiteId::SERIAL {
                continue;
            }
            let begin = instance.begin.min(instance.end);
            let busy = if instance.merged > 1 {
                instance.busy
            } else {
                instance.end.since(begin)
            };
            parts.push(Part {
                thread,
                region: region_of(instance.site),
                record: instance,
                from: begin,
                to: instance.end,
                length: busy,
                states: with_remainder(&instance.states, busy),
                nested: Ticks(0),
                outer: None,
            });
        }
        parts[first..].sort_by_key(|part| {
            (
                part.begin(),
                Reverse(part.to),
                part.record.level,
                part.record.instance,
            )
        });
        by_thread.push(first..parts.len());
    }
    (parts, by_thread)
}

/// `states` with application code set so that the sum is `busy`; if the other
/// states are already more than that, they are cut.
fn with_remainder(states: &PerState<Ticks>, busy: Ticks) -> PerState<Ticks> {
    let mut states = *states;
    states[State::Compute] = Ticks(0);
    let recorded = total(&states);
    if recorded > busy {
        let excess = recorded - busy;
        take(&mut states, excess);
    }
    states[State::Compute] = busy - recorded;
    states
}

/// Finds for every part the part of the same thread it is nested in, and
/// keeps charges on one thread from overlapping: a charge begins no earlier
/// than its predecessor's ends, and ends no later than its successor begins.
pub(crate) fn nest(parts: &mut [Part<'_>], by_thread: &[Range<usize>]) {
    for range in by_thread {
        let mut open: Vec<usize> = Vec::new();
        // Last sibling seen at each depth, depth 0 being the top level.
        let mut previous: Vec<Option<usize>> = vec![None];
        for index in range.clone() {
            if parts[index].merged() {
                continue;
            }
            let (begin, end) = (parts[index].begin(), parts[index].record.end);
            while let Some(&top) = open.last() {
                let holds = end <= parts[top].record.end
                    && parts[index].record.level > parts[top].record.level;
                if holds {
                    break;
                }
                open.pop();
                previous.truncate(open.len() + 1);
            }
            let outer = open.last().copied();
            parts[index].outer = outer;
            let floor = outer.map_or(Ticks(0), |outer| parts[outer].begin());
            let mut from = parts[index].from.clamp(floor, begin);
            if let Some(before) = previous[open.len()] {
                let limit = begin.max(parts[before].record.end);
                parts[before].to = parts[before].to.min(limit);
                from = from.max(parts[before].to).min(begin);
            }
            parts[index].from = from;
            if let Some(outer) = outer {
                parts[index].to = parts[index].to.min(parts[outer].record.end).max(end);
            }
            previous[open.len()] = Some(index);
            open.push(index);
            previous.push(None);
        }
        nest_merged(parts, range.clone());
    }
}

/// Merged parts cover each other in no order; one of level `l` that its own
/// thread encountered is nested in what the thread did on level `l - 1`.
fn nest_merged(parts: &mut [Part<'_>], range: Range<usize>) {
    let has_merged = range.clone().any(|index| parts[index].merged());
    if !has_merged {
        return;
    }
    for index in range.clone() {
        let part = &parts[index];
        if !part.merged() || part.record.level < 2 || !part.encountered() {
            continue;
        }
        let (level, begin, end) = (part.record.level, part.begin(), part.to);
        let parent = part.record.parent;
        let overlaps = |candidate: usize| {
            let other = &parts[candidate];
            candidate != index
                && other.record.level == level - 1
                && other.begin() <= end
                && other.to >= begin
        };
        let outer = range
            .clone()
            .filter(|&candidate| overlaps(candidate))
            .max_by_key(|&candidate| {
                let other = &parts[candidate];
                (
                    other.record.instance == parent,
                    other.merged(),
                    other.length,
                )
            });
        parts[index].outer = outer;
    }
}

/// Takes the charges of nested regions out of the application code of the
/// regions around them.
pub(crate) fn exclude_nested(parts: &mut [Part<'_>], by_thread: &[Range<usize>]) {
    for range in by_thread {
        for index in range.clone() {
            if let Some(outer) = parts[index].outer {
                let charge = parts[index].length;
                let left = take(&mut parts[outer].states, charge);
                let fits = charge - left;
                parts[outer].nested += fits;
                if left > Ticks(0) {
                    // More nested time than time: the nested charge gives way.
                    parts[index].length = fits;
                    take(&mut parts[index].states, left);
                }
            }
        }
    }
}
