//! What the tool may ask of the runtime, on any thread and, since none of it allocates, locks or
//! waits, in signal handlers as well.

use super::threads::me;
use crate::task::Task;
use crate::team::{Member, Team};
use crate::{places, places::Assignment, worker};
use fathomp_ompt::{Data, Frame, State, TaskFlags, WaitId};
use fathomp_sys::outlined::Opaque;
use std::sync::atomic::{AtomicU64, Ordering};

/// The calling thread's data, if the tool knows the thread.
#[must_use]
pub fn thread_data() -> Option<*mut Data> {
    me().map(|worker| worker.tool.data.pointer())
}

/// What the calling thread does, and what it waits for.
#[must_use]
pub fn state() -> (State, WaitId) {
    me().map_or((State::UNDEFINED, 0), |worker| {
        (State(worker.tool.state.get()), worker.tool.wait.get())
    })
}

/// The region that is so many levels out: its data and its team's size.
#[must_use]
pub fn parallel_info(level: u32) -> Option<(*mut Data, u32)> {
    let mut team = playing()?.team();
    for _ in 0..level {
        team = team.parent()?.team();
    }
    Some((team.tool.data.pointer(), team.size()))
}

/// A task, as the tool asks for it.
#[derive(Clone, Copy, Debug)]
pub struct TaskInfo {
    /// What it is.
    pub flags: TaskFlags,
    /// Its data.
    pub data: *mut Data,
    /// Its frame.
    pub frame: *mut Frame,
    /// The data of its region.
    pub region: *mut Data,
    /// The number of its thread in the team.
    pub thread_num: u32,
}

/// The task that is so many levels below the one that the calling thread runs: those that the
/// thread has left for it, and then what formed its team.
#[must_use]
pub fn task_info(level: u32) -> Option<TaskInfo> {
    let mut member = playing()?;
    let mut task = member.task.current();
    for _ in 0..level {
        (member, task) = below(member, task)?;
    }
    let team: &Team = member.team();
    Some(TaskInfo {
        flags: TaskFlags(task.tool.flags.get()),
        data: task.tool.data.pointer(),
        frame: task.tool.frame.pointer(),
        region: team.tool.data.pointer(),
        thread_num: member.thread_num(),
    })
}

fn below(member: &'static Member, task: &'static Task) -> Option<(&'static Member, &'static Task)> {
    let implicit = member.task.implicit();
    if std::ptr::eq(task, implicit) {
        let outer = member.team().parent()?;
        return Some((outer, outer.task.current()));
    }
    Some((
        member,
        task.tool.below.load(Ordering::Relaxed).unwrap_or(implicit),
    ))
}

/// The member that the calling thread plays, if the tool knows the thread and it plays one.
fn playing() -> Option<&'static Member> {
    let worker = me()?;
    worker::known().filter(|member| member.is_played_by(worker))
}

/// The arguments of the task that the calling thread runs, if the runtime keeps a copy: address
/// and bytes.
#[must_use]
pub fn task_arguments() -> Option<(Opaque, usize)> {
    playing()?.task.current().copied_arguments()
}

/// A number that no other call gives. Each thread that the tool knows counts by itself from a number
/// that is its own in the upper 16 bits, as with LLVM's library.
#[must_use]
pub fn unique_id() -> u64 {
    const OF_A_THREAD: u32 = 48;
    static OF_OTHERS: AtomicU64 = AtomicU64::new(0);
    static THREADS: AtomicU64 = AtomicU64::new(0);
    let last = me().map_or(&OF_OTHERS, |worker| {
        let last = &worker.tool.unique;
        if last.load(Ordering::Relaxed) == 0 {
            let first = (THREADS.fetch_add(1, Ordering::Relaxed) + 1) << OF_A_THREAD;
            // A signal handler may have been first.
            let _ = last.compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
        }
        last
    });
    last.fetch_add(1, Ordering::Relaxed) + 1
}

/// The calling thread's place and its partition, if it is bound.
#[must_use]
pub fn place() -> Option<Assignment> {
    places::assignment_of(playing()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_number_is_given_twice() {
        let numbers = || (0..100).map(|_| unique_id()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(numbers)).collect();
        let mut all: HashSet<u64> = numbers().into_iter().collect();
        for thread in threads {
            all.extend(thread.join().unwrap_or_default());
        }
        assert_eq!(all.len(), 500);
        assert!(!all.contains(&0));
    }
}
