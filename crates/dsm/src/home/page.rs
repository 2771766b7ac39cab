//! What a node of the home-based protocol knows of a page.

use super::habit::Habit;
use super::lend::Loan;
use super::open::Rhythm;
use crate::Offer;
use crate::area::Place;
use crate::order::Version;
use crate::prefetch::Reach;
use fathomp_base::NodeId;

/// A page as its node sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// At its home: nobody else has it. Elsewhere: it is not there.
    #[default]
    Untouched,
    /// At home here, others may have copies, and not known to be written in the
    /// open interval.
    Shared,
    /// At home here, others may have copies, and written in the open interval.
    Written,
    /// The same, but for what threads have perhaps written without a fault: it has a twin.
    Foreseen,
    /// At home here, and [leased](super::lease) to another node.
    Leased,
    /// At home elsewhere; asked for.
    Pending,
    /// A valid copy of a page that is at home elsewhere.
    Clean,
    /// The same, with a twin because it is likely to be written: threads may do
    /// so without a fault.
    Expected,
    /// A copy with writes that the home does not have. At home: written at a barrier,
    /// with a twin, because the page may move.
    Dirty,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// Its home, known alike at all nodes: it changes at barriers only, by a
    /// rule that all nodes apply to the same notices.
    pub(super) home: NodeId,
    pub(super) state: State,
    /// Who alone wrote it last, elsewhere than at its home; known alike at all nodes.
    pub(super) last: Option<NodeId>,
    /// Its home neither changes nor watches its own writes.
    pub(super) pinned: bool,
    /// This node wrote it in this epoch, and the epoch's notices name it.
    pub(super) noted: bool,
    /// Its home had never touched it when the copy here came.
    pub(super) blank: bool,
    /// A copy was here and became invalid: it is likely to be read again.
    pub(super) missed: bool,
    /// How many further copies are likely to be written, because others were.
    pub(super) writes: u8,
    /// How many pages became writable together with it, when it was written last.
    pub(super) run: u8,
    /// How many to make writable together with it when somebody begins there to write.
    pub(super) start: Reach,
    /// These were too few the last time.
    pub(super) short: bool,
    /// How often it became writable together with others and was not written.
    pub(super) vain: u8,
    /// The epoch in which the copy here was fetched in advance, plus one; 0 if it
    /// was not.
    pub(super) ahead: u32,
    /// The last copy was fetched in advance and nobody had use for it.
    pub(super) unwanted: bool,
    /// At home here.
    pub(super) offer: Offer,
    /// At home elsewhere.
    pub(super) loan: Loan,
    /// In which intervals this node writes it.
    pub(super) habit: Habit,
    /// At home here: when it is written and fetched.
    pub(super) rhythm: Rhythm,
    /// An interval that is part of the content at home here. Others, if there
    /// are any, are in [`super::Home::versions`].
    pub(super) version: Version,
}

impl Entry {
    /// Whether it is as well to borrow the page in an epoch. Of one whose home will never
    /// notice that it writes it, there is nothing better.
    pub(super) fn is_worth_borrowing(&self, epoch: u32) -> bool {
        self.pinned || self.loan.is_worth_it(epoch)
    }

    /// Whether it moves to a node that alone wrote it between two barriers: if that node
    /// did so the last time, too, or is the `first` to touch it.
    pub(super) fn moves_to(&self, writer: NodeId, first: bool) -> bool {
        !self.pinned && (first || self.last == Some(writer))
    }
}

impl From<Place> for Entry {
    fn from(place: Place) -> Self {
        Self {
            home: place.home,
            state: State::Untouched,
            last: None,
            pinned: place.pinned,
            noted: false,
            blank: false,
            missed: false,
            writes: 0,
            run: 0,
            start: Reach::default(),
            short: false,
            vain: 0,
            ahead: 0,
            unwanted: false,
            offer: Offer::Closed,
            loan: Loan::default(),
            habit: Habit::default(),
            rhythm: Rhythm::default(),
            version: Version::default(),
        }
    }
}
