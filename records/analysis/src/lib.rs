//! From a recording to facts per region and thread.
//!
//! [`analyse`] turns a [`Recording`](fathomp_trace::model::Recording) into an
//! [`Analysis`]: plain data, serialisable, in a deterministic order. Reports,
//! exports and predictions read that and do no arithmetic on records again.
//!
//! How time is accounted, in one paragraph: every thread of the team of a
//! region instance is charged the whole instance, from the moment the
//! encountering thread asked for the team until it left the implicit barrier.
//! What the thread did not record of that span is completed: up to its first
//! instruction it is [`Overhead`](State::Overhead), after its arrival at the
//! end it is [`ImplicitBarrier`](State::ImplicitBarrier). Outside regions a
//! thread that encounters regions computes serially and any other is
//! [`Idle`](State::Idle); both are the row of the serial part. So the rows add
//! up to the lives of the threads.
#![forbid(unsafe_code)]

mod analysis;
mod clauses;
mod constructs;
mod costs;
mod counters;
mod critical;
mod directive;
mod disturbance;
mod efficiency;
mod enclosing;
mod facts;
mod mpi;
mod oversubscription;
mod phases;
mod problems;
mod ranks;
mod regions;
pub mod samples;
mod sites;
mod spans;
mod sums;
pub mod symbols;
#[doc(hidden)]
pub mod testing;
mod time_accounting;
mod time_alignment;
mod timeline;
mod trips;
mod waits;
mod work;
mod work_counts;

pub use analysis::{Options, analyse};
pub use clauses::{Reductions, reductions, serial_construct};
pub use costs::EventCosts;
pub use disturbance::{Disturbance, Taken};
pub use facts::{
    Analysis, BarrierWaitCauses, Confidence, Counts, Crowded, Decided, Dsm, Efficiency,
    ForeignRecorderFacts, Intrusion, Lines, LoopRow, LoopShareRow, MpiCalls, MpiFacts,
    Oversubscription, PhaseShare, PieceKind, Pieces, Place, Problem, ProcessRow, ProgramFacts,
    Region, RegionDsm, SCHEMA, Segment, Severity, Spread, ThreadRow, ThreadShare, ThreadTrips,
    Timeline, TimelineThread, Times, Trips, Unevenness, UnknownIterations, VERSION, WaitRow, Work,
};
pub use fathomp_trace::{
    model::{Machine, Output, OutputDifference, Pace, RunHost, SiteKind},
    record::{Decider, LoopKind},
    stack::{StackOverflow, StackOwner},
    state::State,
};
pub use ranks::{
    Channel, HostClock, HybridEfficiency, Late, LockedCalls, OneRank, RankCalls, RankCrowd,
    RankLine, RankMessages, RankPhase, RankRow, RankSummary, RankWait, Ranks, SentMessages,
    Stretch, Turns, WaitKind, match_messages, ranks, states_of,
};
pub use sites::site_names;
pub use time_alignment::{
    AxisClock, AxisCounts, AxisPhase, AxisSpan, AxisThread, TimeAlignment, axis,
};
pub use timeline::TimelineBudget;
pub use trips::{Execution, executions, facts};
