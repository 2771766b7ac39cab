//! A function that the interposer stands in front of, and a thread's stay in it.

use super::process;
use super::stays::{Token, Top};
use super::thread::Own;
use super::turn::{Turn, frame};
use fathomp_paging::{Activity, Cause, Counter};
use fathomp_sys::dlsym_next::Next;
use fathomp_types::Ticks;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of a name that was not asked for yet.
const UNASKED: u32 = u32::MAX;

/// A function that the interposer stands in front of.
#[derive(Debug)]
pub(crate) struct Call {
    /// The function itself.
    pub(crate) next: Next,
    cause: AtomicU32,
}

/// What a call did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Bytes that it read.
    pub(crate) read: u64,
    /// Bytes that it wrote.
    pub(crate) written: u64,
    /// Calls that the kernel counts as reading or writing.
    pub(crate) counted: u64,
}

impl Effect {
    /// Neither bytes nor calls that the kernel counts.
    pub(crate) const NONE: Self = Self {
        read: 0,
        written: 0,
        counted: 0,
    };

    /// One call that read so many bytes; failed if negative.
    #[inline]
    pub(crate) fn read(bytes: isize) -> Self {
        Self {
            read: u64::try_from(bytes).unwrap_or(0),
            written: 0,
            counted: 1,
        }
    }

    /// One call that wrote so many bytes; failed if negative.
    #[inline]
    pub(crate) fn written(bytes: isize) -> Self {
        Self {
            read: 0,
            written: u64::try_from(bytes).unwrap_or(0),
            counted: 1,
        }
    }
}

/// A thread's stay in a call.
#[derive(Debug)]
#[must_use]
pub(crate) enum Stay {
    /// One that ends by this.
    Of(Token),
    /// One of fathomp's runtime, for which nothing changes.
    Ours,
    /// One that is not told.
    None,
}

/// A function in front that fathomp's runtime may have called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallBy {
    /// The function.
    pub(crate) call: &'static Call,
    /// The runtime has called it: that is not the program's I/O.
    pub(crate) ours: bool,
}

impl CallBy {
    /// The thread enters the call.
    #[inline(always)]
    pub(crate) fn enter(self, activity: Activity) -> Stay {
        match self.ours {
            true => Stay::Ours,
            false => self.call.enter(activity),
        }
    }
}

impl Call {
    /// The function of that name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            next: Next::new(name),
            cause: AtomicU32::new(UNASKED),
        }
    }

    /// The function of that name and symbol version.
    pub(crate) const fn of_version(name: &'static CStr, version: &'static CStr) -> Self {
        Self {
            next: Next::of_version(name, version),
            cause: AtomicU32::new(UNASKED),
        }
    }

    /// The thread enters the call.
    #[inline(always)]
    pub(crate) fn enter(&self, activity: Activity) -> Stay {
        self.enter_as(activity, false, false)
    }

    /// The thread enters the call; what is called from inside changes nothing.
    #[inline(always)]
    pub(crate) fn enter_sealed(&self, activity: Activity) -> Stay {
        self.enter_as(activity, true, false)
    }

    /// The thread enters the call, unless it turns out that it did nothing.
    #[inline(always)]
    pub(crate) fn enter_perhaps(&self, activity: Activity) -> Stay {
        self.enter_as(activity, false, true)
    }

    #[inline(always)]
    fn enter_as(&self, activity: Activity, sealed: bool, perhaps: bool) -> Stay {
        self.enter_at(activity, sealed, perhaps, frame())
    }

    #[inline(never)]
    fn enter_at(&self, activity: Activity, sealed: bool, perhaps: bool, frame: usize) -> Stay {
        let Some(mut turn) = Turn::take(frame) else {
            return Stay::None;
        };
        let call = self.top(activity, sealed);
        let token = turn.own().enter(call, frame, perhaps);
        token.map_or(Stay::None, Stay::Of)
    }

    #[inline]
    fn top(&self, activity: Activity, sealed: bool) -> Top {
        Top {
            activity,
            cause: self.cause(),
            sealed,
        }
    }

    #[inline]
    fn cause(&self) -> Cause {
        match self.cause.load(Ordering::Relaxed) {
            UNASKED => self.ask(),
            known => Cause(known),
        }
    }

    #[cold]
    fn ask(&self) -> Cause {
        let name = self.next.name().to_str().unwrap_or_default();
        let number = process::sink().map_or(0, |sink| sink.name(name));
        self.cause.store(number, Ordering::Relaxed);
        Cause(number)
    }

    /// A call has ended that began at `begin`, and only now it shows that it did something.
    #[cold]
    pub(crate) fn did(&self, activity: Activity, begin: Ticks, effect: Effect) {
        let Some(mut turn) = Turn::take(frame()) else {
            return;
        };
        let call = self.top(activity, false);
        turn.thread().saw(effect.counted);
        turn.own()
            .was_in(call, begin, |own| count(own, activity, effect));
    }
}

impl Stay {
    /// The call ends.
    #[inline(always)]
    pub(crate) fn leave(self) {
        self.end(Effect::NONE, false);
    }

    /// The call ends, and if it was one of I/O, it did that.
    #[inline(always)]
    pub(crate) fn leave_with(self, effect: Effect) {
        self.end(effect, true);
    }

    #[inline(never)]
    fn end(self, effect: Effect, counts: bool) {
        if matches!(self, Self::None) {
            return;
        }
        let Some(mut turn) = Turn::take(frame()) else {
            return;
        };
        let Self::Of(token) = self else {
            turn.thread().leave_out(effect.counted);
            return;
        };
        turn.thread().saw(effect.counted);
        if counts {
            let own = turn.own();
            let activity = own.top().activity;
            count(own, activity, effect);
        }
        turn.own().leave(token);
    }

    /// The call ends; it did nothing after all.
    pub(crate) fn take_back(self) {
        if let Self::Of(token) = self
            && let Some(mut turn) = Turn::take(frame())
        {
            turn.own().take_back(token);
        }
    }
}

#[inline]
fn count(own: &mut Own, activity: Activity, effect: Effect) {
    if activity == Activity::Io {
        own.add(Counter::IoCalls, 1);
        own.add(Counter::BytesRead, effect.read);
        own.add(Counter::BytesWritten, effect.written);
    }
}
