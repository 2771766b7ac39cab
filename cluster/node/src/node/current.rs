//! This process as a node.

use super::Node;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::atomic::Ordering;

static NODE: AtomicRef<Node> = AtomicRef::new(None);

/// This process as a node, once it is one.
#[inline]
#[must_use]
pub fn node() -> Option<&'static Node> {
    NODE.load(Ordering::Acquire)
}

/// From now on it is one.
pub(crate) fn become_node(node: &'static Node) {
    NODE.store(Some(node), Ordering::Release);
}
