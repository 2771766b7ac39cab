//! How fast processors compute, several at once, just before and after a run.
//!
//! Two threads that compute on processors which share a core take longer each, and so they
//! do where many processors at work lower the clock frequency, or where the host of a
//! virtual machine gives the time of one to somebody else without saying so. Nothing that
//! is recorded of a program tells this from its own doing; a fixed piece of computing does.

use super::usable_cpus;
use fathomp_sys::clock::thread_cpu_ns;
use fathomp_trace::model::Pace;
use std::hint::black_box;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a hundred units, and too short to be waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(20);
/// What hosts take from virtual machines they take in periods of a tenth of a second, so that
/// only this long a time shows it.
pub(crate) const THOROUGH: Duration = Duration::from_millis(100);
/// Rounds of a unit: some tens of microseconds.
const ROUNDS: u32 = 20_000;

/// The first of two measurements.
#[derive(Debug)]
pub(crate) struct Paced {
    processors: u32,
    span: Duration,
    before_ns: f64,
}

/// Measures for `span` as many processors as a run with so many threads will use, all that there are if
/// that is not known.
pub(crate) fn before(threads: Option<u32>, span: Duration) -> Option<Paced> {
    let usable = usable_cpus();
    let processors = threads.unwrap_or(usable).clamp(1, usable);
    let before_ns = unit_ns(processors, span)?;
    Some(Paced {
        processors,
        span,
        before_ns,
    })
}

impl Paced {
    /// Measures for as long once more.
    pub(crate) fn after(self) -> Option<Pace> {
        Some(Pace {
            processors: self.processors,
            before_ns: self.before_ns,
            after_ns: unit_ns(self.processors, self.span)?,
        })
    }
}

/// Processor time of a unit while so many threads compute for `span`; `None` if there cannot be
/// so many.
fn unit_ns(processors: u32, span: Duration) -> Option<f64> {
    let all_here = OnceLock::<bool>::new();
    let compute = || {
        if !*all_here.wait() {
            return (0, 0);
        }
        let (begin, begin_ns) = (Instant::now(), thread_cpu_ns());
        let mut units = 0_u64;
        while begin.elapsed() < span {
            black_box(unit(black_box(units)));
            units += 1;
        }
        (units, thread_cpu_ns().saturating_sub(begin_ns))
    };
    let sums = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, compute).ok();
        let computing: Vec<_> = (0..processors).map_while(spawn).collect();
        all_here.get_or_init(|| computing.len() == processors as usize);
        computing
            .into_iter()
            .map(|thread| thread.join().ok())
            .try_fold((0, 0), |sums, one| {
                let (units, ns) = one?;
                Some((sums.0 + units, sums.1 + ns))
            })
    });
    let (units, ns) = sums?;
    (units > 0 && ns > 0).then(|| ns as f64 / units as f64)
}

/// Computing in registers that keeps a core half busy, as usual programs do: four chains of
/// multiplications that do not wait for each other.
fn unit(seed: u64) -> u64 {
    let mut chains = [seed | 1, seed | 3, seed | 5, seed | 7];
    for round in 0..ROUNDS {
        for chain in &mut chains {
            *chain = (*chain ^ (*chain >> 29))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(u64::from(round));
        }
    }
    chains.iter().fold(0, |sum, chain| sum ^ chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_run_are_measured() {
        let paced = before(Some(1), SHORT).unwrap();
        let pace = paced.after().unwrap();
        assert!(pace.is_sane(), "{pace:?}");
        assert_eq!(pace.processors, 1);
    }

    #[test]
    fn no_more_threads_compute_than_there_are_processors() {
        let most = usable_cpus();
        let processors = |threads| before(threads, SHORT).unwrap().processors;
        assert_eq!(processors(Some(u32::MAX)), most);
        assert_eq!(processors(None), most);
        assert_eq!(processors(Some(0)), 1);
    }

    #[test]
    fn a_unit_depends_on_all_of_its_chains() {
        assert_ne!(unit(1), unit(9));
        assert_eq!(unit(16), unit(16));
    }
}
