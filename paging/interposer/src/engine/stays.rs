//! The calls and constructs that a thread is in, innermost last.
//!
//! A stay usually ends where it began to be told, but control may leave a call by `longjmp`,
//! by an exception or by cancellation. So each stay in a call remembers how deep the stack
//! was: when the thread comes by at the same depth or higher up, the call is over.

use super::turn::SAME_STACK_BYTES;
use fathomp_paging::{Activity, Cause};

/// Deepest nesting that is kept; what is nested more deeply changes no state.
const DEPTH_MAX: usize = 16;

/// Stack that functions in front may use themselves, some more than others: what is called
/// from inside a call lies lower by more. (A signal's handler lies a thousand bytes lower.)
const OWN_FRAME_BYTES: usize = 256;

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Entry {
    activity: Activity,
    cause: Cause,
    /// Stack pointer inside the call; 0 for constructs that end only when told.
    frame: usize,
    /// Calls from inside do not change the state.
    sealed: bool,
}

/// What a thread does, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    /// What it does.
    pub(crate) activity: Activity,
    /// In which call.
    pub(crate) cause: Cause,
    /// Calls from inside do not change the state.
    pub(crate) sealed: bool,
}

/// All of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stays {
    entries: [Entry; DEPTH_MAX],
    depth: usize,
    /// Constructs nested more deeply, which are only counted.
    beyond: usize,
}

/// By which a call's own stay is ended: those inside it end with it.
pub(crate) type Token = usize;

impl Stays {
    /// A thread that computes.
    pub(crate) const NONE: Self = Self {
        entries: [Entry {
            activity: Activity::Compute,
            cause: Cause::NONE,
            frame: 0,
            sealed: false,
        }; DEPTH_MAX],
        depth: 0,
        beyond: 0,
    };

    /// What the thread does.
    #[inline]
    pub(crate) fn top(&self) -> Top {
        match self
            .depth
            .checked_sub(1)
            .and_then(|at| self.entries.get(at))
        {
            Some(entry) => Top {
                activity: entry.activity,
                cause: entry.cause,
                sealed: entry.sealed,
            },
            None => Top {
                activity: Activity::Compute,
                cause: Cause::NONE,
                sealed: false,
            },
        }
    }

    /// Whether calls that were left without a word lie on top, seen from that depth.
    #[inline]
    pub(crate) fn is_stale(&self, frame: usize) -> bool {
        let top = self
            .depth
            .checked_sub(1)
            .and_then(|at| self.entries.get(at));
        top.is_some_and(|entry| entry.is_over(frame))
    }

    /// Removes calls that were left without a word.
    #[cold]
    pub(crate) fn drop_stale(&mut self, frame: usize) {
        while self.is_stale(frame) {
            self.depth -= 1;
            self.beyond = 0;
        }
    }

    /// A call begins. `None` if it is nested too deeply to be noted.
    #[inline]
    pub(crate) fn push_call(&mut self, top: Top, frame: usize) -> Option<Token> {
        let token = self.depth;
        let entry = self.entries.get_mut(token)?;
        *entry = Entry {
            activity: top.activity,
            cause: top.cause,
            frame,
            sealed: top.sealed,
        };
        self.depth += 1;
        Some(token)
    }

    /// A call ends. False if that is known already.
    #[inline]
    pub(crate) fn pop_call(&mut self, token: Token) -> bool {
        let known = token < self.depth;
        if known {
            self.depth = token;
            self.beyond = 0;
        }
        known
    }

    /// A construct begins that ends when that is told. False if it is nested too deeply to
    /// change the state.
    pub(crate) fn push_told(&mut self, activity: Activity, cause: Cause) -> bool {
        let top = Top {
            activity,
            cause,
            sealed: false,
        };
        let noted = self.push_call(top, 0).is_some();
        self.beyond += usize::from(!noted);
        noted
    }

    /// The innermost such construct ends. False if that changes nothing.
    pub(crate) fn pop_told(&mut self) -> bool {
        if self.beyond > 0 {
            self.beyond -= 1;
            return false;
        }
        let inside = self.entries.get(..self.depth).unwrap_or_default();
        match inside.iter().rposition(|entry| entry.frame == 0) {
            Some(at) => self.pop_call(at),
            None => false,
        }
    }
}

impl Entry {
    #[inline]
    fn is_over(&self, frame: usize) -> bool {
        // What MPI calls inside may lie close to it.
        let slack = if self.sealed { 0 } else { OWN_FRAME_BYTES };
        let higher = frame.wrapping_add(slack).wrapping_sub(self.frame);
        self.frame != 0 && higher < SAME_STACK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: Top = Top {
        activity: Activity::Io,
        cause: Cause(1),
        sealed: false,
    };
    const STACK: usize = 0x7000_0000_0000;

    #[test]
    fn the_innermost_decides() {
        let mut stays = Stays::NONE;
        assert_eq!(stays.top().activity, Activity::Compute);
        let call = stays.push_call(IO, STACK).unwrap();
        assert!(stays.push_told(Activity::Communication, Cause(2)));
        assert_eq!(stays.top().cause, Cause(2));
        assert!(stays.pop_told());
        assert_eq!(stays.top(), IO);
        assert!(stays.pop_call(call));
        assert!(!stays.pop_call(call));
        assert!(!stays.pop_told());
        assert_eq!(stays.top().activity, Activity::Compute);
    }

    #[test]
    fn a_call_left_by_a_jump_is_over_when_the_thread_comes_by_higher_up() {
        let mut stays = Stays::NONE;
        stays.push_call(IO, STACK).unwrap();
        assert!(!stays.is_stale(STACK - 600), "a call from inside");
        assert!(stays.is_stale(STACK - 64), "one with a larger frame");
        assert!(stays.is_stale(STACK), "the next call of the same caller");
        assert!(stays.is_stale(STACK + 64));
        assert!(!stays.is_stale(STACK + SAME_STACK_BYTES), "another stack");
        stays.drop_stale(STACK);
        assert_eq!(stays.top().activity, Activity::Compute);
    }

    #[test]
    fn constructs_end_only_when_told() {
        let mut stays = Stays::NONE;
        assert!(stays.push_told(Activity::Communication, Cause(2)));
        assert!(!stays.is_stale(STACK));
        stays.push_call(IO, STACK).unwrap();
        // The call was left by a jump; its end was never told.
        assert!(stays.pop_told());
        assert_eq!(stays.top().activity, Activity::Compute);
    }

    #[test]
    fn what_is_nested_too_deeply_is_counted() {
        let mut stays = Stays::NONE;
        for _ in 0..DEPTH_MAX {
            assert!(stays.push_told(Activity::Io, Cause::NONE));
        }
        assert!(!stays.push_told(Activity::Communication, Cause::NONE));
        assert!(stays.push_call(IO, STACK).is_none());
        assert!(!stays.pop_told());
        assert_eq!(stays.top().activity, Activity::Io);
        for _ in 0..DEPTH_MAX {
            assert!(stays.pop_told());
        }
        assert!(!stays.pop_told());
    }
}
