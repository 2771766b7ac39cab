//! States, types and values of events, and what they are called.

use crate::export::tracks::{Activity, Doing, MpiClass};
use fathomp_trace::record::LoopKind;
use fathomp_trace::state::State;
use fathomp_types::mpi::NAMES;
use std::collections::BTreeSet;

/// The value with which an activity begins, of a type of events. With 0, or the value of the
/// activity around it, it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) kind: u32,
    pub(super) value: u32,
}

const POINT_TO_POINT: u32 = 50_000_001;
const COLLECTIVE: u32 = 50_000_002;
const OTHER_MPI: u32 = 50_000_003;
const ONE_SIDED: u32 = 50_000_004;
const FILES: u32 = 50_000_005;
const PARALLEL: u32 = 60_000_001;
const WORKSHARING: u32 = 60_000_002;
const BARRIER: u32 = 60_000_005;
const REGION: u32 = 60_000_018;
const TASK_WAIT: u32 = 60_000_022;
/// Not Extrae's: loops, waits and the runtime's work, with their places.
const WHERE: u32 = 61_000_000;

const KINDS: [(u32, &str); 11] = [
    (POINT_TO_POINT, "MPI Point-to-point"),
    (COLLECTIVE, "MPI Collective Comm"),
    (OTHER_MPI, "MPI Other"),
    (ONE_SIDED, "MPI One-sided"),
    (FILES, "MPI I/O"),
    (PARALLEL, "Parallel (OMP)"),
    (WORKSHARING, "Worksharing (OMP)"),
    (BARRIER, "OpenMP barrier"),
    (REGION, "Executed OpenMP parallel function"),
    (TASK_WAIT, "OMP taskwait"),
    (WHERE, "Loops, waits and the runtime's work"),
];

/// Functions of MPI in the order of their values, which begin anew at each number.
const MPI_VALUES: &str = "1 Send Recv Isend Irecv Wait Waitall Bcast Barrier Reduce Allreduce \
    Alltoall Alltoallv Gather Gatherv Scatter Scatterv Allgather Allgatherv 21 Comm_create Comm_dup \
    Comm_split 25 Comm_free 30 Scan Init Finalize Bsend Ssend Rsend Ibsend Issend Irsend Test Cancel \
    Sendrecv Sendrecv_replace Cart_create 49 Cart_sub 54 Graph_create 59 Waitany Waitsome Probe \
    Iprobe Win_create Win_free Put Get Accumulate Win_fence Win_start Win_complete Win_post Win_wait \
    Win_test Win_lock Win_unlock 80 Reduce_scatter 96 Intercomm_create Intercomm_merge 100 Abort 114 \
    Buffer_detach Request_free 123 Start Startall Testall Testany 128 Testsome 141 File_open \
    File_close File_read File_read_all File_write File_write_all File_read_at File_read_at_all \
    File_write_at File_write_at_all Comm_spawn Comm_spawn_multiple 154 Ireduce Iallreduce Ibarrier \
    Ibcast Ialltoall Ialltoallv Iallgather Iallgatherv Igather Igatherv Iscatter Iscatterv \
    Ireduce_scatter Iscan Reduce_scatter_block Ireduce_scatter_block Alltoallw Ialltoallw";
/// From here on, the value of other functions is their number in [`NAMES`] and this.
const OTHERS_FROM: u32 = 1_000;

/// What of `doing` is told, and as what.
pub(super) fn events(doing: Doing, activity: u32) -> Vec<Event> {
    let event = |kind, value| Event { kind, value };
    // 0 is the end.
    let named = |kind| event(kind, activity.saturating_add(1));
    match doing {
        Doing::Program => Vec::new(),
        Doing::Parallel | Doing::Several => vec![event(PARALLEL, 3), named(REGION)],
        Doing::Loop(LoopKind::Sections) => vec![event(WORKSHARING, 5), named(WHERE)],
        Doing::Loop(_) => vec![event(WORKSHARING, 4), named(WHERE)],
        Doing::Wait(State::ImplicitBarrier | State::ExplicitBarrier) => {
            vec![event(BARRIER, 1), named(WHERE)]
        }
        Doing::Wait(State::TaskWait) => vec![event(TASK_WAIT, 1), named(WHERE)],
        Doing::Wait(_) => vec![named(WHERE)],
        Doing::Mpi(function) => vec![event(
            MpiClass::of(function).paraver_type,
            value_of_mpi(function),
        )],
    }
}

fn value_of_mpi(function: u16) -> u32 {
    let name = NAMES.get(usize::from(function)).copied().unwrap_or("");
    let name = match name.trim_start_matches("MPI_") {
        "Init_thread" => "Init",
        name => name,
    };
    let mut value = 0;
    for word in MPI_VALUES.split_whitespace() {
        match word.parse() {
            Ok(next) => value = next,
            Err(_) if word == name => return value,
            Err(_) => value += 1,
        }
    }
    OTHERS_FROM + u32::from(function)
}

/// States that Extrae tells apart, with their colours.
const STATES: [(u8, &str, [u8; 3]); 16] = [
    (0, "Idle", [117, 195, 255]),
    (1, "Running", [0, 0, 255]),
    (2, "Not created", [255, 255, 255]),
    (3, "Waiting a message", [255, 0, 0]),
    (4, "Blocking Send", [255, 0, 174]),
    (5, "Synchronization", [179, 0, 0]),
    (6, "Test/Probe", [0, 255, 0]),
    (7, "Scheduling and Fork/Join", [255, 255, 0]),
    (8, "Wait/WaitAll", [235, 0, 0]),
    (10, "Immediate Send", [255, 0, 255]),
    (11, "Immediate Receive", [100, 100, 177]),
    (12, "I/O", [172, 174, 41]),
    (13, "Group Communication", [255, 144, 26]),
    (15, "Others", [192, 224, 0]),
    (16, "Send Receive", [66, 66, 66]),
    (25, "One-sided op", [116, 116, 116]),
];

/// The state of a thread that does this, by its number in [`STATES`].
pub(super) fn state(doing: Doing) -> u8 {
    match doing {
        Doing::Program | Doing::Parallel | Doing::Several | Doing::Loop(_) => 1,
        Doing::Wait(State::Idle) => 0,
        Doing::Wait(State::Overhead) => 7,
        Doing::Wait(State::Io) => 12,
        Doing::Wait(State::Communication) => 3,
        Doing::Wait(_) => 5,
        Doing::Mpi(function) => MpiClass::of(function).paraver_state,
    }
}

/// Names of states, and of the events of these types and values.
pub(super) fn pcf(seen: &BTreeSet<Event>, activities: &[Activity]) -> String {
    let mut text = "DEFAULT_OPTIONS\n\nLEVEL THREAD\nUNITS NANOSEC\n\n\
                    DEFAULT_SEMANTIC\n\nTHREAD_FUNC State As Is\n\nSTATES\n"
        .to_owned();
    for (number, name, _) in STATES {
        text += &format!("{number} {name}\n");
    }
    text += "\nSTATES_COLOR\n";
    for (number, _, [red, green, blue]) in STATES {
        text += &format!("{number} {{{red},{green},{blue}}}\n");
    }
    for (kind, name) in KINDS {
        let values = seen.iter().filter(|event| event.kind == kind);
        let mut values = values.peekable();
        if values.peek().is_none() {
            continue;
        }
        text += &format!("\nEVENT_TYPE\n0 {kind} {name}\nVALUES\n0 End\n");
        for event in values {
            text += &format!("{} {}\n", event.value, value_name(*event, activities));
        }
    }
    text
}

fn value_name(event: Event, activities: &[Activity]) -> String {
    match event.kind {
        PARALLEL => "REGION (open)".to_owned(),
        WORKSHARING if event.value == 5 => "SECTIONS".to_owned(),
        WORKSHARING => "DO".to_owned(),
        BARRIER | TASK_WAIT => "Begin".to_owned(),
        REGION | WHERE => {
            let row = activities.get(event.value.saturating_sub(1) as usize);
            row.map_or(String::new(), |row| row.name.clone())
        }
        _ => {
            let of = |number: &usize| value_of_mpi(*number as u16) == event.value;
            let number = (0..NAMES.len()).find(of);
            number.map_or("MPI", |number| NAMES[number]).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_types::mpi::number;

    #[test]
    fn functions_have_the_values_of_extrae() {
        let cases = [
            ("MPI_Send", POINT_TO_POINT, 1),
            ("MPI_Allreduce", COLLECTIVE, 10),
            ("MPI_Init_thread", OTHER_MPI, 31),
            ("MPI_Finalize", OTHER_MPI, 32),
            ("MPI_Iprobe", OTHER_MPI, 62),
            ("MPI_Win_unlock", ONE_SIDED, 75),
            ("MPI_Reduce_scatter", COLLECTIVE, 80),
            ("MPI_Testsome", OTHER_MPI, 128),
            ("MPI_File_write_at_all", FILES, 150),
            ("MPI_Ialltoallw", COLLECTIVE, 171),
        ];
        for (name, kind, value) in cases {
            let found = events(Doing::Mpi(number(name) as u16), 0);
            assert_eq!(found, [Event { kind, value }], "{name}");
        }
        let names = MPI_VALUES.split_whitespace();
        let mut names = names.filter(|word| word.parse::<u32>().is_err());
        assert!(names.all(|name| number(&format!("MPI_{name}")) < NAMES.len() as u32));
    }

    #[test]
    fn all_states_of_threads_have_a_name() {
        let calls = (0..NAMES.len()).map(|number| Doing::Mpi(number as u16));
        let waits = State::ALL.into_iter().map(Doing::Wait);
        for doing in calls.chain(waits) {
            assert!(STATES.iter().any(|one| one.0 == state(doing)), "{doing:?}");
        }
    }
}
