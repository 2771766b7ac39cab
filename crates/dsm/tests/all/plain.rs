//! What is counted where nothing is done ahead of time, as the published systems count it.

use fathomp_base::{NodeId, PageId, ThreadId};
use fathomp_dsm::home::{Config, Home};
use fathomp_dsm::{
    Access, Action, Area, Input, Operation, PageRange, Placement, Protection, Protocol,
};

const PAGES: u32 = 256;
const ROUNDS: u32 = 10;

/// A node alone in its cluster, whose thread writes its own pages, with a barrier after each
/// round. The faults.
fn local_write_faults(plain: bool) -> u32 {
    let area = Area {
        pages: PAGES,
        home: Placement::At(NodeId(0)),
    };
    let config = Config::usual(1, vec![area], plain, false);
    let mut home: Home<u32> = Home::new(NodeId(0), config).unwrap();
    let mut writable = vec![true; PAGES as usize];
    let protect = |actions: &mut Vec<Action<u32>>, writable: &mut Vec<bool>| {
        let mut resumed = false;
        for action in actions.drain(..) {
            match action {
                Action::Protect(pages, protection) => {
                    for page in pages.iter() {
                        writable[page.0 as usize] = protection == Protection::ReadWrite;
                    }
                }
                Action::Resume(_) => resumed = true,
                _ => {}
            }
        }
        resumed
    };
    let (thread, mut actions, mut faults) = (ThreadId(0), Vec::new(), 0);
    home.start(&mut actions);
    protect(&mut actions, &mut writable);
    for _ in 0..ROUNDS {
        for page in PageRange::new(PageId(0), PAGES).unwrap().iter() {
            if !writable[page.0 as usize] {
                faults += 1;
                let access = Access::Write;
                let fault = Input::Fault {
                    thread,
                    page,
                    access,
                };
                home.step(fault, &mut actions).unwrap();
                assert!(protect(&mut actions, &mut writable));
                assert!(writable[page.0 as usize]);
                assert_eq!(home.check(), Ok(()));
            }
        }
        let operation = Operation::Barrier;
        home.step(Input::Operation { thread, operation }, &mut actions)
            .unwrap();
        assert!(protect(&mut actions, &mut writable));
        assert_eq!(home.check(), Ok(()));
    }
    faults
}

/// SCASH: local pages are read-only again after every barrier.
#[test]
fn the_first_write_to_an_own_page_is_counted_after_each_barrier() {
    assert_eq!(local_write_faults(true), ROUNDS * PAGES);
    assert_eq!(local_write_faults(false), 0);
}
