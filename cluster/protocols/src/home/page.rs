//! What a node of the home-based protocol knows of a page.

use crate::area::Place;
use crate::order::Version;
use crate::state::State;
use fathomp_types::NodeId;

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// Its home, known alike at all nodes: it changes at barriers only, by a
    /// rule that all nodes apply to the same notices.
    pub(super) home: NodeId,
    pub(super) state: State,
    /// The node that alone wrote it last, elsewhere than at its home; known alike at all nodes.
    pub(super) last: Option<NodeId>,
    /// Its home neither changes nor watches its own writes.
    pub(super) pinned: bool,
    /// This node wrote it in this epoch, and the epoch's notices name it.
    pub(super) noted: bool,
    /// Its home had never touched it when the copy here came.
    pub(super) blank: bool,
    /// At home here: another node has had a copy from here.
    pub(super) served: bool,
    /// An interval that is part of the content at home here. Others, if there
    /// are any, are in [`super::Home::versions`].
    pub(super) version: Version,
}

impl Entry {
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
            served: false,
            version: Version::default(),
        }
    }
}
