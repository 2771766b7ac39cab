//! Tasks that leave their node.
//!
//! A node whose members all wait at a barrier runs tasks that other nodes have created, and a
//! thread that waits inside a task runs descendants of it that other nodes have. What nodes say
//! to whom and when is in `ledger`, which is pure and tried by `simulate`; `letter` is its form on
//! the way. `serve` gives tasks away, `receive` takes them in and hears of their ends, `wait` is
//! how members wait meanwhile, `worth` says which tasks pay, and `habits` at which barriers to
//! expect any. `README.md` in the folder above says
//! why nothing is lost and nobody waits for ever.

mod habits;
mod ledger;
mod letter;
mod receive;
mod serve;
mod wait;
mod worth;

pub use letter::{BadLetter, is_letter};

use super::block::{Task, Traits};
use super::group::Group;
use super::room::Rooms;
use crate::cluster::{Carrier, Cluster, IDLE, installed};
use crate::team::Team;
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::cluster::deferral::{self, Inside};
use fathomp_sys::task_arguments::Arguments;
use habits::Habits;
use ledger::{Ledger, Node, Note, Posted};
use letter::{Letter, Report};
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use worth::{Kind, Worth};

/// Reports of ends are sent together if they follow each other sooner. A report costs a flush.
const REPORT_EVERY_NS: u64 = 200_000;

/// This node's side of it.
pub(crate) struct Remote {
    cluster: &'static dyn Cluster,
    carrier: &'static dyn Carrier,
    /// For arguments that cannot be moved.
    pub(super) rooms: Rooms,
    habits: Mutex<Habits>,
    region: AtomicUsize,
    /// Whoever queues a task has to say so.
    tell: AtomicBool,
    /// Letters have come, or a node wants tasks, that nobody has attended to.
    due: AtomicBool,
    /// A thread attends.
    busy: AtomicBool,
    /// Reports that are not sent.
    unreported: AtomicU32,
    reported_ns: AtomicU64,
    /// Tasks of this node that others have.
    away: AtomicU32,
    /// All members have come to a barrier.
    gathers: AtomicBool,
    /// A batch has come or is paid back, or the node has come to a barrier, since it was found
    /// not to be settled.
    unsettled: AtomicBool,
    /// Held while something is decided and sent, so that letters leave in the order of
    /// decisions. Taken before `state`.
    post: Mutex<()>,
    state: Mutex<State>,
    /// What tasks from elsewhere are below, if no ancestor of them is known.
    root: &'static Task,
}

/// A task that another node has.
#[derive(Debug)]
struct Away {
    task: &'static Task,
    to: Node,
    kind: Kind,
    group: Option<&'static Group>,
    has_ended: bool,
    in_group: bool,
}

struct State {
    ledger: Ledger,
    /// The region that is spread now, if this node has a part in it.
    team: Option<&'static Team>,
    /// Parity of the barrier to which all members have come.
    parity: usize,
    last: u64,
    away: HashMap<u64, Away>,
    reports: Vec<(Node, Report)>,
    /// By member: which tasks it waits for, and where they are.
    waits: HashMap<u32, Vec<(Node, u64)>>,
    /// By node: for which it has been told last that threads wait.
    told: Vec<Vec<u64>>,
    worth: Worth,
    mail: Vec<(Node, Letter)>,
    /// Groups that stand for those of other nodes.
    groups: Vec<&'static Group>,
    free_groups: Vec<&'static Group>,
}

/// The state, while no handler of the program can run in this thread: it might have a fault,
/// and handle letters.
struct Held<'a> {
    state: MutexGuard<'a, State>,
    _inside: Inside,
}

impl Deref for Held<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("away", &self.away)
            .finish_non_exhaustive()
    }
}

impl Remote {
    pub(crate) fn new(cluster: &'static dyn Cluster, carrier: &'static dyn Carrier) -> Self {
        let (me, nodes) = (cluster.node(), cluster.nodes());
        Self {
            cluster,
            carrier,
            rooms: Rooms::default(),
            habits: Mutex::default(),
            region: AtomicUsize::new(0),
            tell: AtomicBool::new(true),
            due: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            unreported: AtomicU32::new(0),
            reported_ns: AtomicU64::new(0),
            away: AtomicU32::new(0),
            gathers: AtomicBool::new(false),
            unsettled: AtomicBool::new(false),
            post: Mutex::new(()),
            state: Mutex::new(State {
                ledger: Ledger::new(me, nodes),
                team: None,
                parity: 0,
                last: 0,
                away: HashMap::new(),
                reports: Vec::new(),
                waits: HashMap::new(),
                told: vec![Vec::new(); nodes as usize],
                worth: Worth::default(),
                mail: Vec::new(),
                groups: Vec::new(),
                free_groups: Vec::new(),
            }),
            root: Task::leak_root(),
        }
    }

    fn state(&self) -> Held<'_> {
        let inside = deferral::enter();
        Held {
            state: self.state.lock().unwrap_or_else(PoisonError::into_inner),
            _inside: inside,
        }
    }

    fn post(&self) -> MutexGuard<'_, ()> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, to: Node, letter: &Letter) {
        self.carrier.send(to, &letter.encode());
    }

    fn send_notes(&self, notes: Vec<Posted>) {
        for Posted { to, epoch, note } in notes {
            self.send(to, &Letter::Note { epoch, note });
        }
    }

    /// Ends the program: what happened cannot be.
    #[cold]
    fn fail(&self, what: &str) -> ! {
        match installed() {
            Some(nodes) => nodes.fail(format_args!("{what}")),
            // A node of a cluster has one.
            None => std::process::abort(),
        }
    }

    /// A region begins, spread, in which this node has that team; the address of its code.
    pub(crate) fn begin(&self, team: &'static Team, region: usize) {
        self.region.store(region, Ordering::Relaxed);
        self.state().team = Some(team);
    }

    /// It has ended.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.team = None;
        state.waits.clear();
    }

    /// This node has passed a barrier.
    pub(crate) fn pass(&self) {
        let mut state = self.state();
        if state.ledger.pass().is_none() {
            drop(state);
            self.fail("a barrier ended before all tasks were complete: this is a fault of fathomp");
        }
        state.told.iter_mut().for_each(Vec::clear);
        self.tell.store(true, Ordering::Relaxed);
    }

    /// Has the program copy the arguments of `task` to where other nodes reach them; false if
    /// there is no room for that.
    pub(super) fn copy_to_room(&self, task: &'static Task, arguments: &Arguments) -> bool {
        let bytes = arguments.words() * size_of::<u64>();
        let Some(room) = self.rooms.take(self.cluster, bytes, arguments.align()) else {
            return false;
        };
        match arguments.copy_by_program(room.address) {
            Some(data) => task.use_room(data, room),
            None => {
                self.rooms.give(room);
                return false;
            }
        }
        true
    }

    /// A task has been queued.
    #[inline]
    pub(super) fn notice(&self) {
        if self.tell.load(Ordering::SeqCst) {
            self.notice_now();
        }
    }

    #[cold]
    fn notice_now(&self) {
        let mut notes = Vec::new();
        let is_wanted = {
            let mut state = self.state();
            self.tell.store(false, Ordering::Relaxed);
            state.ledger.holds(&mut notes);
            state.is_wanted()
        };
        self.send_notes(notes);
        if is_wanted {
            self.due.store(true, Ordering::SeqCst);
            self.carrier.call();
        }
    }

    /// Threads that attend to letters look again.
    pub(super) fn rouse(&self) {
        self.carrier.rouse();
    }

    /// A task from elsewhere begins. If it is the last and other members wait for more, asks for
    /// them now. A node of one member asks when it has ended: what comes early is taken from a
    /// node that may be about to run it, and moves memory for it.
    pub(super) fn begins(&self, team: &'static Team) {
        let have_others = team.local_size() > 1 && self.gathers.load(Ordering::SeqCst);
        if !have_others || has_queued(team) {
            return;
        }
        let mut notes = Vec::new();
        self.state().ledger.is_idle(&mut notes);
        self.send_notes(notes);
    }

    /// A task from elsewhere has ended here. Whether to tell it now.
    pub(super) fn ends(&self, task: &'static Task) -> bool {
        let (node, number) = task.origin.get();
        let group = task.group().filter(|group| group.is_foreign());
        let mut state = self.state();
        task.add(Traits::ENDED);
        let left_group = group.is_some_and(|group| group.remove(None));
        let cancelled = group.is_some_and(Group::is_cancelled);
        if let Some(group) = group.filter(|_| left_group) {
            state.free_group(group);
        }
        let report = Report {
            number,
            ended: true,
            left_group,
            cancelled,
            took_ns: task.origin.took_ns(),
        };
        self.report(&mut state, node, report);
        let since_ns = monotonic_ns().saturating_sub(self.reported_ns.load(Ordering::Relaxed));
        since_ns >= REPORT_EVERY_NS
    }

    /// The last task has left a group that stands for another node's.
    pub(super) fn group_left(&self, group: &'static Group) {
        let (node, number) = group.origin.get();
        let mut state = self.state();
        let report = Report {
            number,
            ended: false,
            left_group: true,
            cancelled: group.is_cancelled(),
            took_ns: 0,
        };
        state.free_group(group);
        self.report(&mut state, node, report);
    }

    fn report(&self, state: &mut State, node: Node, report: Report) {
        state.reports.push((node, report));
        self.unreported.fetch_add(1, Ordering::SeqCst);
    }

    /// A task of `group` has cancelled it: those who have tasks of it are told, and the node that
    /// it stands for.
    #[cold]
    pub(super) fn cancel(&self, group: &'static Group) {
        if group.is_foreign() {
            let mut state = self.state();
            let (node, number) = group.origin.get();
            let report = Report {
                number,
                ended: false,
                left_group: false,
                cancelled: true,
                took_ns: 0,
            };
            self.report(&mut state, node, report);
        }
        self.cancel_elsewhere(group);
    }

    /// Those who have tasks of `group` are told that it is cancelled.
    fn cancel_elsewhere(&self, group: &'static Group) {
        let _post = self.post();
        let state = self.state();
        let mut letters: HashMap<Node, Vec<u64>> = HashMap::new();
        for (number, away) in &state.away {
            if away.group.is_some_and(|other| std::ptr::eq(other, group)) {
                letters.entry(away.to).or_default().push(*number);
            }
        }
        drop(state);
        for (to, tasks) in letters {
            self.send(to, &Letter::Cancelled { tasks });
        }
    }

    /// Sends the reports that there are.
    pub(super) fn deliver(&self) {
        if self.unreported.load(Ordering::SeqCst) != 0 {
            let post = self.post();
            let reports = self.state().take_reports(&self.unreported);
            self.send_reports(reports, None);
            drop(post);
        }
    }

    /// Sends reports, and pays a node's batch back; `post` is held.
    fn send_reports(&self, reports: Vec<(Node, Report)>, pays: Option<Node>) {
        let mut letters: HashMap<Node, Vec<Report>> = HashMap::new();
        if let Some(node) = pays {
            letters.entry(node).or_default();
        }
        if !reports.is_empty() {
            self.carrier.release();
            self.reported_ns.store(monotonic_ns(), Ordering::Relaxed);
        }
        for (node, report) in reports {
            letters.entry(node).or_default().push(report);
        }
        for (node, reports) in letters {
            let pays = pays == Some(node);
            self.send(node, &Letter::Reports { reports, pays });
        }
    }
}

/// Whether tasks are queued.
fn has_queued(team: &'static Team) -> bool {
    let mut members = (0..team.local_size()).map(|index| team.member(index));
    !team.tasks.commons.is_empty() || members.any(|member| member.task.deque.has_work())
}

impl State {
    /// Whether another node wants tasks.
    fn is_wanted(&self) -> bool {
        self.ledger.wanting().next().is_some() || self.ledger.waiting().next().is_some()
    }

    fn take_reports(&mut self, unreported: &AtomicU32) -> Vec<(Node, Report)> {
        unreported.store(0, Ordering::SeqCst);
        std::mem::take(&mut self.reports)
    }

    fn take_group(&mut self) -> &'static Group {
        let group = self.free_groups.pop();
        let group = group.unwrap_or_else(|| Box::leak(Box::new(Group::new())));
        self.groups.push(group);
        group
    }

    fn free_group(&mut self, group: &'static Group) {
        self.groups.retain(|other| !std::ptr::eq(*other, group));
        self.free_groups.push(group);
    }
}

/// This node's side, if it is one of several and tasks may leave it.
fn here() -> Option<&'static Remote> {
    installed()?.remote.as_ref()
}

/// A letter has come from another node. Handles those that say who wants tasks; the others are
/// handled by [`attend`].
///
/// # Errors
/// If it makes no sense.
pub fn hear(from: u32, bytes: &[u8]) -> Result<(), BadLetter> {
    let bad = BadLetter { bytes: bytes.len() };
    let remote = here().ok_or(bad)?;
    let letter = Letter::decode(bytes)?;
    let mut notes = Vec::new();
    let mut state = remote.state();
    match letter {
        Letter::Note { epoch, note } => {
            let heard = state.ledger.hear(from, epoch, note, &mut notes);
            heard.ok_or(bad)?;
        }
        Letter::Waits { epoch, tasks } => {
            let heard = state.ledger.waits(from, epoch, tasks);
            heard.ok_or(bad)?;
        }
        letter => state.mail.push((from, letter)),
    }
    remote.look_again(&state);
    drop(state);
    remote.send_notes(notes);
    Ok(())
}

/// A node has come to the barrier after `epoch` others, with that word; at node 0.
///
/// # Errors
/// If there is no such node.
pub fn hear_arrival(from: u32, epoch: u32, word: u64) -> Result<(), BadLetter> {
    let Some(remote) = here().filter(|_| word & IDLE != 0) else {
        return Ok(());
    };
    let mut notes = Vec::new();
    let mut state = remote.state();
    let heard = state.ledger.hear(from, epoch, Note::Idle, &mut notes);
    heard.ok_or(BadLetter { bytes: 0 })?;
    remote.look_again(&state);
    drop(state);
    remote.send_notes(notes);
    Ok(())
}

impl Remote {
    /// What has come may be something to attend to, and something to tell of.
    fn look_again(&self, state: &State) {
        let is_wanted = state.is_wanted();
        if is_wanted || !state.mail.is_empty() {
            self.due.store(true, Ordering::SeqCst);
        }
        if is_wanted || state.ledger.must_tell() {
            self.tell.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether there is something to [`attend`] to.
#[inline]
#[must_use]
pub fn is_due() -> bool {
    here().is_some_and(|remote| remote.due.load(Ordering::SeqCst))
}

/// Takes in tasks and news of tasks that other nodes have sent, and gives tasks to those that want
/// some. `tick`: also what can wait, some milliseconds apart. Not to be called while a message is
/// handled, nor where the program's memory has just been touched: it waits for other nodes.
pub fn attend(tick: bool) {
    let Some(remote) = here() else { return };
    if tick {
        remote.tick();
    }
    while remote.due.load(Ordering::SeqCst) && !remote.busy.swap(true, Ordering::SeqCst) {
        remote.due.store(false, Ordering::SeqCst);
        remote.receive();
        remote.serve();
        remote.busy.store(false, Ordering::SeqCst);
    }
}

impl Remote {
    fn tick(&self) {
        self.deliver();
        let state = self.state();
        if state.team.is_some() && state.is_wanted() {
            self.due.store(true, Ordering::SeqCst);
        }
    }
}
