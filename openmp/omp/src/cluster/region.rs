//! A spread region's life: forming it, its barriers, its end.

use super::interface::Cell;
use super::nodes::{Nodes, installed};
use super::order::{Order, Region};
use crate::icv::Icvs;
use crate::observer;
use crate::parallel::{self, Caller, Fork};
use crate::task::{self, Remote};
use crate::team::{Member, Team};
use crate::worker::current;
use fathomp_sys::float;
use fathomp_sys::outlined::Outlined;
use fathomp_types::SiteId;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// In a barrier's word: this node is not at the end of the region.
const MIDWAY: u64 = 1;
/// In a barrier's word: the region has been cancelled.
const CANCELLED: u64 = 2;
/// In the word of a node that [arrives](super::Carrier::arrive): it can run tasks of others.
pub const IDLE: u64 = 4;

/// One node's part in a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Thread number of the node's first member.
    pub(crate) first: u32,
    /// Members on the node.
    pub(crate) here: u32,
    /// Members on all nodes.
    pub(crate) total: u32,
    /// Number of this execution, if another node has given it one; else 0.
    pub(crate) instance: u64,
    /// None if all are on this one.
    pub(crate) nodes: Option<&'static Nodes>,
}

impl Part {
    /// All of a team of `size`.
    #[inline]
    pub(crate) fn local(size: u32) -> Self {
        Self {
            first: 0,
            here: size,
            total: size,
            instance: 0,
            nodes: None,
        }
    }
}

fn most_per_node(total: u32, nodes: u32, wanted: u32) -> u32 {
    wanted.max(total.div_ceil(nodes))
}

/// First thread number on `node` and how many there are, of `total`: as many
/// as the user wants on a node, on each but the last, or more if all of them
/// together would be too few.
fn divide(total: u32, node: u32, nodes: u32, wanted: u32) -> (u32, u32) {
    let each = most_per_node(total, nodes, wanted);
    let first = node.saturating_mul(each).min(total);
    (first, each.min(total - first))
}

/// Threads that `node` counts as employed, its initial one left out, while a
/// region of `total` is spread and `limit` is the contention group's thread
/// limit: what the limit leaves for nested teams is divided among the nodes
/// that take part, for they cannot count each other's.
fn employed(limit: u32, total: u32, node: u32, nodes: u32, wanted: u32) -> u32 {
    let taking_part = total.div_ceil(most_per_node(total, nodes, wanted));
    let free = limit.saturating_sub(total);
    let mine = free / taking_part + u32::from(node < free % taking_part);
    total - 1 + (free - mine)
}

impl Nodes {
    /// How a region of `total` that is met inside `outer` is divided.
    #[cold]
    pub(crate) fn part(&'static self, outer: &Team, fork: &Fork, total: u32) -> Part {
        let fits = total <= self.cluster.threads_per_node();
        let inside = outer.active_level() > 0;
        let here = fits || inside || self.cluster.node() != 0;
        let stack = std::ptr::from_ref(&here).addr();
        if here
            || !self.cluster.reaches(fork.function.address(), stack)
            || self.busy.swap(true, Ordering::Acquire)
        {
            return Part::local(total);
        }
        self.mine(total)
    }

    /// Members on a node of a region of `total`; the last node may have fewer.
    pub(crate) fn most_per_node(&self, total: u32) -> u32 {
        most_per_node(total, self.cluster.nodes(), self.cluster.threads_per_node())
    }

    /// The region that is spread now is cancelled: tells the other nodes.
    #[cold]
    pub(crate) fn cancel(&self) {
        self.cluster.cancel(self.regions.load(Ordering::Relaxed));
    }

    /// Waits until it is the caller's turn in a construct, or the region is cancelled.
    /// As [`wait_for_turn`](Self::wait_for_turn), for a cell that only the node of a member of a
    /// team of `total` raises.
    pub(crate) fn wait_for_member(
        &self,
        (member, total): (u32, u32),
        cell: Cell,
        turn: u64,
    ) -> u64 {
        let region = self.regions.load(Ordering::Relaxed);
        let node = member / self.most_per_node(total).max(1);
        self.cluster.wait_at(node, region, cell, turn)
    }

    pub(crate) fn wait_for_turn(&self, cell: Cell, turn: u64) -> u64 {
        let region = self.regions.load(Ordering::Relaxed);
        self.cluster.wait_in(region, cell, turn)
    }

    /// Whether another node has cancelled the region that is spread now.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cluster.cancelled() == self.regions.load(Ordering::Relaxed)
    }

    fn mine(&'static self, total: u32) -> Part {
        let cluster = self.cluster;
        let wanted = cluster.threads_per_node();
        let (first, here) = divide(total, cluster.node(), cluster.nodes(), wanted);
        Part {
            first,
            here,
            total,
            instance: 0,
            nodes: Some(self),
        }
    }

    /// The region that `fork` asks for begins with `team` on this node. Node 0
    /// tells the others; they know already.
    #[cold]
    pub(crate) fn begin(&self, fork: &Fork, team: &'static Team, icvs: &Icvs) {
        self.regions.fetch_add(1, Ordering::Relaxed);
        let cluster = self.cluster;
        if let Some(group) = team.group()
            && icvs.thread_limit != u32::MAX
        {
            let (limit, total) = (icvs.thread_limit, team.size());
            let (nodes, wanted) = (cluster.nodes(), cluster.threads_per_node());
            let busy = employed(limit, total, cluster.node(), nodes, wanted);
            group.employed.store(busy, Ordering::Relaxed);
        }
        if let Some(remote) = &self.remote {
            remote.begin(team, fork.function.address());
        }
        if cluster.node() != 0 {
            return;
        }
        let region = Region::new(fork, team, icvs);
        cluster.names_region(region.function.address(), region.call);
        let order = Order::Region(region).encode();
        let site = SiteId(team.dock.site.load(Ordering::Relaxed));
        cluster.fork(&order, site);
        self.pass(0);
    }

    /// A barrier inside the region, for the last member on this node to come, who awaits the
    /// tasks of its phase.
    #[cold]
    pub(crate) fn meet(&self, member: &'static Member) {
        let team = member.team();
        if self.barrier(member, MIDWAY) & CANCELLED != 0 {
            team.cancelled.store(true, Ordering::SeqCst);
        }
    }

    /// The end of the region on this node. If it was cancelled, others may
    /// still be at a barrier inside; they learn it there.
    #[cold]
    pub(crate) fn end(&self, primary: &'static Member) {
        let team = primary.team();
        while self.barrier(primary, 0) & MIDWAY != 0 {}
        if let Some(remote) = &self.remote {
            remote.end();
        }
        if let Some(group) = team.group() {
            group.employed.store(team.size() - 1, Ordering::Relaxed);
        }
        if self.cluster.node() == 0 {
            self.cluster.names_region(0, 0);
            self.busy.store(false, Ordering::Release);
        }
    }

    fn barrier(&self, member: &'static Member, word: u64) -> u64 {
        let word = || {
            let cancelled = member.team().cancelled.load(Ordering::SeqCst);
            word | if cancelled { CANCELLED } else { 0 }
        };
        self.pass_blocks();
        match &self.remote {
            Some(remote) => remote.gather(member, word),
            None => task::complete_phase(member, member.phase.get()),
        }
        let held = self.remote.as_ref().map_or(0, Remote::held);
        let words = self.pass(word() | held);
        if let Some(remote) = &self.remote {
            remote.learn(words);
        }
        self.take_back();
        words
    }

    /// A barrier, whether this node has a part in a region or not.
    fn pass(&self, word: u64) -> u64 {
        let words = self.cluster.barrier(word);
        if let Some(remote) = &self.remote {
            remote.pass();
        }
        words
    }

    /// The program's function at an address. Finding out takes longer than all
    /// the rest of an order, so it is done once.
    pub(crate) fn code(&self, address: usize) -> Option<Outlined> {
        let mut known = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&address) {
            return Some(*found);
        }
        let found = Outlined::find(address)?;
        known.insert(address, found);
        Some(found)
    }

    /// Runs this node's part of a region.
    fn run(&'static self, region: &Region) {
        let part = Part {
            instance: region.instance,
            ..self.mine(region.total)
        };
        if part.here == 0 {
            self.regions.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let met = observer::hears_of_region();
        let home = current();
        let worker = home.worker();
        // Where threads are created they inherit the environment, and here that comes first.
        if region.caller != Caller::Gnu || self.regions.load(Ordering::Relaxed) == 0 {
            float::set(region.floats);
        }
        home.set_icvs(region.icvs);
        home.team()
            .dock
            .level
            .store(region.level, Ordering::Relaxed);
        if let Some(group) = home.team().group() {
            group.team_num.store(region.team_num, Ordering::Relaxed);
            group.num_teams.store(region.num_teams, Ordering::Relaxed);
            group.employed.store(region.total - 1, Ordering::Relaxed);
        }
        let team = parallel::team_for(worker, part.here);
        let mut seated = part;
        parallel::seat(home.team(), team, &mut seated);
        let reduce = |team: &'static Team, _| task::reductions::begin_region(team, region.table);
        let fork = Fork {
            function: region.function,
            data: region.data,
            threads: 0,
            bind: region.bind,
            call: region.call,
            preset: region.preset,
            called_by_program: false,
            caller: region.caller,
            prepare: (region.table != 0).then_some(&reduce),
        };
        let frame = parallel::form(&fork, home, &region.icvs, part, team, Some(met));
        frame.call(&fork);
        parallel::end(frame);
        if region.table != 0 {
            task::reductions::end_region(team);
        }
    }
}

/// Life of the thread that runs the program's code on a node other than 0:
/// takes part in regions until node 0 calls [`dismiss`].
pub fn serve() {
    let Some(nodes) = installed() else { return };
    // Its waiting is recorded from the first region on.
    observer::introduce(current(), 0);
    loop {
        // Between regions, and during those in which this node has no part.
        observer::idles(|| nodes.pass(0));
        nodes.take_back();
        let Some(order) = nodes.cluster.next_order() else {
            continue;
        };
        match Order::decode(&order, |address| nodes.code(address)) {
            Ok(Order::Region(region)) => nodes.run(&region),
            Ok(Order::Leave) => return,
            Err(problem) => nodes.fail(format_args!(
                "node 0 has sent an order that makes no sense: {problem}"
            )),
        }
    }
}

/// Node 0, outside of all regions: the other nodes return from [`serve`].
pub fn dismiss() {
    if let Some(nodes) = installed().filter(|nodes| nodes.cluster.node() == 0) {
        nodes.cluster.fork(&Order::Leave.encode(), SiteId::SERIAL);
        nodes.pass(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_number_is_on_one_node(total in 1_u32..2000, nodes in 2_u32..70, wanted in 1_u32..40) {
            let mut next = 0;
            for node in 0..nodes {
                let (first, here) = divide(total, node, nodes, wanted);
                prop_assert_eq!(first, next);
                next += here;
                prop_assert!(here <= wanted.max(total.div_ceil(nodes)));
            }
            prop_assert_eq!(next, total);
        }
    }

    proptest! {
        #[test]
        fn nodes_together_stay_within_the_limit(
            limit in 1_u32..3000, total in 1_u32..2000, nodes in 2_u32..70, wanted in 1_u32..40,
        ) {
            let limit = limit.max(total);
            let taking_part = |&node: &u32| divide(total, node, nodes, wanted).1 > 0;
            let free = |node| limit - 1 - employed(limit, total, node, nodes, wanted);
            let nested: u32 = (0..nodes).filter(taking_part).map(free).sum();
            prop_assert_eq!(total + nested, limit);
        }
    }

    #[test]
    fn nodes_are_filled_one_after_the_other() {
        let all = |total| [0, 1, 2].map(|node| divide(total, node, 3, 2).1);
        assert_eq!(all(6), [2, 2, 2]);
        assert_eq!(all(3), [2, 1, 0]);
        assert_eq!(all(10), [4, 4, 2]);
    }
}
