//! Which arguments of MPI's functions say how much goes to whom.
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
    /// The other rank.
    pub(crate) peer: Option<u8>,
}

/// Nothing is known.
const NOTHING: Layout = Layout {
    elements: None,
    in_place: None,
    peer: None,
};

const fn to_peer(count: u8, kind: u8, peer: u8) -> Layout {
    Layout {
        elements: Some((count, kind)),
        in_place: None,
        peer: Some(peer),
    }
}

const fn to_all(count: u8, kind: u8) -> Layout {
    Layout {
        elements: Some((count, kind)),
        in_place: None,
        peer: None,
    }
}

const fn in_place(buffer: u8, count: u8, kind: u8) -> Layout {
    Layout {
        elements: Some((count, kind)),
        in_place: Some(buffer),
        peer: None,
    }
}

/// Functions in which every rank waits for all of its communicator, by names without `MPI_`, and the
/// communicator's argument. Of others, such as a broadcast, some ranks may be through before the
/// last has come.
const OF_ALL: &[(&[&str], u8)] = &[
    (&["Barrier"], 0),
    (&["Allreduce", "Reduce_scatter", "Reduce_scatter_block"], 5),
    (&["Allgather", "Alltoall"], 6),
    (&["Allgatherv"], 7),
    (&["Alltoallv", "Alltoallw"], 8),
];

/// The argument that is the communicator of which every rank waits for all, if one is.
pub(crate) const fn of_all(name: &str) -> Option<u8> {
    let mut group = 0;
    while group < OF_ALL.len() {
        let (names, argument) = OF_ALL[group];
        if is_one_of(name, names) {
            return Some(argument);
        }
        group += 1;
    }
    None
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
            "Sendrecv_replace",
        ],
        to_peer(1, 2, 3),
    ),
    (&["Sendrecv", "Isendrecv"], to_peer(1, 2, 3)),
    (
        &["Put", "Get", "Accumulate", "Rput", "Rget", "Raccumulate"],
        to_peer(1, 2, 3),
    ),
    (&["Bcast", "Ibcast"], to_all(1, 2)),
    (
        &[
            "Reduce",
            "Allreduce",
            "Scan",
            "Exscan",
            "Ireduce",
            "Iallreduce",
            "Iscan",
            "Iexscan",
            "Reduce_scatter_block",
            "Ireduce_scatter_block",
        ],
        to_all(2, 3),
    ),
    (
        &[
            "Gather",
            "Gatherv",
            "Allgather",
            "Allgatherv",
            "Alltoall",
            "Igather",
            "Igatherv",
            "Iallgather",
            "Iallgatherv",
            "Ialltoall",
        ],
        in_place(0, 1, 2),
    ),
    (&["Scatter", "Iscatter"], in_place(3, 4, 5)),
    (&["Scatterv", "Iscatterv"], in_place(4, 5, 6)),
    (
        &[
            "Neighbor_allgather",
            "Neighbor_allgatherv",
            "Neighbor_alltoall",
            "Ineighbor_allgather",
            "Ineighbor_allgatherv",
            "Ineighbor_alltoall",
        ],
        to_all(1, 2),
    ),
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
        let of_all = OF_ALL.iter().flat_map(|(names, _)| names.iter());
        for name in KNOWN
            .iter()
            .flat_map(|(names, _)| names.iter())
            .chain(of_all)
        {
            assert!(NAMES.contains(&format!("MPI_{name}").as_str()), "{name}");
        }
    }

    #[test]
    fn arguments_are_known_by_name() {
        assert_eq!(of("MPI_Send"), to_peer(1, 2, 3));
        assert_eq!(of("MPI_Allreduce"), to_all(2, 3));
        assert_eq!(of("MPI_Barrier"), NOTHING);
        assert_eq!(of("MPI_Sen"), NOTHING);
        assert_eq!(of_all("MPI_Alltoall"), Some(6));
        assert_eq!(of_all("MPI_Bcast"), None);
    }
}
