//! Puts events of several processors into the order in which they happened.

use super::event::FaultEvent;

/// Holds events back until none that happened earlier can come any more.
#[derive(Debug, Default)]
pub struct Sorter {
    held: Vec<FaultEvent>,
}

impl Sorter {
    /// Takes one.
    pub fn put(&mut self, event: FaultEvent) {
        self.held.push(event);
    }

    /// How many are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The events held, in the order in which they came, to complete them.
    pub fn held_mut(&mut self) -> &mut [FaultEvent] {
        &mut self.held
    }

    /// Hands out, in order, what happened up to `until`: the time of a moment before
    /// which all has arrived.
    pub fn release(&mut self, until: u64, mut take: impl FnMut(&FaultEvent)) {
        // Of events of the same moment, those of one processor stay in order.
        self.held.sort_by_key(FaultEvent::at);
        let count = self.held.partition_point(|event| event.at() <= until);
        for event in self.held.drain(..count) {
            take(&event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at: u64) -> FaultEvent {
        FaultEvent::Fork {
            at,
            process: 1,
            parent: 2,
        }
    }

    #[test]
    fn events_are_released_in_order_once_nothing_earlier_can_come() {
        let mut sorter = Sorter::default();
        for time in [5, 9, 2, 7] {
            sorter.put(at(time));
        }
        let mut out = Vec::new();
        sorter.release(6, |event| out.push(event.at()));
        sorter.put(at(8));
        sorter.release(u64::MAX, |event| out.push(event.at()));
        assert_eq!(out, [2, 5, 7, 8, 9]);
        assert_eq!(sorter.held(), 0);
    }
}
