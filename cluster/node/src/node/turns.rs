//! Waiting for turns in a region that may be cancelled: whoever was to pass the turn
//! on may have left.

use super::state::Turn;
use super::{Node, lock};
use crate::frame::Frame;
use fathomp_sys::cluster::deferral;
use fathomp_types::NodeId;
use std::sync::atomic::Ordering;

impl Node {
    /// As [`wait_for`](Self::wait_for), or until `region` is cancelled: then the cell is
    /// raised to the most that there is.
    pub(crate) fn wait_in(&self, region: u64, cell: u64, at_least: u64) -> u64 {
        self.wait_for_turn(NodeId(0), region, cell, || self.wait_for(cell, at_least))
    }

    /// The same for a cell that a node has.
    pub(super) fn wait_for_turn(
        &self,
        at: NodeId,
        region: u64,
        cell: u64,
        wait: impl FnOnce() -> u64,
    ) -> u64 {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let turn = Turn {
            region,
            epoch,
            cell,
            at,
        };
        lock(&self.turns).push(turn);
        // Whoever hears of it from now on finds the turn above.
        if self.cancelled() == region {
            let _inside = deferral::enter();
            self.give_to_all(turn);
        }
        let value = wait();
        let mut turns = lock(&self.turns);
        if let Some(place) = turns.iter().position(|known| *known == turn) {
            turns.swap_remove(place);
        }
        value
    }

    /// A region was cancelled, here or elsewhere.
    pub(super) fn heed_cancel(&self, region: u64) {
        self.cancelled.fetch_max(region, Ordering::Relaxed);
        let turns: Vec<Turn> = lock(&self.turns).clone();
        for turn in turns.into_iter().filter(|turn| turn.region == region) {
            self.give_to_all(turn);
        }
    }

    fn give_to_all(&self, turn: Turn) {
        let Turn {
            epoch, cell, at, ..
        } = turn;
        let value = u64::MAX;
        self.send_or_handle(at, Frame::Put { epoch, cell, value });
    }
}
