//! `__libc_start_main`: where a program that runs on several nodes becomes
//! several processes.

use super::fork;
use super::io;
use super::{threads, world};
use fathomp_abi::fatal::{fatal, warn};
use fathomp_abi::interposer;
use fathomp_launch::names::LOADS;
use fathomp_launch::{asks_for_nodes, of_this_process};
use fathomp_node::start::{self, Forming, Plan};
use fathomp_node::{Node, StackBytes, Traits, Waits};
use fathomp_omp::{cluster, overflow, runtime};
use fathomp_rewriting::{AnalyseError, Wait};
use fathomp_sys::cluster::alike::OwnPages;
use fathomp_sys::cluster::backing::Backing;
use fathomp_sys::cluster::deferral;
use fathomp_sys::cluster::initial::{self, Gate, Mask, ThreadLocals};
use fathomp_sys::cluster::pages::{Pages, Scheme};
use fathomp_sys::cluster::process;
use fathomp_sys::cluster::thread::{self, Stacks};
use fathomp_sys::modules::program_bias;
use fathomp_sys::process::{default_thread_stack_bytes, yield_now};
use fathomp_sys::shm::stack_limit;
use fathomp_sys::signal_chain::{self, Fault, Interruption};
use fathomp_sys::stack_overflow::{self, Owner};
use fathomp_sys::text_patch::{self, FirstGuess, Hooks, Kind, PatchError};
use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

/// C's `int main(int, char **, char **)`.
type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// C's `__libc_start_main`.
type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// Where the program's first thread waits until there are nodes.
static GATE: Gate = Gate::new();
static PROGRAM: OnceLock<(Main, Plan)> = OnceLock::new();

/// What the program's start-up code calls. The C library goes on as always, but
/// calls our `main`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    let Some(next) = real!(c"__libc_start_main" as StartMain) else {
        fatal(format_args!("the C library has no __libc_start_main"));
    };
    let main = match planned() {
        Some(plan) => {
            PROGRAM.get_or_init(|| (main, plan));
            clustered_main
        }
        None => main,
    };
    // SAFETY: promised by our caller.
    unsafe { next(main, argc, argv, init, fini, rtld_fini, stack_end) }
}

/// Prepares the heap before the program's constructors use it.
fn planned() -> Option<Plan> {
    let plan = start::plan().and_then(|plan| {
        match plan {
            Some(plan) => start::prepare(plan, interposer::address().addr())?,
            None if asks_for_nodes(&of_this_process) && start::only_libraries_have_openmp() => {
                warn(format_args!(
                    "warning: the program runs in one process: its libraries use OpenMP, \
                     but nodes share what the program itself contains"
                ));
            }
            None => {}
        }
        Ok(plan)
    });
    plan.unwrap_or_else(|error| fatal(format_args!("{error}")))
}

/// Tells the runtime of nodes to come, before constructors of libraries use it. What is
/// wrong with the wish is said later, when it is known that this is no mere helper.
pub fn expect() {
    if let Ok(Some(plan)) = start::plan() {
        cluster::expect(cluster::Expected {
            nodes: plan.nodes().into(),
            threads_per_node: threads_per_node(plan),
        });
    }
}

/// Threads of each node. Without a wish, one: there are usually as many nodes as there are
/// processors.
fn threads_per_node(plan: Plan) -> u32 {
    let (settings, _) = runtime::read_environment();
    let total = settings.num_threads.first().copied().unwrap_or(1);
    total.div_ceil(plan.nodes().into())
}

/// A `main` whose arguments other threads may use: the C library keeps them as
/// long as the process lives.
struct Arguments(c_int, usize, usize);

/// Runs in the initial thread after all constructors. That thread goes on to run the
/// program on node 0; a new one makes the nodes and becomes the service thread of each.
extern "C" fn clustered_main(
    argc: c_int,
    argv: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    let Some((main, plan)) = PROGRAM.get() else {
        return 1;
    };
    fathomp_omp::interposer::find();
    let traits = lead_atomics().unwrap_or_else(|error| fatal(format_args!("{error}")));
    fork::refuse();
    world::begin();
    cluster::depart();
    let arguments = Arguments(
        argc,
        argv.expose_provenance(),
        environment.expose_provenance(),
    );
    let mine = ThreadLocals::mine();
    // The new thread begins with all of them blocked, and so does every thread that it starts.
    let signals = initial::block_signals();
    let serve = move || {
        become_nodes(*plan, traits, &mine, signals, *main, arguments);
    };
    if let Err(error) = thread::spawn_anywhere(Box::new(serve)) {
        fatal(format_args!("cannot start a node's thread: {error}"));
    }
    match GATE.pass() {
        Ok(()) => 1,
        Err(error) => fatal(format_args!("cannot start the program's thread: {error}")),
    }
}

/// Makes the nodes, starts the program on each, and is its service thread from then on. The
/// program's first thread, which has such thread-local variables and gets such signals,
/// stands still meanwhile.
fn become_nodes(
    plan: Plan,
    traits: Traits,
    first: &ThreadLocals,
    signals: Mask,
    main: Main,
    arguments: Arguments,
) {
    let (settings, _) = runtime::read_environment();
    let others = settings.stack_size;
    let stacks = StackBytes {
        first: stack_limit(),
        others: others.unwrap_or_else(default_thread_stack_bytes),
    };
    GATE.await_standing();
    let locals = first.pages(&ThreadLocals::mine());
    let locals = locals.map_err(start::StartError::Share);
    let meeting = locals.and_then(|locals| {
        let mut meeting = start::meet(plan, threads_per_node(plan), stacks, locals)?;
        let areas = meeting.areas();
        // SAFETY: the program's variables, and ranges that were reserved for what nodes share,
        // are mapped for reading and writing; the only other thread stands still.
        let mut own = unsafe { OwnPages::new(&areas) };
        meeting.agree(&mut own)?;
        Ok(meeting)
    });
    let forming = meeting.and_then(|meeting| start::fork(meeting, traits));
    let shared = forming.and_then(|(forming, backing)| share(forming, backing, plan.scheme()));
    let node = match shared {
        Ok(node) => node,
        Err(error) => fatal(format_args!("{error}")),
    };
    let run = Box::new(move || {
        signals.restore();
        // The process that started the program may have blocked them.
        signal_chain::unblock_faults();
        life(node, main, &arguments);
    });
    let begun = match node.me().0 {
        0 => node.begin_first(run).map(|(stack, run)| {
            threads::first_runs_on(first.thread(), stack.clone());
            GATE.open(stack, run);
        }),
        _ => node.begin(run),
    };
    if let Err(error) = begun {
        fatal(format_args!("cannot start the program's thread: {error}"));
    }
    // The program's threads have its signals.
    deferral::block_all();
    node.serve_others()
}

/// The program cannot run on several nodes because of its inline atomics.
#[derive(Debug)]
enum AtomicsError {
    Program(std::io::Error),
    Analyse(AnalyseError),
    Patch(PatchError),
}

impl fmt::Display for AtomicsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(error) => write!(f, "cannot find the program's file: {error}"),
            Self::Analyse(error) => error.fmt(f),
            Self::Patch(error) => error.fmt(f),
        }
    }
}

/// Leads atomics and fences that the compiler put inline through the cluster, and
/// says what of that there is, and how the program waits. To be called while there is one
/// thread.
fn lead_atomics() -> Result<Traits, AtomicsError> {
    let program = std::env::current_exe().map_err(AtomicsError::Program)?;
    let found = fathomp_rewriting::analyse(&program, program_bias());
    let found = found.map_err(AtomicsError::Analyse)?;
    fathomp_node::expect_tasks(found.creates_tasks);
    say_doubtful(&program, &found.doubtful);
    let hooks = Hooks {
        enter: |section| {
            cluster::settle();
            let node = start::node()?;
            node.note_atomic(section.address, section.bytes, section.instruction);
            node.begin_atomic(section)
        },
        leave: |_| with_node(Node::end_atomic),
        fence: || {
            cluster::tell(false);
            with_node(Node::flush);
        },
        waits: |flushes| {
            cluster::tell(false);
            with_node(|node| node.waits(flushes));
            yield_now();
        },
        came: |looked| with_node(|node| node.came(looked)),
    };
    let (carries, tries_locks) = (found.carries(), found.tries_locks);
    GUESSES.get_or_init(|| found.guesses);
    let calls_atomics = found.calls_atomics;
    let sites = [found.sites, found.branches].concat();
    // SAFETY: the sites are whole instructions of the program, as its file says,
    // and the only thread is here.
    unsafe { text_patch::install(&sites, hooks) }.map_err(AtomicsError::Patch)?;
    let waits = &found.waits;
    say_unflushed(&program, waits);
    let waits = match waits.iter().all(|wait| wait.flushes || wait.led) {
        true if waits.is_empty() => Waits::Never,
        true => Waits::ThenFlushes,
        false => Waits::Plainly,
    };
    let mut kinds = sites.iter().map(|site| site.kind);
    let atomics = calls_atomics || kinds.any(|kind| matches!(kind, Kind::Atomic(_)));
    Ok(Traits {
        waits,
        atomics,
        carries,
        tries_locks,
    })
}

/// Says which instructions are left as they are although they look like atomics.
fn say_doubtful(program: &Path, doubtful: &[usize]) {
    let Some(first) = doubtful.first() else {
        return;
    };
    let places = places(program, *first, doubtful.len());
    warn(format_args!(
        "warning: {}: the bytes at {places} look like an atomic instruction or a fence \
         in code that cannot be read; if they are, nodes do not see each other's there",
        program.display()
    ));
}

/// Says what it costs that a program may use what it has waited for without a flush.
fn say_unflushed(program: &Path, waits: &[Wait]) {
    let mut unflushed = waits.iter().filter(|wait| !wait.flushes && !wait.led);
    let said = of_this_process(LOADS.name).is_some();
    let Some(first) = unflushed.next().filter(|_| !said) else {
        return;
    };
    let places = places(program, first.address, 1 + unflushed.count());
    warn(format_args!(
        "warning: {}: the loop at {places} waits for a variable, and no flush follows, so all \
         loads have to acquire, which makes nodes ask each other for each page and takes a \
         multiple of the time; put `#pragma omp flush` behind it and before the variable is set, \
         or set {LOADS}=relaxed if nothing that was written before that is used",
        program.display()
    ));
}

/// An address and how many others there are beside it, in words.
fn places(program: &Path, first: usize, number: usize) -> String {
    let place = fathomp_rewriting::describe(program, first.wrapping_sub(program_bias()));
    match number.saturating_sub(1) {
        0 => place,
        more => format!("{place} and at {more} more places"),
    }
}

fn with_node(action: impl FnOnce(&Node)) {
    if let Some(node) = start::node() {
        action(node);
    }
}

fn share(
    forming: Forming,
    backing: Backing,
    scheme: Scheme,
) -> Result<&'static Node, start::StartError> {
    // SAFETY: the process has one thread; the areas are the program's variables
    // and ranges that were reserved for this. The handler comes before `join`,
    // which is the first to permit less.
    let pages = unsafe { Pages::take_over(&forming.areas(), scheme, backing) };
    let pages = pages.map_err(start::StartError::Share)?;
    if !forming.is_first() {
        process::give_up_input(io::refuse_input).map_err(start::StartError::Input)?;
    }
    // SAFETY: reserved for stacks, and reached by nobody else.
    let stacks = unsafe { Stacks::new(forming.stacks()) };
    signal_chain::install(scheme.fault(), serve_fault).map_err(start::StartError::Share)?;
    if scheme.fault() != Fault::Segment {
        signal_chain::install(Fault::Segment, serve_closed).map_err(start::StartError::Share)?;
    }
    if forming.notes_lines() {
        signal_chain::install_stepped(close_again).map_err(start::StartError::Share)?;
    }
    deferral::take_over(!forming.is_first());
    // Whatever started the program may have blocked them, and threads that this one starts
    // inherit that.
    signal_chain::unblock_faults();
    signal_chain::witness_the_end(|interruption| {
        if let Some(node) = start::node() {
            node.say_unserved(interruption);
        }
        overflow::say_if_one(interruption.address(), interruption.stack());
    });
    forming.join(pages, stacks)
}

/// Loads of the program that guess, in order of address.
static GUESSES: OnceLock<Vec<FirstGuess>> = OnceLock::new();

/// What an instruction of the program guesses, if that is all it is for.
fn guess_at(instruction: usize) -> Option<FirstGuess> {
    let guesses = GUESSES.get()?;
    let found = guesses.binary_search_by_key(&instruction, |guess| guess.address);
    Some(guesses[found.ok()?])
}

/// An access that was not permitted, or not yet known to be. The interrupted
/// code is the program's (or the C library's, on the program's memory), never
/// our own under a lock: that does not touch watched pages, and lets no handler
/// in that might. So a lock may be taken here, as in a function that the
/// program had called.
fn serve_fault(interruption: &mut Interruption<'_>) -> bool {
    let _inside = deferral::enter();
    start::node().is_some_and(|node| {
        let (address, write) = (interruption.address(), interruption.is_write());
        if !write
            && let Some(guess) = guess_at(interruption.instruction())
            && node.needs_no_guess(address)
        {
            interruption.pass(guess.length, guess.register, guess.value);
            return true;
        }
        let bytes = match node.notes_lines() {
            true => fathomp_rewriting::operand_bytes(&interruption.code()),
            false => 1,
        };
        let served = node.serve_fault(address, bytes, write, interruption.instruction());
        if served && node.is_to_step() {
            interruption.step(true);
        }
        served
    })
}

/// A thread has run the one instruction for which pages were open.
fn close_again(interruption: &mut Interruption<'_>) -> bool {
    let _inside = deferral::enter();
    interruption.step(false);
    start::node().is_some_and(|node| {
        node.stepped();
        true
    })
}

/// An access where a mapping forbids it, and pages are shared by other means: to a part of the
/// heap that has grown, or to what is none of ours.
fn serve_closed(interruption: &mut Interruption<'_>) -> bool {
    let _inside = deferral::enter();
    start::node()
        .is_some_and(|node| node.serve_closed(interruption.address(), interruption.instruction()))
}

extern "C" fn on_exit(code: c_int, _: *mut c_void) {
    if let Some(node) = start::node() {
        node.exiting(code);
    }
}

unsafe extern "C" {
    #[link_name = "on_exit"]
    fn register_on_exit(function: extern "C" fn(c_int, *mut c_void), data: *mut c_void) -> c_int;
}

/// Life of a node's first thread.
fn life(node: &'static Node, main: Main, arguments: &Arguments) {
    // SAFETY: a function of this type, which stays loaded.
    unsafe { register_on_exit(on_exit, std::ptr::null_mut()) };
    stack_overflow::note(match node.me().0 {
        0 => Owner::Initial,
        _ => Owner::Runtime,
    });
    node.first_begins();
    if node.me().0 == 0 {
        cluster::arrive();
        let Arguments(argc, argv, environment) = *arguments;
        let code = main(
            argc,
            std::ptr::with_exposed_provenance_mut(argv),
            std::ptr::with_exposed_provenance_mut(environment),
        );
        process::exit(code);
    }
    cluster::serve();
    node.leave()
}
