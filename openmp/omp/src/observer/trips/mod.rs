//! What the expressions of a region are worth when it begins.
//!
//! The launcher may leave a plan ([`fathomp_trips::Plan`]) that says which words of memory
//! the trips of each region depend on. When a region begins, the encountering thread looks
//! whether they are the same as last time (some ten nanoseconds); if not, they are looked
//! up among all sets of values seen so far, or become a new one. Total iterations are
//! computed once per set.

mod bound;
mod budget;
mod table;

pub(crate) use bound::{Known, Look};

use crate::message;
use bound::Bound;
use budget::Budget;
use fathomp_launch::of_this_process;
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::private_heap::OnPrivateHeap;
use fathomp_sys::safe_read::Leave;
use fathomp_sys::static_ref::AtomicRef;
use fathomp_trace::now;
use fathomp_trace::recorder::ThreadRecorder;
use fathomp_trips::dry::GiveUp;
use fathomp_trips::{Identity, Plan};
use fathomp_types::NodeId;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use table::Table;

/// Larger files are no plans.
const BYTES_MAX: u64 = 64 << 20;

static LEAVE: OnceLock<Leave> = OnceLock::new();
static TRIPS: AtomicRef<Trips> = AtomicRef::new(None);

/// The plan, and what was found by it.
struct Trips {
    plan: &'static Plan,
    leave: Leave,
    /// The node that this process is, if it is one.
    node: Option<NodeId>,
    table: Table,
    /// Number of the next set of values.
    next_set: AtomicU64,
    /// For reading behind pointers.
    reading: Budget,
    /// For dry runs.
    running: Budget,
}

/// Allows that plans are followed, which takes reading the program's memory.
pub fn allow(leave: Leave) {
    let _ = LEAVE.set(leave);
}

/// Takes the plan up if the environment names one, in a process that is `node`.
pub(crate) fn start(node: Option<NodeId>) {
    let Some(&leave) = LEAVE.get() else { return };
    let Some(path) = fathomp_launch::plan_file(&of_this_process) else {
        return;
    };
    match read(&path) {
        Ok(plan) if plan.is_empty() => {}
        Ok(plan) => install_on(Box::leak(Box::new(plan)), leave, node),
        Err(why) => message::warn(format_args!(
            "the plan {} is not followed, iterations of static loops stay unknown: {why}",
            path.display()
        )),
    }
}

fn read(path: &Path) -> Result<Plan, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !length.is_file() || length.len() > BYTES_MAX {
        return Err("it is too large, or no file".to_owned());
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    Plan::from_bytes(&bytes).map_err(|error| error.to_string())
}

/// Follows a plan from now on, in a process that is no node.
pub fn install(plan: &'static Plan, leave: Leave) {
    install_on(plan, leave, None);
}

fn install_on(plan: &'static Plan, leave: Leave, node: Option<NodeId>) {
    let first = node.map_or(0, |node| u64::from(node.0));
    TRIPS.store(
        Some(Box::leak(Box::new(Trips {
            plan,
            leave,
            node,
            table: Table::new(),
            next_set: AtomicU64::new(1 | first << 48),
            reading: Budget::new(now().0),
            running: Budget::new(now().0),
        }))),
        Ordering::Release,
    );
}

/// Begins anew: in a forked child, or a process that has become a node, nothing is recorded
/// of what was found before.
pub(crate) fn restart(node: Option<NodeId>) {
    if let Some(trips) = TRIPS.load(Ordering::Acquire) {
        install_on(trips.plan, trips.leave, node);
    }
}

/// Iterations of the loops that the threads of the region are about to share, all threads
/// together; `None` if that is not known before it runs. Call it on the thread that
/// encounters the region, before the region begins.
#[inline]
#[must_use]
pub fn total(function: Outlined, data: Opaque) -> Option<u64> {
    look(function, data)?.total()
}

/// What the region is about to be begun with; `None` if there is no plan for it.
#[inline]
fn look(function: Outlined, data: Opaque) -> Option<Look> {
    let trips = TRIPS.load(Ordering::Acquire)?;
    let bound = trips.bound(function.address())?;
    bound.look(data, &trips.next_set, &trips.reading)
}

/// As [`look`], for a region that is recorded: what no expression says of it is found by a
/// dry run, once for each set of values. Takes time, and so is to be called before the region
/// begins.
#[inline]
pub(crate) fn look_and_record(
    function: Outlined,
    data: Opaque,
    recorder: &ThreadRecorder,
) -> Option<Look> {
    let trips = TRIPS.load(Ordering::Acquire)?;
    let _heap = OnPrivateHeap::begin();
    let function = function.address();
    let bound = trips.bound(function)?;
    let look = bound.look(data, &trips.next_set, &trips.reading)?;
    if let Look::Known(known) = look
        && bound.is_dry(known)
    {
        trips.run_dry(bound, known, (function, data), recorder);
    }
    Some(look)
}

impl Trips {
    /// Runs a body dry if there is time for it: all dry runs together get a hundredth of the
    /// time so far, and a little to begin with.
    #[cold]
    #[inline(never)]
    fn run_dry(
        &self,
        bound: &Bound,
        known: &Known,
        (function, data): (usize, Opaque),
        recorder: &ThreadRecorder,
    ) {
        /// Of a step, at most.
        const STEP_TICKS: u64 = 400;
        const STEPS: [u64; 2] = [2_000, 100_000];
        /// Runs that were cut short before it is given up.
        const TRIES_MAX: u32 = 3;
        let begin = now().0;
        let steps = (self.running.left(begin, 100) / STEP_TICKS).min(STEPS[1]);
        if steps < STEPS[0] {
            return;
        }
        let found = bound.run_dry(known, function, data, steps as u32);
        self.running.spend(now().0.saturating_sub(begin));
        let over = match found {
            Some(Ok(found)) => found
                .loops
                .iter()
                .all(|looped| recorder.dry(known.set, looped)),
            // With more time it may come to an end.
            Some(Err(GiveUp::Steps)) if steps < STEPS[1] => {
                known.noted.tries.fetch_add(1, Ordering::Relaxed) + 1 >= TRIES_MAX
            }
            _ => true,
        };
        known.noted.dry.store(over, Ordering::Relaxed);
    }

    #[inline]
    fn bound(&'static self, function: usize) -> Option<&'static Bound> {
        match self.table.find(function) {
            Some(found) => found.bound,
            None => self.bind(function),
        }
    }

    /// Looks a function up in the plan, once.
    #[cold]
    #[inline(never)]
    fn bind(&'static self, function: usize) -> Option<&'static Bound> {
        self.table.add(function, || {
            let loaded = fathomp_sys::modules::loaded(function)?;
            let address = (function as u64).wrapping_sub(loaded.bias);
            let module = self
                .plan
                .modules
                .iter()
                .find(|module| is(&module.identity, &loaded))?;
            let at = module
                .bodies
                .binary_search_by_key(&address, |body| body.address)
                .ok()?;
            let checked = self.node.is_some();
            Some(Box::leak(Box::new(Bound::new(
                &module.bodies[at],
                &loaded,
                self.leave,
                checked,
            ))))
        })
    }
}

/// Whether a loaded module is the one that was planned for.
fn is(identity: &Identity, loaded: &fathomp_sys::modules::Loaded) -> bool {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    match identity {
        Identity::BuildId(id) => !id.is_empty() && *id == loaded.build_id,
        Identity::File {
            path,
            size,
            changed_unix_ns,
        } => {
            if !loaded.build_id.is_empty() {
                return false;
            }
            let Ok(canonical) = std::fs::canonicalize(&loaded.path) else {
                return false;
            };
            let Ok(data) = std::fs::metadata(&canonical) else {
                return false;
            };
            let changed = (data.mtime() as u64)
                .wrapping_mul(1_000_000_000)
                .wrapping_add(data.mtime_nsec() as u64);
            canonical.as_os_str().as_bytes() == path
                && data.len() == *size
                && changed == *changed_unix_ns
        }
    }
}
