//! What is gone through: small programs.

use crate::cluster::Step;
use crate::memory::Place;

/// The first page and the second.
const A: Place = Place { page: 0, byte: 0 };
const A2: Place = Place { page: 0, byte: 1 };
const B: Place = Place { page: 1, byte: 0 };

use Step::{
    Acquire, Add, Barrier, Flush, IfSeen, IfTaken, IfUpdated, IfWaited, Read, Release, TryAcquire,
    Update, Write,
};

/// A program: a thread on each node, and perhaps one more on node 0 that takes no
/// part in barriers.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) threads: [&'static [Step]; 3],
    pub(crate) own_thread: &'static [Step],
    /// Whether plain loads have to acquire.
    pub(crate) relies_on_loads: bool,
    /// Whether who updates relies on plain writes of others: without homes, loads have to
    /// acquire for that.
    pub(crate) relies_on_writes: bool,
    /// Pages are leased in some of the runs over the home-based protocol, if they can be.
    pub(crate) leases: bool,
    /// Takes long.
    pub(crate) large: bool,
}

impl Program {
    fn steps(&self) -> impl Iterator<Item = &Step> {
        let steps = self.threads.iter().copied().flatten();
        steps.chain(self.own_thread)
    }

    /// Whether a thread updates something.
    pub(crate) fn updates(&self) -> bool {
        self.steps().any(|step| {
            matches!(
                step,
                Step::Update(..) | Step::Add(..) | Step::IfUpdated(..) | Step::IfTaken(..)
            )
        })
    }

    /// Whether a thread adds something and never looks.
    pub(crate) fn adds(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::Add(..)))
    }

    /// Whether a thread tries to take a lock.
    pub(crate) fn tries_locks(&self) -> bool {
        self.steps()
            .any(|step| matches!(step, Step::TryAcquire(..)))
    }
}

const fn program(name: &'static str, threads: [&'static [Step]; 3]) -> Program {
    Program {
        name,
        threads,
        own_thread: &[],
        relies_on_loads: false,
        relies_on_writes: false,
        leases: false,
        large: false,
    }
}

pub(crate) const PASSED_BY_LOADS: Program = Program {
    relies_on_loads: true,
    ..program(
        "messages are passed by plain loads",
        [
            &[Write(A, 1), Write(B, 1), Flush],
            &[IfSeen(A2, 9, 0), IfSeen(B, 1, 1), Read(A)],
            &[IfSeen(A2, 9, 0), IfSeen(B, 1, 1), Read(A)],
        ],
    )
};

pub(crate) const LOCKED_BY_EXCHANGES: Program = Program {
    relies_on_writes: true,
    ..program(
        "a lock is taken by an exchange and given back by a plain write",
        [
            &[IfTaken(A, 2), Write(B, 1), Write(A, 0), Barrier],
            &[
                IfSeen(B, 9, 0),
                IfTaken(A, 3),
                Read(B),
                Write(B, 2),
                Write(A, 0),
                Barrier,
            ],
            &[IfTaken(A, 1), Read(B), Barrier],
        ],
    )
};

pub(crate) const PROGRAMS: &[Program] = &[
    program(
        "two writers of a page, read after a barrier",
        [
            &[Write(A, 1), Barrier, Read(A2)],
            &[Write(A2, 2), Barrier, Read(A)],
            &[Barrier, Read(A), Read(A2)],
        ],
    ),
    program(
        "a page goes round at barriers",
        [
            &[Write(A, 1), Barrier, Read(B), Barrier, Read(A)],
            &[Write(B, 1), Barrier, Write(A, 2), Barrier, Read(A)],
            &[Barrier, Read(B), Barrier, Write(A2, 3), Write(B, 3)],
        ],
    ),
    program(
        "a lock goes round",
        [
            &[
                Acquire(1),
                Read(B),
                Write(B, 1),
                Release(1),
                Barrier,
                Read(B),
            ],
            &[
                Acquire(1),
                Read(B),
                Write(B, 2),
                Release(1),
                Barrier,
                Read(B),
            ],
            &[TryAcquire(1, 3), Read(B), Write(B, 3), Release(1), Barrier],
        ],
    ),
    program(
        "a lock stays",
        [
            &[
                Acquire(1),
                Write(A, 1),
                Release(1),
                Acquire(1),
                Read(A),
                Write(B, 1),
                Release(1),
                Barrier,
            ],
            &[
                Acquire(1),
                Read(A),
                Write(A, 2),
                Release(1),
                Barrier,
                Acquire(1),
                Write(B, 2),
                Release(1),
            ],
            &[
                Acquire(1),
                Read(B),
                Write(A, 3),
                Release(1),
                Barrier,
                Acquire(1),
                Read(A),
                Read(B),
                Release(1),
            ],
        ],
    ),
    program(
        "two locks",
        [
            &[
                Acquire(1),
                Write(A, 1),
                Release(1),
                Acquire(2),
                Read(A2),
                Release(2),
            ],
            &[
                Acquire(2),
                Write(A2, 1),
                Release(2),
                Acquire(1),
                Read(A),
                Release(1),
            ],
            &[Acquire(2), Read(A2), Write(A2, 2), Release(2)],
        ],
    ),
    program(
        "messages are passed by flushes",
        [
            &[Write(A, 1), Flush, Write(B, 1), Flush],
            &[Read(A2), Flush, IfSeen(B, 1, 2), Flush, Read(A)],
            &[Write(A2, 0), Flush],
        ],
    ),
    program(
        "all update a byte",
        [
            &[Update(A, 1), Update(A, 1), Barrier, Barrier, Read(A)],
            &[Write(A2, 5), Update(A, 2), Barrier, Barrier, Read(A)],
            &[Update(A, 4), Barrier, Update(A, 8), Barrier, Read(B)],
        ],
    ),
    program(
        "what nobody looks at is added",
        [
            &[Add(A, 1), Add(B, 2), Barrier, Read(A)],
            &[Add(A, 4), Write(A2, 1), Add(A, 8), Barrier, Read(A)],
            &[Add(B, 3), Barrier, Read(B)],
        ],
    ),
    program(
        "a message is passed by what nobody looks at",
        [
            &[Write(B, 1), Add(A, 1), Flush],
            &[IfSeen(A2, 9, 0), IfUpdated(A, 1, 1), Read(B)],
            &[Add(A2, 1), Read(A2), Write(A2, 3), Add(A2, 2), Read(A2)],
        ],
    ),
    program(
        "a message is passed by an update",
        [
            &[Write(B, 1), Update(A, 1), Write(A2, 3)],
            &[IfSeen(A2, 9, 0), IfUpdated(A, 1, 1), Read(B)],
            &[IfSeen(B, 9, 0), IfUpdated(A, 1, 1), Read(B)],
        ],
    ),
    Program {
        relies_on_writes: true,
        ..program(
            "a message is passed by a plain write to who updates",
            [
                &[Write(B, 1), Write(A, 1), Barrier],
                &[IfSeen(B, 9, 0), IfUpdated(A, 1, 1), Read(B), Barrier],
                &[IfUpdated(A, 1, 1), Read(B), Barrier],
            ],
        )
    },
    LOCKED_BY_EXCHANGES,
    program(
        "a message is passed by plain writes to who waits",
        [
            &[Write(B, 1), Write(A, 1), Barrier],
            &[IfSeen(B, 9, 0), IfWaited(A, 1, 1), Read(B), Barrier],
            &[IfWaited(A, 1, 1), Read(B), Write(A2, 1), Barrier],
        ],
    ),
    program(
        "a message is passed on to who waits",
        [
            &[Write(A, 1), Write(A2, 1)],
            &[IfWaited(A2, 1, 1), Write(B, 1)],
            &[IfSeen(A, 9, 0), IfWaited(B, 1, 1), Read(A)],
        ],
    ),
    Program {
        leases: true,
        ..program(
            "who writes a page again and again leases it",
            [
                &[Write(A2, 1), Barrier, Read(A)],
                &[
                    Write(A, 1),
                    Flush,
                    Write(A, 2),
                    Flush,
                    Write(A, 3),
                    Barrier,
                    Read(A2),
                ],
                &[Barrier, Read(A), Read(A2)],
            ],
        )
    },
    Program {
        leases: true,
        large: true,
        ..program(
            "a page that is leased is wanted back",
            [
                &[
                    IfSeen(A2, 9, 0),
                    Flush,
                    IfSeen(B, 1, 2),
                    Flush,
                    Read(A),
                    Barrier,
                    Read(A),
                ],
                &[
                    Write(A, 1),
                    Flush,
                    Write(A, 2),
                    Flush,
                    Write(A, 3),
                    Flush,
                    Write(B, 1),
                    Barrier,
                    Read(A2),
                ],
                &[Write(A2, 1), Barrier],
            ],
        )
    },
    PASSED_BY_LOADS,
    Program {
        relies_on_loads: true,
        ..program(
            "causes are seen before effects",
            [
                &[Write(A, 1), Flush],
                &[IfSeen(A, 1, 1), Write(B, 1)],
                &[IfSeen(A, 9, 0), IfSeen(B, 1, 1), Read(A)],
            ],
        )
    },
    Program {
        own_thread: &[Write(A2, 1), Read(A2), Write(A2, 2)],
        ..program(
            "a thread writes while its node is at a barrier",
            [
                &[Barrier, Read(A), Barrier],
                &[Write(A, 1), Barrier, Barrier, Write(A, 2)],
                &[Barrier, Read(A), Barrier],
            ],
        )
    },
    Program {
        own_thread: &[
            Acquire(1),
            Read(A2),
            Write(A2, 1),
            Release(1),
            Acquire(1),
            Read(A2),
            Release(1),
        ],
        ..program(
            "a thread uses a lock while its node is at a barrier",
            [
                &[Barrier, Barrier],
                &[
                    Write(A, 1),
                    Acquire(1),
                    Write(A2, 2),
                    Release(1),
                    Barrier,
                    Barrier,
                ],
                &[Barrier, Acquire(1), Read(A2), Release(1), Read(A), Barrier],
            ],
        )
    },
    Program {
        large: true,
        ..program(
            "a lock between barriers",
            [
                &[
                    Write(A2, 1),
                    Acquire(1),
                    Write(A, 1),
                    Release(1),
                    Barrier,
                    Read(A2),
                    Write(A, 4),
                ],
                &[
                    Acquire(1),
                    Read(A),
                    Write(A, 2),
                    Release(1),
                    Barrier,
                    Read(A2),
                    Write(B, 1),
                ],
                &[
                    Read(B),
                    Acquire(1),
                    Write(A, 3),
                    Release(1),
                    Barrier,
                    Read(A2),
                ],
            ],
        )
    },
    Program {
        large: true,
        relies_on_loads: true,
        ..program(
            "flushes and loads",
            [
                &[Write(A, 1), Flush, Write(B, 1), Barrier, Read(A2)],
                &[
                    Read(A2),
                    Flush,
                    IfSeen(B, 1, 2),
                    Write(A2, 1),
                    Read(A),
                    Barrier,
                    Write(A, 2),
                ],
                &[
                    IfSeen(B, 1, 1),
                    Read(A),
                    Flush,
                    IfSeen(B, 1, 1),
                    Read(A),
                    Barrier,
                ],
            ],
        )
    },
];
