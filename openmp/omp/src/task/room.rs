//! Memory that all nodes reach for arguments that cannot be moved: the program has copied them by
//! its own function, and they may point to each other.

use crate::cluster::Cluster;
use fathomp_sys::cluster::deferral;
use std::sync::{Mutex, PoisonError};

/// Smallest room: a cache line.
const LEAST_BYTES: usize = 64;
/// Sizes of rooms, each twice the one before. Larger arguments stay on their node.
const SIZES: usize = 11;

/// A room for the arguments of one task.
#[derive(Debug)]
pub(super) struct Room {
    size: usize,
    pub(super) address: usize,
}

/// Rooms of this node that no task uses.
#[derive(Debug, Default)]
pub(super) struct Rooms([Mutex<Vec<usize>>; SIZES]);

impl Rooms {
    /// Room for so many bytes, so aligned. `None` if that is too much.
    pub(super) fn take(&self, cluster: &dyn Cluster, bytes: usize, align: usize) -> Option<Room> {
        if align > LEAST_BYTES {
            return None;
        }
        let lines = bytes.div_ceil(LEAST_BYTES).next_power_of_two();
        let size = lines.trailing_zeros() as usize;
        let free = {
            let _inside = deferral::enter();
            let rooms = self.0.get(size)?.lock();
            rooms.unwrap_or_else(PoisonError::into_inner).pop()
        };
        let address = match free {
            Some(address) => address,
            None => cluster.allocate(lines * LEAST_BYTES, LEAST_BYTES)?,
        };
        Some(Room { size, address })
    }

    /// A task does not need it any more.
    pub(super) fn give(&self, room: Room) {
        let _inside = deferral::enter();
        if let Some(rooms) = self.0.get(room.size) {
            let rooms = rooms.lock();
            rooms
                .unwrap_or_else(PoisonError::into_inner)
                .push(room.address);
        }
    }
}
