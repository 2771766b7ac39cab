//! How a program on several nodes ends.

use super::{LOOK_AFTER, LOSS, NAP, Node, current, lock};
use crate::activity::Activity;
use crate::fatal_report::say;
use crate::frame::Frame;
use crate::world;
use fathomp_access_trace::End;
use fathomp_sys::cluster::thread::starting_ours;
use fathomp_sys::cluster::{deferral, process};
use fathomp_types::{Ending, NodeId};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the other nodes may take to write out what they hold at the end.
const DEPARTURE_TIMEOUT: Duration = Duration::from_secs(2);

impl Node {
    /// The program calls `exit` on this node. Node 0 ends the cluster; others
    /// ask it to, and do not return.
    pub fn exiting(&self, code: i32) {
        let _inside = deferral::enter();
        if self.me() != NodeId(0) && !self.ended.load(Ordering::Relaxed) {
            process::flush_streams();
            self.send(NodeId(0), Frame::Exit { code });
            self.serve_others()
        }
    }

    /// Says how a node's process has ended, and ends the others. `why` is known of one on
    /// another host.
    pub(super) fn report_death(&self, dead: NodeId, why: Option<&str>) -> ! {
        let child = usize::from(dead.0)
            .checked_sub(1)
            .and_then(|i| self.children.get(i));
        let activity = Activity::from_word(self.transport.noted(dead).unwrap_or_default());
        match child.and_then(|child| process::ended(*child)) {
            Some(Ending::BROKEN_PIPE) => process::end_by_broken_pipe(),
            Some(how) => self.fail(dead, &format!("its process {} {activity}", how.predicate())),
            None => {
                // Node 0 knows more, if it lives, or who has started the node.
                std::thread::sleep(LOOK_AFTER * 5);
                if let Some(abort) = self.transport.aborted() {
                    self.give_up(&abort);
                }
                let what = match why {
                    Some(why) => why.to_owned(),
                    None => format!("its process has ended {activity}"),
                };
                let abort = self.transport.abort(dead, LOSS, &what);
                self.give_up(&abort)
            }
        }
    }

    /// At node 0: says which nodes' processes were stopped, since all wait for them.
    pub(super) fn say_who_is_stopped(&self) {
        let lives = self.children.iter().map(|child| process::life(*child));
        for (number, signal) in lock(&self.stopped_processes).look(lives) {
            let process = self.children[number];
            say(&format!(
                "node {}: its process was stopped by signal {signal}, and all others \
                 wait for it: let it go on (kill -CONT {process}), or end the program",
                number + 1
            ));
        }
    }

    /// At node 0: says it if all nodes wait for each other, as far as that can be told:
    /// where each has one thread.
    pub(super) fn say_if_all_wait(&self) {
        let alone = self.size.threads == 1 && !self.strangers.load(Ordering::Relaxed);
        if self.me() != NodeId(0) || !alone || self.size.nodes == 1 {
            return;
        }
        let words = (0..self.size.nodes).map(|node| self.transport.noted(NodeId(node)));
        let words: Vec<u32> = words.map(Option::unwrap_or_default).collect();
        if !lock(&self.stillness).look(words.iter().copied()) {
            return;
        }
        let all: Vec<String> = (0..)
            .zip(&words)
            .map(|(node, word)| format!("node {} {}", NodeId(node), Activity::from_word(*word)))
            .collect();
        say(&format!(
            "all nodes have been waiting for each other for a while, {}: the program may have \
             a deadlock",
            all.join(", ")
        ));
    }

    /// The service thread ends the process as another node has asked. What the program
    /// does at its end may take as long as it likes: others are served meanwhile.
    pub(super) fn exit_for_another(&self, code: i32) -> ! {
        let serve = || {
            if let Some(node) = current::node() {
                node.serve_others();
            }
        };
        let service = starting_ours(|| std::thread::Builder::new().spawn(serve));
        if let Err(error) = service {
            let what = format!("cannot start a thread to end the program: {error}");
            self.fail(self.me(), &what);
        }
        process::exit(code)
    }

    /// Node 0's process ends: the others do so too.
    pub fn finish(&self) {
        let _inside = deferral::enter();
        if self.me() != NodeId(0) || self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        self.end_interval(End::Exit);
        for node in self.others() {
            // A node that is gone already need not be told.
            let (head, body) = Frame::Leave.parts();
            let _ = self.transport.send(node, &[head.bytes(), body]);
        }
        self.depart();
        process::reap(&self.children, DEPARTURE_TIMEOUT);
    }

    /// Lets everything leave that has been sent, and goes.
    pub(super) fn depart(&self) {
        let deadline = Instant::now() + DEPARTURE_TIMEOUT;
        while self.transport.has_backlog() && Instant::now() < deadline {
            self.handle_next();
        }
        self.set_activity(Activity::Leave);
        self.transport.depart();
    }

    /// Waits until the thread that was in the last region has recorded its end
    /// and waits for the next.
    fn let_regions_end(&self) {
        let deadline = Instant::now() + LOOK_AFTER;
        let waits = || {
            let outcomes = lock(&self.outcomes);
            !outcomes.is_known() && self.in_barrier.load(Ordering::Relaxed)
        };
        while !waits() && Instant::now() < deadline {
            std::thread::sleep(NAP);
        }
    }

    /// Ends this process on the service thread, since node 0 has ended the program. First it wakes
    /// the thread of the program that waits for the next region, which then ends the process; if
    /// that does not happen within [`LOOK_AFTER`], the service thread does it.
    pub(super) fn have_program_leave(&self) -> ! {
        let deadline = Instant::now() + LOOK_AFTER;
        while self.in_barrier.load(Ordering::Relaxed) && Instant::now() < deadline {
            self.transport.rouse();
            std::thread::sleep(NAP);
        }
        self.leave_quietly()
    }

    /// Ends this process, since node 0 has ended the program. Of several threads that find that
    /// out one does it, while the others wait here.
    pub(super) fn leave_quietly(&self) -> ! {
        let _only = lock(&self.leaver);
        self.depart();
        self.end_interval(End::Exit);
        process::flush_streams();
        if self.profile.is_on() {
            self.let_regions_end();
        }
        self.leave()
    }

    /// Ends the process of a node that is no longer needed. What the program wants done at its
    /// end node 0 does, and only streams are each node's.
    pub fn leave(&self) -> ! {
        fathomp_omp::runtime::finish();
        // Their buffers may lie in pages, which nobody can be asked for any more; what was
        // written into them here is here.
        self.ended.store(true, Ordering::Relaxed);
        world::close();
        process::flush_streams();
        process::leave(0)
    }
}
