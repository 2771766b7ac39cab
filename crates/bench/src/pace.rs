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
}

/// Processor time of each piece while so many threads compute for `span`; `None` if there cannot
/// be so many.
#[must_use]
pub fn measure(processors: u32, span: Duration) -> Option<PieceTimes> {
    let half = span / 2;
    Some(PieceTimes {
        usual_ns: piece_ns(processors, half, usual)?,
        dense_ns: piece_ns(processors, half, dense)?,
    })
}

fn piece_ns(processors: u32, span: Duration, piece: fn(u64) -> u64) -> Option<f64> {
    let all_here = OnceLock::<bool>::new();
    let compute = || {
        if !*all_here.wait() {
            return (0, 0);
        }
        let (begin, begin_ns) = (Instant::now(), thread_cpu_ns());
        let mut done = 0_u64;
        while begin.elapsed() < span {
            black_box(piece(black_box(done)));
            done += 1;
        }
        (done, thread_cpu_ns().saturating_sub(begin_ns))
    };
    let sums = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, compute).ok();
        let computing: Vec<_> = (0..processors).map_while(spawn).collect();
        all_here.get_or_init(|| computing.len() == processors as usize);
        computing
            .into_iter()
            .map(|thread| thread.join().ok())
            .try_fold((0, 0), |sums, one| {
                let (done, ns) = one?;
                Some((sums.0 + done, sums.1 + ns))
            })
    });
    let (done, ns) = sums?;
    (done > 0 && ns > 0).then(|| ns as f64 / done as f64)
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
    fn a_piece_depends_on_where_it_begins() {
        for piece in [usual, dense] {
            assert_ne!(piece(1), piece(9));
            assert_eq!(piece(16), piece(16));
        }
    }
}
