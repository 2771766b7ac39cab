//! How fast processors compute, several at once, just before and after a run.

use super::usable_cpus;
use fathomp_bench::pace::{PieceTimes as Measured, measure};
use fathomp_trace::model::{Pace, PieceTimes};
use std::time::Duration;

/// Long enough for a hundred pieces of each kind, and too short to be waited for.
pub const SHORT: Duration = Duration::from_millis(20);
/// What hosts take from virtual machines they take in periods of a tenth of a second, so that
/// only this long a time shows it.
pub const THOROUGH: Duration = Duration::from_millis(100);

/// The first of two measurements.
#[derive(Debug)]
pub struct Paced {
    processors: u32,
    span: Duration,
    before: PieceTimes,
}

/// Measures for `span` as many processors as a run with so many threads will use, all that there are if
/// that is not known.
pub fn before(threads: Option<u32>, span: Duration) -> Option<Paced> {
    let usable = usable_cpus();
    let processors = threads.unwrap_or(usable).clamp(1, usable);
    let before = pieces(processors, span)?;
    Some(Paced {
        processors,
        span,
        before,
    })
}

impl Paced {
    /// Measures for as long once more.
    pub fn after(self) -> Option<Pace> {
        Some(Pace {
            processors: self.processors,
            before: self.before,
            after: pieces(self.processors, self.span)?,
        })
    }
}

fn pieces(processors: u32, span: Duration) -> Option<PieceTimes> {
    let Measured {
        usual_ns,
        dense_ns,
        uneven,
    } = measure(processors, span)?;
    Some(PieceTimes {
        usual_ns,
        dense_ns,
        uneven,
    })
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
}
