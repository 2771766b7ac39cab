//! Independent jobs on all processors.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `job` makes of each item, in the order of the items. As many jobs run
/// at a time as there are processors for this process.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(items.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return made;
            };
            made.push((index, job(item)));
        }
    };
    let mut made: Vec<(usize, R)> = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        for other in others {
            match other.join() {
                Ok(more) => made.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        made
    });
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        let squares = in_parallel(&items, |n| n * n);
        assert_eq!(squares, items.iter().map(|n| n * n).collect::<Vec<_>>());
        assert!(in_parallel(&[] as &[u32], |n| *n).is_empty());
    }
}
