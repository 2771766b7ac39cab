//! What ran when there was a peak.

use crate::facts::PagingFacts;
use fathomp_skyline::Peak;

/// Names of the region that ran when a peak was highest, or of a barrier that was passed
/// within it; empty if neither is known.
pub(crate) fn place(paging: &PagingFacts, peak: &Peak) -> String {
    if let Some(region) = paging
        .lanes
        .as_ref()
        .and_then(|lanes| lanes.region_at(peak.at_ns))
    {
        return region.to_owned();
    }
    let Some(phases) = &paging.analysis.phases else {
        return String::new();
    };
    // The last phase ends with the window, not with a barrier.
    let ends = &phases.ends_ns[..phases.barriers.len().min(phases.ends_ns.len())];
    let first = ends.partition_point(|end| *end < peak.from_ns);
    let passed = ends
        .iter()
        .zip(&phases.barriers)
        .skip(first)
        .take_while(|(end, _)| **end <= peak.to_ns)
        .min_by_key(|(end, _)| end.abs_diff(peak.at_ns));
    passed.map_or_else(String::new, |(_, name)| name.clone())
}
