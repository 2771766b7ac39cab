//! How fast processors compute, several at once.
//!
//! Two threads that compute on processors which share a core take longer each, and so they
//! do where many processors at work lower the clock frequency, or where the host of a
//! virtual machine gives the time of one to somebody else without saying so. Nothing that
//! is recorded of a program tells this from its own doing; a fixed piece of computing does.
//! Its numbers must stay in registers, so that this crate is optimised in every profile.

use fathomp_sys::clock::thread_cpu_ns;
use std::hint::black_box;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Rounds of a piece: some tens of microseconds.
const ROUNDS: u32 = 10_000;

/// Processor time of each piece, mean over processors, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieceTimes {
    /// Of one that keeps a core half busy, as usual programs do.
    pub usual_ns: f64,
    /// Of one that keeps all of a core's arithmetic busy.
    pub dense_ns: f64,
    /// How many times as long as the mean the slowest processor took, for the piece for which
    /// that is most.
    pub uneven: f64,
}

/// Processor time of each piece while so many threads compute for `span`; `None` if there cannot
/// be so many.
#[must_use]
pub fn measure(processors: u32, span: Duration) -> Option<PieceTimes> {
    let half = span / 2;
    let (usual_ns, usual_uneven) = mean_and_uneven(&piece_ns(processors, half, usual)?)?;
    let (dense_ns, dense_uneven) = mean_and_uneven(&piece_ns(processors, half, dense)?)?;
    Some(PieceTimes {
        usual_ns,
        dense_ns,
        uneven: usual_uneven.max(dense_uneven),
    })
}

/// The mean of some times, and how many times as long the longest is.
fn mean_and_uneven(times: &[f64]) -> Option<(f64, f64)> {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let longest = times.iter().copied().fold(0.0, f64::max);
    (mean > 0.0 && mean.is_finite()).then(|| (mean, (longest / mean).max(1.0)))
}

/// What a piece takes each of so many threads.
fn piece_ns(processors: u32, span: Duration, piece: fn(u64) -> u64) -> Option<Vec<f64>> {
    let all_here = OnceLock::<bool>::new();
    let compute = || {
        if !*all_here.wait() {
            return None;
        }
        let (begin, begin_ns) = (Instant::now(), thread_cpu_ns());
        let mut done = 0_u64;
        while begin.elapsed() < span {
            black_box(piece(black_box(done)));
            done += 1;
        }
        let ns = thread_cpu_ns().saturating_sub(begin_ns);
        (done > 0).then(|| ns as f64 / done as f64)
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, compute).ok();
        let computing: Vec<_> = (0..processors).map_while(spawn).collect();
        all_here.get_or_init(|| computing.len() == processors as usize);
        let joined = computing.into_iter().map(|thread| thread.join().ok()?);
        joined.collect()
    })
}

/// Computing in registers that keeps a core half busy, as usual programs do: four chains of
/// multiplications that do not wait for each other.
fn usual(seed: u64) -> u64 {
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

/// Computing in registers that keeps all of a core's arithmetic busy: eight chains of single
/// steps, more than any core does at once.
fn dense(seed: u64) -> u64 {
    let mut chains: [u64; 8] = std::array::from_fn(|index| seed ^ (2 * index as u64 + 1));
    for round in 0..ROUNDS {
        for chain in &mut chains {
            *chain = (*chain ^ (*chain >> 29))
                .wrapping_add(chain.rotate_left(7))
                .wrapping_add(u64::from(round));
        }
    }
    chains
        .iter()
        .fold(0, |sum, chain| sum.rotate_left(1) ^ chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_some_is_told() {
        assert_eq!(mean_and_uneven(&[2.0, 4.0]), Some((3.0, 4.0 / 3.0)));
        assert_eq!(mean_and_uneven(&[5.0]), Some((5.0, 1.0)));
        assert_eq!(mean_and_uneven(&[0.0]), None);
        assert_eq!(mean_and_uneven(&[]), None);
        assert_eq!(
            piece_ns(2, Duration::from_millis(1), usual).map(|all| all.len()),
            Some(2)
        );
    }

    #[test]
    fn a_piece_depends_on_where_it_begins() {
        for piece in [usual, dense] {
            assert_ne!(piece(1), piece(9));
            assert_eq!(piece(16), piece(16));
        }
    }
}
