//! Whether a region wants to know how many threads it has.
//!
//! A program may count the threads in one region to make room for as many in others. To
//! share a loop in equal parts, compilers ask for the number of threads and right after it
//! for the thread's own; what asks otherwise is the program.

use crate::own::Own;

const PENDING: u32 = 1;
const ODD: u32 = 2;

/// What a thread has asked since its region began.
pub(crate) struct Counting(Own);

impl Counting {
    pub(crate) const fn new() -> Self {
        Self(Own::new(0))
    }

    /// A region begins.
    #[inline]
    pub(crate) fn begin(&self) {
        self.0.set(0);
    }

    /// The thread asks for the team's size.
    #[inline]
    pub(crate) fn size(&self) {
        let before = self.0.get();
        let odd = if before & PENDING != 0 { ODD } else { 0 };
        self.0.set(before | PENDING | odd);
    }

    /// The thread asks for its number.
    #[inline]
    pub(crate) fn number(&self) {
        self.0.set(self.0.get() & !PENDING);
    }

    /// Whether the size was asked for without the number after it.
    pub(crate) fn is_odd(&self) -> bool {
        self.0.get() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_told_from_questions() {
        let counting = Counting::new();
        let share = || {
            counting.size();
            counting.number();
        };
        share();
        share();
        assert!(!counting.is_odd());
        counting.size();
        assert!(counting.is_odd());
        share();
        assert!(counting.is_odd(), "a loop after a question hides it");
        counting.begin();
        counting.number();
        counting.size();
        assert!(counting.is_odd());
    }
}
