//! Task reductions.
//!
//! The compiler describes a set of reductions by a table and calls the runtime
//! to allocate the private copies, one per thread, and to find them. What the
//! tables look like is the ABI's business (`fathomp-abi`); here is where they
//! are kept: a taskgroup has one, tasks inherit it with the group. A table is
//! known by its address; 0 means none.

use super::group::Group;
use super::meetings::Meeting;
use super::taskgroup::{group_end, open};
use crate::cluster::of_reductions;
use crate::team::{Member, Team};

/// The table the current task's reductions are found through; 0 if none.
pub fn table(member: &'static Member) -> usize {
    member.task.current().group().map_or(0, Group::reductions)
}

/// The current taskgroup's tasks may take part in the reductions of `table`.
pub fn set_table(member: &'static Member, table: usize) {
    if let Some(group) = member.task.current().group() {
        group.set_reductions(table);
    }
}

/// Whether the current task is in a taskgroup region.
pub fn in_group(member: &'static Member) -> bool {
    member.task.current().group().is_some()
}

/// What distinguishes the innermost taskgroup from others that have not ended; 0 outside of all.
pub fn group_name(member: &'static Member) -> usize {
    let group = member.task.current().group();
    group.map_or(0, |group| std::ptr::from_ref(group).addr())
}

/// Whether members of the team are on other nodes.
pub fn is_spread(member: &'static Member) -> bool {
    member.team().nodes().is_some()
}

/// The implicit tasks of the region that is being forked reduce into `table`.
/// Call from [`crate::parallel::Fork::prepare`].
pub fn begin_region(team: &'static Team, table: usize) {
    team.tasks.reduce_into(Some(table));
}

/// The region has ended.
pub fn end_region(team: &'static Team) {
    team.tasks.reduce_into(None);
}

/// Begins a worksharing construct with task reductions: opens its taskgroup
/// and returns begin and end of the copies for each of its tables, which need
/// `sizes` bytes, so aligned. `allocate` makes them, zeroed, if this member is
/// the first of the team.
pub fn begin_workshare(
    member: &'static Member,
    sizes: impl FnOnce() -> Vec<(usize, usize)>,
    allocate: impl Fn(usize, usize) -> usize,
) -> Vec<[usize; 2]> {
    let team = member.team();
    team.tasks.mark_used();
    open(member, true);
    let round = member.task.rounds.get();
    member.task.rounds.set(round + 1);
    let mut meetings = team.tasks.meetings.lock();
    if let Some(meeting) = meetings.iter().find(|meeting| meeting.round == round) {
        return meeting.copies.clone();
    }
    let sizes = sizes();
    let begins = match team.nodes() {
        None => sizes
            .iter()
            .map(|&(bytes, align)| allocate(bytes, align))
            .collect(),
        Some(nodes) => nodes.lend_to_all(&sizes, |of| of_reductions(round, of)),
    };
    let copies: Vec<_> = std::iter::zip(begins, sizes)
        .map(|(begin, (bytes, _))| [begin, begin + bytes])
        .collect();
    meetings.push(Meeting {
        round,
        left: team.local_size(),
        copies: copies.clone(),
    });
    copies
}

/// Ends the innermost worksharing construct with task reductions: waits for
/// its tasks. Returns what to free if this member is the last of a team that
/// allocated its copies itself.
pub fn end_workshare(member: &'static Member) -> Option<Vec<[usize; 2]>> {
    group_end(member);
    // Constructs of this kind do not nest in one implicit task: the last
    // begun is the one that ends.
    let round = member.task.rounds.get().wrapping_sub(1);
    let mut meetings = member.team().tasks.meetings.lock();
    let place = meetings.iter().position(|meeting| meeting.round == round)?;
    meetings[place].left -= 1;
    let last = meetings[place].left == 0;
    let copies = last.then(|| meetings.swap_remove(place).copies);
    copies.filter(|_| member.team().nodes().is_none())
}
