//! How work is divided among threads and among the phases of a region.
//!
//! It was recorded with other numbers of nodes: a thread works as much in a phase, relative
//! to the mean of all in the whole region, as those that had its part of the loops there. If
//! the region had other phases there, each phase has the part of the work that it has in the
//! recording whose time is wanted. If there are no such recordings, that one says it all.

use super::beside::Beside;
use super::part::Part;
use fathomp_analysis::{Analysis, Region};

/// What each thread works in each phase of a region, relative to the mean of all threads in
/// the whole region: of each recording that says it, in the order of phases and threads.
#[derive(Debug)]
pub(super) struct Balance(Vec<Vec<Vec<f64>>>);

impl Balance {
    /// Of a region whose phases are these in the recording whose time is wanted.
    pub(super) fn new(region: &Region, phases: &[Vec<Part>], beside: &Beside<'_>) -> Self {
        let own = shares(phases);
        let others = beside.others.iter().filter_map(|other: &&Analysis| {
            let mut regions = other.regions.iter();
            let same = regions.find(|one| one.key == region.key)?;
            let emulated = other.program.emulated_time;
            let mut parts = Part::phases(same, beside.protocol, emulated);
            if parts.len() != phases.len() {
                parts = vec![Part::all(same, beside.protocol, emulated)];
            }
            shares(&parts)
        });
        let mut all: Vec<_> = others
            .map(|one| divided(one, own.as_deref(), phases))
            .collect();
        if all.is_empty() {
            all.extend(own);
        }
        Self(all)
    }

    /// Whether anything is known.
    pub(super) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// What thread `thread` of `threads` works in a phase, relative to the mean of all in the
    /// whole region.
    pub(super) fn share(&self, phase: usize, thread: usize, threads: usize) -> f64 {
        let of = |one: &Vec<Vec<f64>>| one.get(phase).map(|steps| between(steps, thread, threads));
        let each = self.0.iter().filter_map(of);
        each.sum::<f64>() / self.0.len().max(1) as f64
    }
}

/// Of one recording; nothing if its threads did nothing, or looked for others' writes.
fn shares(phases: &[Vec<Part>]) -> Option<Vec<Vec<f64>>> {
    let parts = || phases.iter().flatten();
    let all_ns: f64 = parts().map(|part| part.own_ns).sum();
    if all_ns <= 0.0 || Part::look(parts()) {
        return None;
    }
    let mean_ns = all_ns / phases[0].len() as f64;
    let of_phase = |parts: &Vec<Part>| parts.iter().map(|part| part.own_ns / mean_ns).collect();
    Some(phases.iter().map(of_phase).collect())
}

/// Shares in a whole region divided among phases as `own` has them.
fn divided(shares: Vec<Vec<f64>>, own: Option<&[Vec<f64>]>, phases: &[Vec<Part>]) -> Vec<Vec<f64>> {
    if shares.len() == phases.len() {
        return shares;
    }
    let whole = &shares[0];
    let weight = |phase: usize| match own {
        Some(own) => own[phase].iter().sum::<f64>() / own[phase].len() as f64,
        None => 1.0 / phases.len() as f64,
    };
    let weights = (0..phases.len()).map(weight);
    weights
        .map(|weight| whole.iter().map(|share| share * weight).collect())
        .collect()
}

/// Mean of a step function between `part / parts` and `(part + 1) / parts` of its range.
fn between(steps: &[f64], part: usize, parts: usize) -> f64 {
    let scale = steps.len() as f64 / parts.max(1) as f64;
    let [from, to] = [part, part + 1].map(|end| end as f64 * scale);
    let inside = steps.iter().enumerate().map(|(step, height)| {
        let [begin, end] = [step, step + 1].map(|end| end as f64);
        height * (end.min(to) - begin.max(from)).max(0.0)
    });
    inside.sum::<f64>() / scale.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_work_what_those_with_their_part_did() {
        let balance = Balance(vec![vec![vec![1.5, 0.5]], vec![vec![1.0, 3.0, 0.0, 0.0]]]);
        let of = |threads: usize| -> Vec<f64> {
            let all = (0..threads).map(|thread| balance.share(0, thread, threads));
            all.collect()
        };
        assert_eq!(of(2), [1.75, 0.25]);
        assert_eq!(of(4), [1.25, 2.25, 0.25, 0.25]);
        assert_eq!(of(8)[..4], [1.25, 1.25, 2.25, 2.25]);
        let mean: f64 = of(3).iter().sum::<f64>() / 3.0;
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn a_phase_has_the_part_of_the_work_that_it_has_elsewhere() {
        let part = |own_ns| Part {
            own_ns,
            ..Part::default()
        };
        let phases = |own: [[f64; 2]; 2]| own.map(|own| own.map(part).into()).into();
        // Threads are slowest by turns.
        let turns: Vec<Vec<Part>> = phases([[30.0, 10.0], [0.0, 40.0]]);
        let own = shares(&turns).unwrap();
        assert_eq!(own, [[0.75, 0.25], [0.0, 1.0]]);
        assert_eq!(divided(own.clone(), None, &turns), own);
        // Elsewhere nothing is known of phases: both have half of the work.
        let whole = vec![vec![1.5, 0.5]];
        let of_both = divided(whole.clone(), Some(&own), &turns);
        assert_eq!(of_both, [[0.75, 0.25], [0.75, 0.25]]);
        assert_eq!(divided(whole, None, &turns), of_both);
    }
}
