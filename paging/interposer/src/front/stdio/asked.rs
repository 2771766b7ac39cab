//! A call for a stream that may ask the kernel.

use super::stream::{File, Peek};
use crate::engine::{Call, Effect, Stay};
use crate::front::descriptors;

/// Whether a call asks the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    /// The buffer answers.
    No,
    /// That shows only afterwards.
    Perhaps,
    /// It does.
    Yes,
}

/// A call of which that is likely.
#[derive(Debug)]
pub(super) struct Asked {
    stay: Stay,
    /// The stream before the call.
    pub(super) before: Peek,
    guess: Guess,
}

impl Asked {
    /// A call for a stream begins; `None` if the buffer will answer it.
    ///
    /// # Safety
    /// It is an open stream.
    #[inline]
    pub(super) unsafe fn begin(
        call: &Call,
        file: File,
        guess: impl FnOnce(&Peek) -> Guess,
    ) -> Option<Self> {
        // SAFETY: promised by our caller.
        let before = unsafe { Peek::of(file) };
        if before.descriptor() < 0 {
            return None;
        }
        let guess = guess(&before);
        let stay = match guess {
            Guess::No => return None,
            Guess::Perhaps => call.enter_perhaps(descriptors::activity(before.descriptor())),
            Guess::Yes => call.enter(descriptors::activity(before.descriptor())),
        };
        Some(Self {
            stay,
            before,
            guess,
        })
    }

    /// The call ends, with that effect.
    pub(super) fn end(self, effect: Effect) {
        if self.guess == Guess::Perhaps && effect == Effect::NONE {
            self.stay.take_back();
        } else {
            self.stay.leave_with(effect);
        }
    }
}
