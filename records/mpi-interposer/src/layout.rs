//! Which arguments of MPI's functions say how much goes to whom, and what becomes of it.
//!
//! Only arguments that the standard calls significant at every rank are read, and those of buffers
//! that may be `MPI_IN_PLACE` only if they are not: to ask for the size of a type that is none would
//! end the program.

/// Numbers of arguments, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// How many elements, and of which type.
    pub(crate) elements: Option<(u8, u8)>,
    /// The buffer that may be `MPI_IN_PLACE`; then the elements say nothing.
    pub(crate) in_place: Option<u8>,
    /// The other rank, or the root of a collective call.
    pub(crate) peer: Option<u8>,
    /// The communicator of `peer`, and of a collective call.
    pub(crate) communicator: Option<u8>,
}

/// Nothing is known.
const NOTHING: Layout = Layout {
    elements: None,
    in_place: None,
    peer: None,
    communicator: None,
};

const fn to_peer(count: u8, kind: u8, peer: u8, communicator: u8) -> Layout {
    Layout {
        elements: Some((count, kind)),
        in_place: None,
        peer: Some(peer),
        communicator: Some(communicator),
    }
}

const fn to_all(count: u8, kind: u8, communicator: u8) -> Layout {
    Layout {
        elements: Some((count, kind)),
        in_place: None,
        peer: None,
        communicator: Some(communicator),
    }
}

const fn in_place(buffer: u8, count: u8, kind: u8, communicator: u8) -> Layout {
    Layout {
        in_place: Some(buffer),
        ..to_all(count, kind, communicator)
    }
}

const fn rooted(layout: Layout, root: u8) -> Layout {
    Layout {
        peer: Some(root),
        ..layout
    }
}

/// Functions that are alike, by names without `MPI_`, and what their arguments are.
const KNOWN: &[(&[&str], Layout)] = &[
    (
        &[
            "Send",
            "Bsend",
            "Ssend",
            "Rsend",
            "Isend",
            "Ibsend",
            "Issend",
            "Irsend",
            "Recv",
            "Irecv",
            "Send_init",
            "Bsend_init",
            "Ssend_init",
            "Rsend_init",
            "Recv_init",
        ],
        to_peer(1, 2, 3, 5),
    ),
    (&["Sendrecv", "Isendrecv"], to_peer(1, 2, 3, 10)),
    (&["Sendrecv_replace"], to_peer(1, 2, 3, 7)),
    (
        &["Barrier", "Ibarrier"],
        Layout {
            communicator: Some(0),
            ..NOTHING
        },
    ),
    (&["Bcast", "Ibcast"], rooted(to_all(1, 2, 4), 3)),
    (&["Reduce", "Ireduce"], rooted(to_all(2, 3, 6), 5)),
    (
        &[
            "Allreduce",
            "Scan",
            "Exscan",
            "Iallreduce",
            "Iscan",
            "Iexscan",
            "Reduce_scatter_block",
            "Ireduce_scatter_block",
        ],
        to_all(2, 3, 5),
    ),
    (
        &["Reduce_scatter", "Ireduce_scatter"],
        Layout {
            communicator: Some(5),
            ..NOTHING
        },
    ),
    (
        &["Allgather", "Alltoall", "Iallgather", "Ialltoall"],
        in_place(0, 1, 2, 6),
    ),
    (&["Allgatherv", "Iallgatherv"], in_place(0, 1, 2, 7)),
    (
        &["Alltoallv", "Alltoallw", "Ialltoallv", "Ialltoallw"],
        Layout {
            communicator: Some(8),
            ..NOTHING
        },
    ),
    (&["Gather", "Igather"], rooted(in_place(0, 1, 2, 7), 6)),
    (&["Gatherv", "Igatherv"], rooted(in_place(0, 1, 2, 8), 7)),
    (&["Scatter", "Iscatter"], rooted(in_place(3, 4, 5, 7), 6)),
    (&["Scatterv", "Iscatterv"], rooted(in_place(4, 5, 6, 8), 7)),
    (
        &[
            "Neighbor_allgather",
            "Neighbor_alltoall",
            "Ineighbor_allgather",
            "Ineighbor_alltoall",
        ],
        to_all(1, 2, 6),
    ),
    (
        &["Neighbor_allgatherv", "Ineighbor_allgatherv"],
        to_all(1, 2, 7),
    ),
    // The rank here is one of the window's, whose communicator is not passed.
    (
        &["Put", "Get", "Accumulate", "Rput", "Rget", "Raccumulate"],
        Layout {
            communicator: None,
            ..to_all(1, 2, 0)
        },
    ),
];

/// Functions in which every rank waits for all of its communicator, by names without `MPI_`. Of
/// others, such as a broadcast, some ranks may be through before the last has come.
const OF_ALL: &[&str] = &[
    "Barrier",
    "Allreduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Allgather",
    "Alltoall",
    "Allgatherv",
    "Alltoallv",
    "Alltoallw",
];

/// Whether every rank waits for all of its communicator in the function of that name in C.
pub(crate) const fn is_of_all(name: &str) -> bool {
    is_one_of(name, OF_ALL)
}

/// What a call does with messages between two ranks; arguments are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing that is known.
    Other,
    /// Sends: to the rank 3, with the tag 4, on the communicator 5.
    Send(Ending),
    /// Receives, likewise.
    Receive(Ending),
    /// Sends and receives, both of them before it is over.
    Exchange {
        /// Tag of what is sent.
        sent_tag: u8,
        /// The rank that sends.
        source: u8,
        /// Tag of what is received.
        tag: u8,
        /// The communicator.
        communicator: u8,
        /// The status.
        status: u8,
        /// How many elements are received, and of which type.
        elements: (u8, u8),
    },
    /// Takes a message of the rank 0, with the tag 1, on the communicator 2, out of those that can be
    /// received; what receives it by its handle later is no other message.
    MatchedProbe {
        /// Whether there is one; none: there is.
        flag: Option<u8>,
        /// The status.
        status: u8,
    },
    /// Begins a collective operation: its layout says on which communicator, and the request is the
    /// argument behind that.
    BeginCollective,
    /// Starts the persistent request 0.
    Start,
    /// Starts persistent requests: how many, and where.
    StartAll,
    /// Waits for requests, or tests them.
    Complete(Completion),
    /// Gives the request 0 back.
    FreeRequest,
    /// Makes a communicator of the communicator 0; where it is put, and the tag if only its
    /// members call.
    MakeCommunicator {
        /// Where the new one is put.
        made: u8,
        /// The tag.
        tag: Option<u8>,
    },
    /// Frees the communicator 0.
    FreeCommunicator,
}

/// How a message that a call begins is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// When the call is; a receive has the status 6.
    WithCall,
    /// Another call completes the request 6.
    ByRequest,
    /// The call does not begin it, but makes the persistent request 6.
    Persistent,
}

/// Which requests a call completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// How many there are; none: one.
    pub(crate) count: Option<u8>,
    /// Where they are.
    pub(crate) requests: u8,
    /// Whether it was done; none: it is done.
    pub(crate) flag: Option<u8>,
    /// Which of them; none: all.
    pub(crate) chosen: Option<Chosen>,
    /// The status, or one for each that was completed.
    pub(crate) status: u8,
}

/// Which of several requests a call has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The one of this number.
    One(u8),
    /// So many, of the numbers there.
    Some(u8, u8),
}

/// What the function of that name in C does with messages.
pub(crate) const fn role(name: &str) -> Role {
    let mut at = 0;
    while at < ROLES.len() {
        let (names, role) = ROLES[at];
        if is_one_of(name, names) {
            return role;
        }
        at += 1;
    }
    Role::Other
}

const fn exchange(sent_tag: u8, source: u8, status: u8, elements: (u8, u8)) -> Role {
    Role::Exchange {
        sent_tag,
        source,
        tag: source + 1,
        communicator: source + 2,
        status,
        elements,
    }
}

const fn one(flag: Option<u8>, status: u8) -> Role {
    Role::Complete(Completion {
        count: None,
        requests: 0,
        flag,
        chosen: None,
        status,
    })
}

const fn many(flag: Option<u8>, chosen: Option<Chosen>, status: u8) -> Role {
    Role::Complete(Completion {
        count: Some(0),
        requests: 1,
        flag,
        chosen,
        status,
    })
}

const fn matched_probe(flag: Option<u8>, status: u8) -> Role {
    Role::MatchedProbe { flag, status }
}

const fn makes(made: u8, tag: Option<u8>) -> Role {
    Role::MakeCommunicator { made, tag }
}

/// By names without `MPI_`.
const ROLES: &[(&[&str], Role)] = &[
    (
        &["Send", "Bsend", "Ssend", "Rsend"],
        Role::Send(Ending::WithCall),
    ),
    (
        &["Isend", "Ibsend", "Issend", "Irsend"],
        Role::Send(Ending::ByRequest),
    ),
    (
        &["Send_init", "Bsend_init", "Ssend_init", "Rsend_init"],
        Role::Send(Ending::Persistent),
    ),
    (&["Recv"], Role::Receive(Ending::WithCall)),
    (&["Irecv"], Role::Receive(Ending::ByRequest)),
    (&["Recv_init"], Role::Receive(Ending::Persistent)),
    (
        &[
            "Ibarrier",
            "Ibcast",
            "Ireduce",
            "Iallreduce",
            "Ireduce_scatter",
            "Ireduce_scatter_block",
            "Iallgather",
            "Iallgatherv",
            "Ialltoall",
            "Ialltoallv",
            "Ialltoallw",
            "Igather",
            "Igatherv",
            "Iscatter",
            "Iscatterv",
        ],
        Role::BeginCollective,
    ),
    (&["Sendrecv"], exchange(4, 8, 11, (6, 7))),
    (&["Sendrecv_replace"], exchange(4, 5, 8, (1, 2))),
    (&["Mprobe"], matched_probe(None, 4)),
    (&["Improbe"], matched_probe(Some(3), 5)),
    (&["Start"], Role::Start),
    (&["Startall"], Role::StartAll),
    (&["Wait"], one(None, 1)),
    (&["Test"], one(Some(1), 2)),
    (&["Waitall"], many(None, None, 2)),
    (&["Testall"], many(Some(2), None, 3)),
    (&["Waitany"], many(None, Some(Chosen::One(2)), 3)),
    (&["Testany"], many(Some(3), Some(Chosen::One(2)), 4)),
    (
        &["Waitsome", "Testsome"],
        many(None, Some(Chosen::Some(2, 3)), 4),
    ),
    (&["Request_free"], Role::FreeRequest),
    (&["Comm_dup"], makes(1, None)),
    (
        &["Comm_dup_with_info", "Comm_create", "Cart_sub"],
        makes(2, None),
    ),
    (&["Comm_split"], makes(3, None)),
    (&["Comm_split_type"], makes(4, None)),
    (&["Comm_create_group"], makes(3, Some(2))),
    (&["Cart_create", "Graph_create"], makes(5, None)),
    (&["Dist_graph_create"], makes(8, None)),
    (&["Dist_graph_create_adjacent"], makes(9, None)),
    (&["Comm_free", "Comm_disconnect"], Role::FreeCommunicator),
];

/// That of a function, by its name in C.
pub(crate) const fn of(name: &str) -> Layout {
    let mut group = 0;
    while group < KNOWN.len() {
        let (names, layout) = KNOWN[group];
        if is_one_of(name, names) {
            return layout;
        }
        group += 1;
    }
    NOTHING
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut at = 0;
    while at < names.len() {
        if is(name.as_bytes(), names[at].as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether a name is this one behind `MPI_`.
const fn is(name: &[u8], behind: &[u8]) -> bool {
    const PREFIX: usize = "MPI_".len();
    if name.len() != PREFIX + behind.len() {
        return false;
    }
    let mut at = 0;
    while at < behind.len() {
        if name[PREFIX + at] != behind[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_types::mpi::NAMES;

    #[test]
    fn every_name_is_one_of_mpis_functions() {
        let known = KNOWN.iter().map(|(names, _)| names);
        let all = known.chain(ROLES.iter().map(|(names, _)| names));
        for name in all.copied().flatten().chain(OF_ALL) {
            assert!(NAMES.contains(&format!("MPI_{name}").as_str()), "{name}");
        }
    }

    #[test]
    fn arguments_are_known_by_name() {
        assert_eq!(of("MPI_Send"), to_peer(1, 2, 3, 5));
        assert_eq!(of("MPI_Allreduce"), to_all(2, 3, 5));
        assert_eq!(of("MPI_Waitall"), NOTHING);
        assert_eq!(of("MPI_Sen"), NOTHING);
        assert!(is_of_all("MPI_Alltoall") && !is_of_all("MPI_Bcast"));
        assert_eq!(role("MPI_Recv"), Role::Receive(Ending::WithCall));
        assert_eq!(role("MPI_Probe"), Role::Other);
        let begins = |name: &&&str| role(name) == Role::BeginCollective;
        assert_eq!(NAMES.iter().filter(begins).count(), 15);
        for name in NAMES.iter().filter(begins) {
            assert!(of(name).communicator.is_some(), "{name}");
        }
    }
}
