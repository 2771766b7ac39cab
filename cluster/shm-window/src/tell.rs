//! Telling in the log, and locks: what otherwise the sequencer is asked to do.

use crate::locks::Attempt;
use crate::log::Reader;
use crate::primitive::Ordering;
use crate::view::interval;
use crate::window::Window;
use fathomp_protocols::order::ROOT;
use fathomp_protocols::{Notice, Tell, Underway, Wants};
use fathomp_types::ThreadId;

/// What became of what a node tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A message has to be sent.
    Send,
    /// Nothing more is to be done.
    Done,
    /// The thread has what it wanted, and has to learn this.
    Learned(ThreadId, Vec<Notice>),
    /// The thread does not get the lock.
    Refused(ThreadId),
    /// It has the lock; the sequencer has to be asked what it has to learn.
    Ask(ThreadId),
}

impl Window {
    /// Enters an interval in the log, and does what is wanted. If it must be sent instead,
    /// the interval may have been entered: to learn of it twice does no harm.
    #[must_use]
    pub fn tell(&self, tell: &Tell, underway: &Underway) -> Answer {
        self.try_to_tell(tell, underway).unwrap_or(Answer::Send)
    }

    fn try_to_tell(&self, tell: &Tell, underway: &Underway) -> Option<Answer> {
        let (wants, notice) = (tell.wants()?, tell.notice.as_ref());
        let (log, locks) = (self.memory.log(tell.epoch)?, self.memory.locks());
        let sequencer = self.memory.view(ROOT)?;
        let contained = sequencer.contained.get(usize::from(self.me.0))?;
        // Tells of no other word: whatever is entered the sequencer reads in time.
        let has_log = sequencer.logs.load(Ordering::Relaxed) != 0;
        if !has_log || !underway.may_tell(interval(contained)) {
            return None;
        }
        let enter = |notice| log.enter(self.me, notice);
        let read = |end| log.read(Reader::Node(self.me), Some(end));
        Some(match wants {
            Wants::Nothing => {
                enter(notice)?;
                Answer::Done
            }
            Wants::Log(thread) => Answer::Learned(thread, read(enter(notice)?)?),
            Wants::Lock {
                lock,
                thread,
                waits,
            } => {
                enter(notice)?;
                match locks.take(lock, self.me, waits, self.passed()) {
                    Attempt::Held if !waits => Answer::Refused(thread),
                    Attempt::Held | Attempt::Kept | Attempt::Sequenced => return None,
                    // If the log has closed meanwhile, only the sequencer knows all.
                    Attempt::Taken => match enter(None).and_then(read) {
                        Some(notices) => Answer::Learned(thread, notices),
                        None => Answer::Ask(thread),
                    },
                }
            }
            Wants::Unlock(lock) => {
                enter(notice)?;
                locks.give(lock, self.me).then_some(Answer::Done)?
            }
        })
    }

    /// What the sequencer has not been told of the log of an epoch. None if that cannot be
    /// read: somebody has written over it.
    #[must_use]
    pub fn logged(&self, epoch: u32) -> Option<Vec<Notice>> {
        self.memory.log(epoch)?.read(Reader::Sequencer, None)
    }
}
