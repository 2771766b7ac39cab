//! The process: from when the interposer is loaded, over forks, to the end.

use super::thread::{self, SLOT, Thread};
use super::turn::{Turn, frame};
use super::{blocks, ours, pace};
use crate::front::stdio;
use crate::sink::{EndFacts, Hooks, Process};
use fathomp_launch::names::PAGING;
use fathomp_launch::of_this_process;
use fathomp_launch::steering::PRELOAD;
use fathomp_paging::{Counter, Ending};
use fathomp_sys::clock;
use fathomp_sys::errno::Saved;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The process's sink; null if it is not recorded.
static SINK: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// Calls that the interposer saw of threads which have ended.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Calls that the kernel counted for them.
static MADE: AtomicU64 = AtomicU64::new(0);

/// The kernel did not say that of all of them.
static MADE_UNKNOWN: AtomicBool = AtomicBool::new(false);

/// The rank in `MPI_COMM_WORLD`, and 1; 0 if not known.
static RANK: AtomicU32 = AtomicU32::new(0);

/// Whether the kernel's counters are read: not if the settings say so, and not any more once the
/// program restricts which calls of the kernel it may make, since ours could be its end.
static READS: AtomicBool = AtomicBool::new(false);

/// Whether the program has restricted them.
static RESTRICTED: AtomicBool = AtomicBool::new(false);

/// A block of no thread, which tells whether the process was forked: then it is empty.
static MARKER: OnceLock<&'static Thread> = OnceLock::new();

/// The key of the C library whose values are threads' blocks; it tells us threads' ends.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

/// Times that a thread's end is put off, so that what other libraries do then is seen. The C
/// library goes through the values four times (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const PUT_OFF: u32 = 2;

/// The sink, if the process is recorded.
#[inline]
pub(crate) fn sink() -> Option<&'static Process> {
    // SAFETY: null, or what `Process::open` gave, which stays for ever.
    unsafe { SINK.load(Ordering::Relaxed).as_ref() }
}

fn set_sink(process: Option<&'static Process>) {
    let pointer = process.map_or(ptr::null_mut(), |process| ptr::from_ref(process).cast_mut());
    SINK.store(pointer, Ordering::Relaxed);
}

/// Begins to record the process, if it is to be. Otherwise nobody notices that the interposer is
/// there.
pub(crate) fn begin() {
    let _errno = Saved::new();
    let Some(live) = fathomp_launch::paging_directory(&of_this_process) else {
        return;
    };
    let hooks = Hooks {
        helper_begins: Some(thread::helper_begins),
    };
    // The launcher finds out that nothing was recorded, and says so.
    let Ok(process) = Process::open(&live, hooks) else {
        return;
    };
    let Some(marker) = blocks::take() else { return };
    let _ = MARKER.set(marker);
    marker.mark_process();
    let mut key = 0;
    // SAFETY: `key` is writable; `thread_ends` stays, since the library is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0 {
        let _ = KEY.set(key);
    }
    pace::begin(process.setup().exit_reading_min_ns);
    ours::find();
    READS.store(process.setup().read_counters, Ordering::Relaxed);
    set_sink(Some(process));
    // SAFETY: a function that stays; the C library takes a handler of no library.
    unsafe { __cxa_at_quick_exit(quick_exit, ptr::null_mut()) };
    if let Some(block) = blocks::take() {
        thread::begin_late(block);
    }
}

unsafe extern "C" {
    fn __cxa_at_quick_exit(handler: extern "C" fn(*mut c_void), library: *mut c_void) -> c_int;
}

extern "C" fn quick_exit(_: *mut c_void) {
    end(Ending::Exit);
}

/// The calling thread's end will be told.
pub(super) fn expect_end(block: &'static Thread) {
    if let Some(key) = KEY.get() {
        let value: *const Thread = block;
        // SAFETY: our key, and a value that stays.
        unsafe { libc::pthread_setspecific(*key, value.cast()) };
    }
}

unsafe extern "C" fn thread_ends(value: *mut c_void) {
    let Some(block) = SLOT
        .get()
        .filter(|block| ptr::from_ref(*block) == value.cast())
    else {
        return;
    };
    if block.put_off() < PUT_OFF {
        expect_end(block);
    } else if let Some(turn) = Turn::take(frame()) {
        thread::end(turn, Ending::Exit);
    }
}

/// In the child of a fork, before its first thread goes on.
pub(super) fn after_fork() {
    let Some(marker) = MARKER.get() else { return };
    if marker.is_marked() {
        return;
    }
    marker.mark_process();
    blocks::after_fork();
    SEEN.store(0, Ordering::Relaxed);
    MADE.store(0, Ordering::Relaxed);
    // What the parent was forbidden, the child is.
    MADE_UNKNOWN.store(RESTRICTED.load(Ordering::Relaxed), Ordering::Relaxed);
    RANK.store(0, Ordering::Relaxed);
    // The parent's sink is not for the child, whatever is called from here on.
    let parent = sink();
    set_sink(None);
    set_sink(parent.and_then(|process| process.after_fork_in_child().ok()));
}

/// Whether the kernel may be asked what is not needed.
pub(crate) fn may_ask() -> bool {
    !RESTRICTED.load(Ordering::Relaxed)
}

/// A thread ends: calls that the interposer saw of it, and that the kernel counted.
pub(super) fn add_calls(seen: u64, made: Option<u64>) {
    SEEN.fetch_add(seen, Ordering::Relaxed);
    match made {
        Some(made) => _ = MADE.fetch_add(made, Ordering::Relaxed),
        None => MADE_UNKNOWN.store(true, Ordering::Relaxed),
    }
}

/// Whether the kernel's counters are read.
#[inline]
pub(super) fn reads() -> bool {
    READS.load(Ordering::Relaxed)
}

/// Calls of the kernel are about to be restricted.
pub(crate) fn restrict() {
    RESTRICTED.store(true, Ordering::Relaxed);
    READS.store(false, Ordering::Relaxed);
    MADE_UNKNOWN.store(true, Ordering::Relaxed);
}

/// The rank, and 1; 0 if not known.
#[inline]
pub(super) fn rank_word() -> u32 {
    RANK.load(Ordering::Relaxed)
}

/// The rank in `MPI_COMM_WORLD` becomes known.
pub(crate) fn set_rank(rank: u32) {
    RANK.store(rank.saturating_add(1), Ordering::Relaxed);
}

/// The program leaves by `exit`; what its streams still hold will be written after this.
pub(crate) fn exit() {
    let mut to_come = 0;
    if let Some(mut turn) = Turn::take(frame()) {
        let (streams, bytes) = stdio::pending();
        turn.thread().saw(streams);
        turn.own().add(Counter::BytesWritten, bytes);
        to_come = streams;
    }
    finish(Ending::Exit, to_come);
}

/// The process ends now.
pub(crate) fn end(ending: Ending) {
    finish(ending, 0);
}

fn finish(ending: Ending, to_come: u64) {
    let _errno = Saved::new();
    if let Some(turn) = Turn::take(frame()) {
        thread::end(turn, ending);
    }
    // What has a block and no turn is the child of `vfork`, in its parent's memory, or
    // interrupts the interposer.
    let forked = MARKER.get().is_none_or(|marker| !marker.is_marked());
    if let Some(process) = sink()
        && SLOT.get().is_none()
        && !forked
    {
        process.end(&facts(process, ending, to_come));
    }
}

/// The calling thread is that of the child of a fork, whose parent knew of the fork.
pub(crate) fn forked() {
    let _errno = Saved::new();
    if SLOT.get().is_some() {
        // It finds its block empty and does what is to be done.
        drop(Turn::take(frame()));
    } else {
        after_fork();
        if sink().is_some()
            && let Some(block) = blocks::take()
        {
            thread::begin(block);
        }
    }
}

/// The calling thread is that of the child of a fork in which little may be called: it is not
/// recorded.
pub(crate) fn not_recorded() {
    set_sink(None);
    if let Some(block) = SLOT.get() {
        block.silence();
    }
}

/// The parent of a child of `vfork` goes on.
pub(crate) fn resume_after_vfork() {
    if let Some(block) = SLOT.get() {
        block.resume();
    }
}

/// The process is about to become another program, with that environment. If it does not,
/// [`goes_on`] must be called.
///
/// # Safety
/// `environment` is null, or strings up to a null pointer, as for `execve`.
pub(crate) unsafe fn becomes(environment: *const *const c_char) {
    let Some(mut turn) = Turn::take(frame()) else {
        return;
    };
    turn.own().flush();
    if let Some(process) = sink() {
        // SAFETY: promised by our caller.
        let environment_cleared = unsafe { !has_interposer(environment) };
        process.end(&EndFacts {
            environment_cleared,
            ..facts(process, Ending::Exec, 0)
        });
    }
}

/// The process is about to be left by its child's parent: as [`becomes`], for `daemon`.
pub(crate) fn may_end() {
    if let Some(mut turn) = Turn::take(frame()) {
        turn.own().flush();
        if let Some(process) = sink() {
            process.end(&facts(process, Ending::Exit, 0));
        }
    }
}

/// The process goes on after [`becomes`] or [`may_end`].
pub(crate) fn goes_on() {
    if let Some(turn) = Turn::take(frame()) {
        if let Some(process) = sink() {
            process.goes_on();
        }
        drop(turn);
    }
}

/// Whether a program with that environment loads the interposer and knows where to record.
///
/// # Safety
/// As for [`becomes`].
unsafe fn has_interposer(environment: *const *const c_char) -> bool {
    const LIBRARY: &[u8] = b"libfathomp-paging";
    let (mut loaded, mut told) = (false, false);
    let mut place = environment;
    // SAFETY: promised by our caller.
    while let Some(text) = unsafe { place.as_ref() }.filter(|text| !text.is_null()) {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(*text) }.to_bytes();
        let value = |name: &str| text.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
        if let Some(list) = value(PRELOAD) {
            loaded |= list.windows(LIBRARY.len()).any(|part| part == LIBRARY);
        }
        told |= value(PAGING.name).is_some_and(|live| !live.is_empty());
        // SAFETY: the string just read was not the last pointer.
        place = unsafe { place.add(1) };
    }
    loaded && told
}

fn facts(process: &Process, ending: Ending, to_come: u64) -> EndFacts {
    let seen = blocks::all().map(Thread::seen).sum::<u64>();
    let known = match MADE_UNKNOWN.load(Ordering::Relaxed) {
        true => None,
        false => blocks::all().try_fold(MADE.load(Ordering::Relaxed), |sum, thread| {
            Some(sum + thread.made()?)
        }),
    };
    EndFacts {
        at: clock::now(),
        ending,
        io_calls_seen: SEEN.load(Ordering::Relaxed).saturating_add(seen),
        io_calls_made: known.map(|made| {
            let own = process.own_io_calls();
            made.saturating_sub(own).saturating_add(to_come)
        }),
        environment_cleared: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_needs_both_words() {
        let texts = [
            c"LD_PRELOAD=/x/libfathomp-paging.so:/y.so",
            c"FATHOMP_PAGING=/live",
            c"LD_PRELOAD=/y.so",
            c"FATHOMP_PAGING=",
        ];
        let has = |chosen: &[usize]| {
            let mut list: Vec<_> = chosen.iter().map(|at| texts[*at].as_ptr()).collect();
            list.push(ptr::null());
            // SAFETY: strings up to a null pointer.
            unsafe { has_interposer(list.as_ptr()) }
        };
        assert!(has(&[0, 1]));
        assert!(has(&[1, 2, 0]));
        assert!(!has(&[0]) && !has(&[1]) && !has(&[2, 1]) && !has(&[0, 3]) && !has(&[]));
        // SAFETY: null is allowed.
        assert!(unsafe { !has_interposer(ptr::null()) });
    }
}
