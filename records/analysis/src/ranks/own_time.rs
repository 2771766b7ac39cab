//! The part of a call of MPI that does not wait for other ranks.

/// Begins and ends, in order.
pub(super) type Spans = Vec<(f64, f64)>;

/// Puts spans in order.
pub(super) fn in_order(spans: impl Iterator<Item = (f64, f64)>) -> Spans {
    let mut spans: Spans = spans.collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    spans
}

/// A call, in nanoseconds of its host's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTime {
    pub(super) called: f64,
    /// It waits for no other rank from here
    pub(super) begin: f64,
    /// to here.
    pub(super) end: f64,
    /// Both on the first host's clock.
    pub(super) aligned: (f64, f64),
}

impl OwnTime {
    pub(super) fn ns(&self) -> f64 {
        (self.end - self.begin).max(0.0)
    }
}

/// The time from `begin` to `end` that lies in spans, which are in order.
pub(super) fn overlap(spans: &[(f64, f64)], begin: f64, end: f64) -> f64 {
    overlap_of(spans, |one| one.0, |at| spans[at], begin, end)
}

/// The time from `begin` to `end` that is covered. `all` are in the order of what `begins` gives, and
/// `part` gives the time that the one with this index covers.
pub(super) fn overlap_of<T>(
    all: &[T],
    begins: impl Fn(&T) -> f64,
    part: impl Fn(usize) -> (f64, f64),
    begin: f64,
    end: f64,
) -> f64 {
    // Those of one thread do not overlap: only the one before may reach in.
    let first = all.partition_point(|one| begins(one) < begin);
    let first = first.saturating_sub(1);
    let here = (first..all.len()).take_while(|at| begins(&all[*at]) < end);
    let parts = here.map(part);
    let ns: f64 = parts
        .map(|one| (one.1.min(end) - one.0.max(begin)).max(0.0))
        .sum();
    ns.min((end - begin).max(0.0))
}

/// The median; 0 of nothing.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    match values.is_empty() {
        true => 0.0,
        false => *values.select_nth_unstable_by(middle, f64::total_cmp).1,
    }
}
