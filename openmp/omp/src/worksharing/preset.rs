//! The construct that a combined construct begins with.

use super::iterations::Iterations;
use super::wanted::{Dealing, Loop};
use std::sync::atomic::{AtomicU64, Ordering};

/// The construct that a combined construct (`GOMP_parallel_loop_*`,
/// `GOMP_parallel_sections`) begins with.
#[derive(Clone, Copy, Debug)]
pub struct Preset(pub Loop);

/// Where a team's primary thread leaves it for the others. Written between
/// regions only: starting the region orders it before the members' reading.
#[repr(align(128))]
#[derive(Debug)]
pub(super) struct Place([AtomicU64; WORDS]);

const STATIC: u64 = 0;
const DYNAMIC: u64 = 1;
const GUIDED: u64 = 2;
const GUIDED_WHOLE: u64 = 3;
const TRAPEZOIDAL: u64 = 4;
const MONOTONIC: u64 = 8;
const ORDERED: u64 = 16;
const SECTIONS: u64 = 32;

/// Words that say all about a preset.
const WORDS: usize = 7;

impl Preset {
    pub(crate) fn to_words(self) -> [u64; WORDS] {
        let Self(wanted) = self;
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        let dealing = match wanted.dealing {
            Dealing::Static { .. } => STATIC,
            Dealing::Dynamic { monotonic, .. } => DYNAMIC | flag(monotonic, MONOTONIC),
            Dealing::Guided { .. } => GUIDED,
            Dealing::GuidedWhole { .. } => GUIDED_WHOLE,
            Dealing::Trapezoidal { .. } => TRAPEZOIDAL,
        };
        let [start, step, end, count] = wanted.iterations.to_words();
        let flags = dealing | flag(wanted.ordered, ORDERED) | flag(wanted.sections, SECTIONS);
        let chunk = wanted.dealing.chunk();
        [start, step, end, count, chunk, flags, wanted.call as u64]
    }

    /// `None` if no preset has these words.
    pub(crate) fn from_words(words: [u64; WORDS]) -> Option<Self> {
        let preset = Self(loop_of(words));
        (preset.to_words() == words).then_some(preset)
    }
}

#[inline]
fn loop_of([start, step, end, count, chunk, flags, call]: [u64; WORDS]) -> Loop {
    Loop {
        iterations: Iterations::from_words([start, step, end, count]),
        dealing: match flags & 7 {
            DYNAMIC => Dealing::Dynamic {
                chunk,
                monotonic: flags & MONOTONIC != 0,
            },
            GUIDED => Dealing::Guided { chunk },
            GUIDED_WHOLE => Dealing::GuidedWhole { chunk },
            TRAPEZOIDAL => Dealing::Trapezoidal { chunk },
            _ => Dealing::Static { chunk },
        },
        ordered: flags & ORDERED != 0,
        sections: flags & SECTIONS != 0,
        call: call as usize,
    }
}

impl Place {
    pub(super) fn new() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }

    pub(super) fn put(&self, preset: Preset) {
        for (place, word) in self.0.iter().zip(preset.to_words()) {
            place.store(word, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn get(&self) -> Loop {
        loop_of(std::array::from_fn(|index| {
            self.0[index].load(Ordering::Relaxed)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_got() {
        let place = Place::new();
        let dealings = [
            Dealing::Static { chunk: 0 },
            Dealing::Guided { chunk: 9 },
            Dealing::GuidedWhole { chunk: 8 },
            Dealing::Trapezoidal { chunk: 7 },
            Dealing::Dynamic {
                chunk: u64::MAX,
                monotonic: true,
            },
            Dealing::Dynamic {
                chunk: 1,
                monotonic: false,
            },
        ];
        for dealing in dealings {
            for (ordered, sections) in [(false, false), (true, false), (false, true)] {
                let wanted = Loop {
                    iterations: Iterations::signed(5, -70, -3),
                    dealing,
                    ordered,
                    sections,
                    call: usize::MAX,
                };
                place.put(Preset(wanted));
                let got = place.get();
                assert_eq!(format!("{got:?}"), format!("{wanted:?}"));
            }
        }
    }
}
