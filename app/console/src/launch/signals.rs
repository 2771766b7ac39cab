//! Signals between the terminal, fathomp and the program.
//!
//! Ctrl-C goes from the terminal to the whole foreground group, so the program
//! has it already and fathomp only has to survive it. A signal that somebody
//! sends to fathomp alone (`kill`, a batch system) is handed on. Handlers are
//! used instead of a blocked mask because `exec` resets them, so the program
//! starts with the dispositions that fathomp was started with; a signal that
//! fathomp was told to ignore (`nohup`) is left alone. While no program runs,
//! signals have their default effect.

use crate::host;
use fathomp_types::Ending;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::SigId;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::backend::Handle;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

/// Signals that people and systems send to a job. Those of the terminal's
/// job control (Ctrl-Z, `fg`) reach the group and keep their default meaning.
const FORWARDED: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Lets a write beyond a limit of file sizes (`ulimit -f`), which is meant for the program,
/// fail in this process instead of ending it.
pub fn survive_file_limits() {
    // Without the handler nothing is worse than before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

#[derive(Debug, Default)]
struct Shared {
    /// The program; 0 before it exists.
    target: AtomicI32,
    /// The target leads a process group, to which the terminal sends nothing.
    grouped: AtomicBool,
    /// Came before there was a program to hand it to.
    early: AtomicI32,
    /// The first signal that asked us to stop; 0 if none did.
    stop: AtomicI32,
}

/// Receives signals until told to stop.
pub(super) struct Forwarding {
    shared: Arc<Shared>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    idle: Arc<AtomicBool>,
}

impl Forwarding {
    /// Takes over the signals of this process.
    pub(super) fn prepare() -> io::Result<Self> {
        let wanted = wanted();
        let idle = default_when_idle(&wanted)?;
        let mut signals = SignalsInfo::<WithOrigin>::new(&wanted)?;
        idle.store(false, Ordering::SeqCst);
        let handle = signals.handle();
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new().name("signals".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || {
                for origin in signals.forever() {
                    shared.receive(&origin);
                }
            }
        })?;
        Ok(Self {
            shared,
            handle,
            thread: Some(thread),
            idle,
        })
    }

    /// Names the program that signals are for.
    pub(super) fn aim_at(&self, pid: u32) {
        let Ok(pid) = i32::try_from(pid) else { return };
        self.shared.target.store(pid, Ordering::SeqCst);
        send(pid, self.shared.early.swap(0, Ordering::SeqCst));
    }

    /// Names the program whose process group signals are for.
    pub(super) fn aim_at_group(&self, pid: u32) {
        let Ok(pid) = i32::try_from(pid) else { return };
        self.shared.grouped.store(true, Ordering::SeqCst);
        self.shared.target.store(-pid, Ordering::SeqCst);
        // What the terminal sent before that did not reach the group.
        let stop = self.shared.stop.load(Ordering::SeqCst);
        if stop != 0 {
            send(-pid, stop);
        }
    }

    /// Hands nothing on any more; tells which signal asked fathomp to stop.
    pub(super) fn stop(mut self) -> Option<i32> {
        self.close();
        Some(self.shared.stop.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }

    fn close(&mut self) {
        self.idle
            .store(HOLDS.load(Ordering::SeqCst) == 0, Ordering::SeqCst);
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // It only forwards; if it had panicked there would be nothing to mend.
            let _ = thread.join();
        }
    }
}

/// While any of these exist, signals that mean "stop" do not end this process.
static HOLDS: AtomicUsize = AtomicUsize::new(0);

/// Keeps signals that mean "stop" from ending this process between the runs of several
/// programs, so that what has to be put away is.
pub struct StopSignalsBlocked {
    idle: Arc<AtomicBool>,
    asked: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl StopSignalsBlocked {
    /// From now on.
    pub fn begin() -> io::Result<Self> {
        let wanted = wanted();
        let idle = default_when_idle(&wanted)?;
        HOLDS.fetch_add(1, Ordering::SeqCst);
        idle.store(false, Ordering::SeqCst);
        let mut hold = Self {
            idle,
            asked: Arc::default(),
            registered: Vec::new(),
        };
        for signal in wanted
            .iter()
            .filter(|number| Ending::STOPPING.contains(number))
        {
            let registered = signal_hook::flag::register(*signal, Arc::clone(&hold.asked))?;
            hold.registered.push(registered);
        }
        Ok(hold)
    }

    /// Whether such a signal has come.
    pub fn is_asked_to_stop(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for StopSignalsBlocked {
    fn drop(&mut self) {
        for registered in self.registered.drain(..) {
            signal_hook::low_level::unregister(registered);
        }
        if HOLDS.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.idle.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn receive(&self, origin: &Origin) {
        if Ending::STOPPING.contains(&origin.signal) {
            let first =
                self.stop
                    .compare_exchange(0, origin.signal, Ordering::SeqCst, Ordering::SeqCst);
            // A later signal does not change why we stopped.
            let _ = first;
        }
        if origin.cause == Cause::Kernel && !self.grouped.load(Ordering::SeqCst) {
            return;
        }
        match self.target.load(Ordering::SeqCst) {
            0 => {
                self.early.store(origin.signal, Ordering::SeqCst);
                // The program may have been named between load and store.
                let target = self.target.load(Ordering::SeqCst);
                if target != 0 {
                    send(target, self.early.swap(0, Ordering::SeqCst));
                }
            }
            target => send(target, origin.signal),
        }
    }
}

fn send(pid: i32, number: i32) {
    if let Ok(signal) = Signal::try_from(number) {
        // The program may have just ended; then there is nobody to tell.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// A handler, once installed, stays; this one gives signals their default
/// effect while the returned flag is set.
fn default_when_idle(signals: &[i32]) -> io::Result<Arc<AtomicBool>> {
    static IDLE: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(idle) = IDLE.get() {
        return Ok(Arc::clone(idle));
    }
    let idle = Arc::new(AtomicBool::new(false));
    for signal in signals {
        signal_hook::flag::register_conditional_default(*signal, Arc::clone(&idle))?;
    }
    Ok(Arc::clone(IDLE.get_or_init(|| idle)))
}

/// Signals to take over: those that this process was not started to ignore.
fn wanted() -> Vec<i32> {
    let ignored = ignored_signals();
    let all = FORWARDED.iter().map(|signal| *signal as i32);
    all.filter(|number| ignored & (1 << (number - 1)) == 0)
        .collect()
}

/// Signals to pass on to programs on other hosts. The terminal's Ctrl-Z is one of them, since
/// it reaches nobody there.
pub fn passed_signals() -> Vec<i32> {
    let mut signals = wanted();
    let stop = Signal::SIGTSTP as i32;
    if ignored_signals() & (1 << (stop - 1)) == 0 {
        signals.push(stop);
    }
    signals
}

/// Signals this process ignores, as a bit set; bit 0 is signal 1.
fn ignored_signals() -> u64 {
    host::field("/proc/self/status", "SigIgn")
        .and_then(|mask| u64::from_str_radix(&mask, 16).ok())
        .unwrap_or(0)
}
