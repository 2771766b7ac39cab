//! Nodes are forked from a process in which other tests run.

use super::mock::{cluster, let_nodes_end_by_panics};
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What somebody panics about while nodes come and go.
struct LongStory {
    begun: Sender<()>,
    end: Receiver<()>,
}

impl fmt::Display for LongStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.begun.send(()).unwrap();
        // An error means that the other end is gone, which will do as well.
        let _ = self.end.recv();
        f.write_str("as it should")
    }
}

#[test]
fn a_panic_elsewhere_holds_no_node_up() {
    let_nodes_end_by_panics();
    let (begun, has_begun) = channel();
    let (go_on, end) = channel::<()>();
    let story = LongStory { begun, end };
    let other = thread::spawn(move || panic!("{story}"));
    has_begun.recv().unwrap();
    // Its message is written under the lock of the hook.
    cluster(2, 1, &[("OMP_DYNAMIC", "false")], |_| {});
    drop(go_on);
    assert!(other.join().is_err());
}
