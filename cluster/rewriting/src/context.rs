//! What has to be known of a program beside the function that is looked at.

use fathomp_cfg::stubs;
use iced_x86::{FlowControl, Instruction, Register, UsedMemory};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Functions by which a thread lets time pass, sees how it passes, or flushes, as loops
/// that wait do.
const PAUSES: [&str; 11] = [
    "__kmpc_flush",
    "sched_yield",
    "pthread_yield",
    "thrd_yield",
    "thrd_sleep",
    "sleep",
    "usleep",
    "nanosleep",
    "clock_nanosleep",
    "clock_gettime",
    "omp_get_wtime",
];

/// How functions of OpenMP's runtimes begin that are not given values of the program: but
/// numbers, places, and addresses.
const RUNTIME: [&str; 10] = [
    "GOMP_",
    "__kmpc_",
    "omp_get_",
    "omp_set_",
    "omp_in_",
    "omp_init_",
    "omp_test_",
    "omp_unset_",
    "omp_destroy_",
    "omp_is_",
];

/// How those begin that are: operands, and what a parallel region takes with it.
const TAKE_VALUES: [&str; 2] = ["__kmpc_atomic_", "__kmpc_fork_"];

/// What a function of another module is to the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    /// A thread lets time pass by it.
    pauses: bool,
    /// It is one of OpenMP's runtime, and is not given values of the program.
    runtime: bool,
}

/// Where a call goes, as far as that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// To a function of OpenMP's runtime that is not given values of the program.
    Runtime,
    /// To another one in another module, which keeps to the calling convention.
    Elsewhere,
    /// To code of the program, or only a run knows.
    Unknown,
}

/// What has to be known of a program to understand its functions.
#[derive(Debug, Default)]
pub(crate) struct ProgramContext {
    /// Places in memory where the addresses of functions of other modules are.
    slots: BTreeMap<u64, Imported>,
    /// Code that does nothing but jump to one of them.
    stubs: BTreeMap<u64, Imported>,
    /// What nobody can write.
    constants: Vec<Range<u64>>,
    /// Functions that compilers made of parallel regions and tasks.
    outlined: BTreeSet<u64>,
}

impl ProgramContext {
    /// The program is told at run time, by its loader, to put the address of the function `name`
    /// at `slot`.
    pub(crate) fn note(&mut self, slot: u64, name: &str) {
        let begins = |with: &[&str]| with.iter().any(|begin| name.starts_with(begin));
        let imported = Imported {
            pauses: PAUSES.contains(&name),
            runtime: begins(&RUNTIME) && !begins(&TAKE_VALUES),
        };
        self.slots.insert(slot, imported);
    }

    /// Looks at code that consists of jumps to functions of other libraries.
    pub(crate) fn scan(&mut self, address: u64, code: &[u8]) {
        let stubs = stubs(address, code).into_iter();
        let known = stubs.filter_map(|stub| Some((stub.address, *self.slots.get(&stub.slot)?)));
        self.stubs.extend(known);
    }

    /// There is memory that nobody can write.
    pub(crate) fn constant(&mut self, addresses: Range<u64>) {
        self.constants.push(addresses);
    }

    /// A function with this symbol begins there.
    pub(crate) fn function(&mut self, address: u64, name: &[u8]) {
        let marks: [&[u8]; 3] = [b"._omp_fn.", b".omp_outlined", b".omp_task_entry"];
        let is_one = |mark: &&[u8]| name.windows(mark.len()).any(|part| part == *mark);
        if marks.iter().any(is_one) {
            self.outlined.insert(address);
        }
    }

    /// Whether the function that begins there is one that compilers made of a parallel region or
    /// a task, so that nobody looks at what it returns.
    pub(crate) fn is_outlined(&self, address: u64) -> bool {
        self.outlined.contains(&address)
    }

    pub(crate) fn is_constant(&self, memory: &UsedMemory) -> bool {
        let fixed = memory.base() == Register::None && memory.index() == Register::None;
        let mut constants = self.constants.iter();
        fixed && constants.any(|range| range.contains(&memory.displacement()))
    }

    fn imported(&self, call: &Instruction) -> Option<Imported> {
        match call.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch => {
                self.stubs.get(&call.near_branch_target()).copied()
            }
            _ if call.is_ip_rel_memory_operand() => {
                self.slots.get(&call.memory_displacement64()).copied()
            }
            _ => None,
        }
    }

    /// Whether a thread lets time pass by a call.
    pub(crate) fn calls(&self, call: &Instruction) -> bool {
        self.imported(call).is_some_and(|imported| imported.pauses)
    }

    /// Where a call, or a jump in the place of one, goes.
    pub(crate) fn callee(&self, call: &Instruction) -> Callee {
        match self.imported(call) {
            Some(imported) if imported.runtime => Callee::Runtime,
            Some(_) => Callee::Elsewhere,
            None => Callee::Unknown,
        }
    }
}
