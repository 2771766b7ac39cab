//! What the program changes in its process outside of the memory that nodes share: the
//! folder it works in, variables of the environment, handlers of signals and the like.
//! Node 0 notes it, and the others do the same before they begin the next region.
//!
//! What a change means is known to who notes and repeats it; here it is a kind, what it is
//! about, and bytes. Of two changes of one kind that are about the same the later one
//! counts, so that there are never more than there is to set.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What sort of thing is set.
    pub kind: u8,
    /// Which of them.
    pub about: Vec<u8>,
    /// To what.
    pub value: Vec<u8>,
}

/// Who knows what changes mean.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Does the same on this node, or says why it cannot.
    pub repeat: fn(&Change),
    /// Writes out what streams of this node hold back.
    pub flush: fn(),
    /// The same for the last time: the process leaves, without what it does at the end of
    /// programs.
    pub close: fn(),
}

/// Changes that the other nodes have not been told of, in the order in which they were
/// made: by number, with what each is about.
#[derive(Debug, Default)]
struct Noted {
    next: u64,
    numbers: BTreeMap<(u8, Vec<u8>), u64>,
    values: BTreeMap<u64, Change>,
}

static NOTED: Mutex<Option<Noted>> = Mutex::new(None);
static ANY: AtomicBool = AtomicBool::new(false);
static HOLDING: AtomicBool = AtomicBool::new(false);
static HOOKS: OnceLock<Hooks> = OnceLock::new();

fn noted() -> MutexGuard<'static, Option<Noted>> {
    NOTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says once who knows what changes mean.
pub fn set_hooks(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

/// At node 0: the program has changed something.
pub fn note(change: Change) {
    noted().get_or_insert_default().note(change);
    ANY.store(true, Ordering::Release);
}

/// At node 0: changes of these kinds that were noted are void.
pub fn forget(kind: u8) {
    if let Some(noted) = &mut *noted() {
        noted.forget(kind);
    }
}

/// A stream of this node holds something back that is to be read before what others write
/// after the next barrier.
#[inline]
pub fn hold() {
    HOLDING.store(true, Ordering::Relaxed);
}

/// Writes out what streams hold back, if any do.
#[inline]
pub fn flush() {
    if HOLDING.load(Ordering::Relaxed)
        && let Some(hooks) = HOOKS.get()
    {
        HOLDING.store(false, Ordering::Relaxed);
        (hooks.flush)();
    }
}

/// Writes out what streams hold back for the last time.
pub(crate) fn close() {
    if let Some(hooks) = HOOKS.get() {
        (hooks.close)();
    }
}

impl Noted {
    fn note(&mut self, change: Change) {
        let key = (change.kind, change.about.clone());
        if let Some(earlier) = self.numbers.insert(key, self.next) {
            self.values.remove(&earlier);
        }
        self.values.insert(self.next, change);
        self.next += 1;
    }

    fn forget(&mut self, kind: u8) {
        self.values.retain(|_, change| change.kind != kind);
        self.numbers.retain(|(of, _), _| *of != kind);
    }
}

/// An order with what was noted since the last one.
pub(crate) fn pack(order: &[u8]) -> Vec<u8> {
    let mut bytes = order.to_vec();
    if ANY.load(Ordering::Relaxed)
        && ANY.swap(false, Ordering::Acquire)
        && let Some(noted) = noted().take()
    {
        for change in noted.values.values() {
            bytes.push(change.kind);
            for part in [&change.about, &change.value] {
                bytes.extend(u32::try_from(part.len()).unwrap_or(0).to_le_bytes());
                bytes.extend(part);
            }
        }
    }
    let changes = bytes.len() - order.len();
    bytes.extend(u32::try_from(changes).unwrap_or(0).to_le_bytes());
    bytes
}

/// The order and the changes that [`pack`] has put together; `None` if it has not.
pub(crate) fn unpack(mut bytes: Vec<u8>) -> Option<(Vec<u8>, Vec<Change>)> {
    let (_, length) = bytes.split_last_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    bytes.truncate(bytes.len() - 4);
    let packed = bytes.split_off(bytes.len().checked_sub(length)?);
    let mut changes = Vec::new();
    let mut rest = packed.as_slice();
    while let Some((kind, after)) = rest.split_first() {
        rest = after;
        let about = part(&mut rest)?;
        let value = part(&mut rest)?;
        let kind = *kind;
        changes.push(Change { kind, about, value });
    }
    Some((bytes, changes))
}

fn part(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (part, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(part.to_vec())
}

/// Does the same on this node.
pub(crate) fn repeat(changes: &[Change]) {
    if let Some(hooks) = HOOKS.get() {
        changes.iter().for_each(hooks.repeat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: u8, about: &str, value: &str) -> Change {
        Change {
            kind,
            about: about.into(),
            value: value.into(),
        }
    }

    #[test]
    fn the_last_of_each_is_told_in_order() {
        note(change(1, "", "/tmp"));
        note(change(2, "A", "1"));
        note(change(2, "B", "2"));
        note(change(2, "A", "3"));
        let (order, changes) = unpack(pack(b"order")).unwrap();
        assert_eq!(order, b"order");
        let last = [
            change(1, "", "/tmp"),
            change(2, "B", "2"),
            change(2, "A", "3"),
        ];
        assert_eq!(changes, last);
        // They are told once.
        assert_eq!(unpack(pack(b"next")), Some((b"next".to_vec(), vec![])));
        note(change(2, "A", "3"));
        forget(2);
        assert_eq!(unpack(pack(b"")), Some((vec![], vec![])));
    }

    #[test]
    fn what_was_not_packed_is_refused() {
        let mut packed = vec![1, 1, 0, 0, 0, b'a', 0, 0, 0, 0];
        packed.extend(10_u32.to_le_bytes());
        assert_eq!(
            unpack(packed.clone()),
            Some((vec![], vec![change(1, "a", "")]))
        );
        for length in 0..packed.len() {
            // Whatever the last four bytes say then, nothing is read beyond the end.
            let _ = unpack(packed[..length].to_vec());
        }
        packed[1] = 200;
        assert_eq!(unpack(packed), None);
        assert_eq!(unpack(vec![1, 2, 3]), None);
        assert_eq!(unpack(vec![9, 0, 0, 0]), None);
    }
}
