//! Numbers of kinds of records, and of paradigms, in OTF2 3.0.

/// Definitions.
pub(super) mod definition {
    pub(in super::super) const CLOCK: u8 = 0x05;
    pub(in super::super) const PARADIGM: u8 = 0x06;
    pub(in super::super) const STRING: u8 = 0x0a;
    pub(in super::super) const SYSTEM_TREE_NODE: u8 = 0x0c;
    pub(in super::super) const LOCATION_GROUP: u8 = 0x0d;
    pub(in super::super) const LOCATION: u8 = 0x0e;
    pub(in super::super) const REGION: u8 = 0x0f;
    pub(in super::super) const GROUP: u8 = 0x12;
    pub(in super::super) const COMMUNICATOR: u8 = 0x16;
}

/// Events.
pub(super) mod event {
    pub(in super::super) const ENTER: u8 = 0x0c;
    pub(in super::super) const LEAVE: u8 = 0x0d;
    pub(in super::super) const SEND: u8 = 0x0e;
    pub(in super::super) const SEND_BEGIN: u8 = 0x0f;
    pub(in super::super) const SEND_END: u8 = 0x10;
    pub(in super::super) const RECEIVE_BEGIN: u8 = 0x11;
    pub(in super::super) const RECEIVE: u8 = 0x12;
    pub(in super::super) const RECEIVE_END: u8 = 0x13;
    pub(in super::super) const COLLECTIVE_BEGIN: u8 = 0x16;
    pub(in super::super) const COLLECTIVE_END: u8 = 0x17;
}

/// Paradigms of regions and groups.
pub(super) mod paradigm {
    pub(in super::super) const USER: u8 = 1;
    pub(in super::super) const OPENMP: u8 = 3;
    pub(in super::super) const MPI: u8 = 4;
}
