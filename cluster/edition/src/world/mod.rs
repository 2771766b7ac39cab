//! What the program changes in its process outside of the memory that nodes share, as the
//! others learn it: node 0 notes it ([`fathomp_node::world`]), and they do the same before
//! they begin the next region. What they cannot do is said in a sentence.

pub mod cxx;
pub mod libc_calls;
pub mod streams;

use fathomp_abi::fatal::warn;
use fathomp_node::start;
use fathomp_node::world::{self, Change, Hooks};
use fathomp_omp::cluster::{self, Cluster as _};
use fathomp_omp::runtime::runtime;
use fathomp_sys::outlined::Outlined;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The folder in which the process works.
    Folder,
    /// A variable of the environment, by name; without a value it is unset.
    Variable,
    /// No variable of the environment is set.
    NoVariables,
    /// The mask of permissions of new files.
    FileMask,
    /// The C library's locale, by category.
    Locale,
    /// What is done at a signal, by its number.
    Action,
    /// A limit, by its number.
    Limit,
    /// Seed of random numbers, by function.
    Seed,
    /// C++: the function that finds memory.
    NewHandler,
    /// C++: the function that ends the program.
    Terminate,
    /// C++: the function for exceptions that were not announced.
    Unexpected,
    /// C++: the global locale, by name.
    CxxLocale,
    /// C++: whether streams are kept in step with C's.
    InStep,
    /// OpenMP: `affinity-format-var`.
    AffinityFormat,
    /// OpenMP: `nteams-var`.
    Teams,
    /// OpenMP: `teams-thread-limit-var`.
    TeamsThreadLimit,
}

const KINDS: [Kind; 16] = [
    Kind::Folder,
    Kind::Variable,
    Kind::NoVariables,
    Kind::FileMask,
    Kind::Locale,
    Kind::Action,
    Kind::Limit,
    Kind::Seed,
    Kind::NewHandler,
    Kind::Terminate,
    Kind::Unexpected,
    Kind::CxxLocale,
    Kind::InStep,
    Kind::AffinityFormat,
    Kind::Teams,
    Kind::TeamsThreadLimit,
];

/// This node does what node 0 has done, and it is no news.
static REPEATING: AtomicBool = AtomicBool::new(false);
/// Kinds of which has been said that others do not follow, by bit.
static SAID: AtomicU32 = AtomicU32::new(0);

/// To be called before there are nodes.
pub(super) fn begin() {
    world::set_hooks(Hooks {
        repeat,
        flush: streams::flush,
        close: streams::close,
    });
    // What is held back now would be written by each of them.
    streams::flush();
}

fn first_time(kind: Kind) -> bool {
    let bit = 1 << kind as u8;
    SAID.fetch_or(bit, Ordering::Relaxed) & bit == 0
}

/// The program has changed something by calling `name`.
pub(crate) fn note(name: &str, kind: Kind, about: &[u8], value: &[u8]) {
    let Some(node) = start::node() else { return };
    if REPEATING.load(Ordering::Relaxed) {
        return;
    }
    let number = node.node();
    if number == 0 {
        world::note(Change {
            kind: kind as u8,
            about: about.to_vec(),
            value: value.to_vec(),
        });
        if cluster::is_spread() && first_time(kind) {
            warn(format_args!(
                "warning: {name} was called inside a region: the other nodes follow when the \
                 next one begins"
            ));
        }
    } else if first_time(kind) {
        warn(format_args!(
            "warning: {name} was called inside a region on node {number}: the other nodes do \
             not follow; let it be called outside of regions"
        ));
    }
}

/// The program has changed something by calling `name` in which other nodes cannot follow,
/// because of `reason`.
fn cannot_follow(name: &str, kind: Kind, reason: &str) {
    let Some(node) = start::node() else { return };
    if !REPEATING.load(Ordering::Relaxed) && first_time(kind) {
        let number = node.node();
        warn(format_args!(
            "warning: {name} was called on node {number}, and the other nodes cannot follow: \
             {reason}"
        ));
    }
}

/// Does what node 0 has done.
fn repeat(change: &Change) {
    REPEATING.store(true, Ordering::Relaxed);
    let done = KINDS
        .into_iter()
        .find(|kind| *kind as u8 == change.kind)
        .map_or(Err("it is not known here".to_owned()), |kind| {
            apply(kind, &change.about, &change.value)
        });
    REPEATING.store(false, Ordering::Relaxed);
    if let (Err(problem), Some(node)) = (done, start::node()) {
        let kind = KINDS.into_iter().find(|kind| *kind as u8 == change.kind);
        if kind.is_none_or(first_time) {
            let number = node.node();
            warn(format_args!(
                "warning: node {number} cannot follow node 0: {problem}"
            ));
        }
    }
}

fn apply(kind: Kind, about: &[u8], value: &[u8]) -> Result<(), String> {
    let device = || &runtime().device;
    match kind {
        Kind::Folder => libc_calls::go_to(value),
        Kind::Variable => libc_calls::set_variable(about, value),
        Kind::NoVariables => libc_calls::clear_variables(),
        Kind::FileMask => libc_calls::set_file_mask(word(value)?),
        Kind::Locale => libc_calls::set_locale(word(about)?, value),
        Kind::Action => libc_calls::set_action(word(about)?, value),
        Kind::Limit => libc_calls::set_limit(word(about)?, value),
        Kind::Seed => libc_calls::seed(word(about)?, word(value)?),
        Kind::NewHandler | Kind::Terminate | Kind::Unexpected => {
            cxx::set_handler(kind, word(value)?)
        }
        Kind::CxxLocale => cxx::set_locale(value),
        Kind::InStep => cxx::keep_in_step(word(value)? != 0),
        Kind::AffinityFormat => {
            device().set_affinity_format(String::from_utf8_lossy(value).into_owned());
            Ok(())
        }
        Kind::Teams => {
            device().set_num_teams(word(value)? as i32);
            Ok(())
        }
        Kind::TeamsThreadLimit => {
            device().set_teams_thread_limit(word(value)? as i32);
            Ok(())
        }
    }
}

/// A number as it is noted.
pub(crate) fn bytes(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn word(bytes: &[u8]) -> Result<u64, String> {
    let bytes = bytes.try_into();
    bytes
        .map(u64::from_le_bytes)
        .map_err(|_| "it is no number".to_owned())
}

/// A function that node 0 wants called. It must be one here.
fn function(address: u64) -> Result<usize, String> {
    let address = usize::try_from(address).unwrap_or(0);
    match address == 0 || Outlined::find(address).is_some() {
        true => Ok(address),
        false => Err(format!(
            "there is no function at {address:#x}, which a library has that is loaded on node \
             0 alone"
        )),
    }
}
