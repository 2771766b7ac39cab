//! What is counted where nothing is done ahead of time, as the published systems count it.

use fathomp_protocols::home::{Config, Home};
use fathomp_protocols::message::{Control, Message};
use fathomp_protocols::{
    Access, Action, Area, Input, Operation, PageCopy, PageRange, Placement, Protection, Protocol,
};
use fathomp_types::{NodeId, PageId, ThreadId};

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

/// A home of which another node has fetched a page: its thread writes that between flushes.
#[test]
fn a_flush_leaves_own_pages_open() {
    let area = Area {
        pages: 2,
        home: Placement::At(NodeId(1)),
    };
    let faults = |loads_acquire| {
        let operation = Operation::ReleaseFlush;
        let config = Config::usual(2, vec![area], true, loads_acquire);
        let mut home: Home<u32> = Home::new(NodeId(1), config).unwrap();
        let (thread, mut faults, mut told, mut writable) = (ThreadId(0), 0, 0, false);
        let mut step = |home: &mut Home<u32>, input| {
            let mut actions = Vec::new();
            home.step(input, &mut actions).unwrap();
            assert_eq!(home.check(), Ok(()));
            for action in actions {
                match action {
                    Action::Protect(pages, what) if pages.contains(PageId(0)) => {
                        writable = what == Protection::ReadWrite;
                    }
                    Action::Send(_, Message::Control(Control::Exchange { notice, .. })) => {
                        told += u32::from(notice.is_some());
                    }
                    _ => {}
                }
            }
            writable
        };
        let (epoch, need) = (0, Vec::new());
        let pages = PageId(0).into();
        let from = NodeId(0);
        let message = Message::Fetch { epoch, pages, need };
        let mut open = step(&mut home, Input::Message { from, message });
        for _ in 0..ROUNDS {
            if !open {
                faults += 1;
                let (page, access) = (PageId(0), Access::Write);
                let fault = Input::Fault {
                    thread,
                    page,
                    access,
                };
                assert!(step(&mut home, fault));
            }
            open = step(&mut home, Input::Operation { thread, operation });
        }
        (faults, told)
    };
    // Each flush tells of the page: nobody notices whether it was written again. Where loads
    // acquire, each page that is served would tell of all that are open.
    assert_eq!(faults(false), (1, ROUNDS));
    assert_eq!(faults(true), (ROUNDS, ROUNDS));
}

/// RUM, RRO, RRW: a page that is written and not here is a fetch, and a write fault.
#[test]
fn a_write_to_a_page_elsewhere_is_two_faults() {
    let area = Area {
        pages: 1,
        home: Placement::At(NodeId(1)),
    };
    let opened = |plain| {
        let config = Config::usual(2, vec![area], plain, false);
        let mut home: Home<u32> = Home::new(NodeId(0), config).unwrap();
        let (thread, page, access) = (ThreadId(0), PageId(0), Access::Write);
        let mut step = |input| {
            let mut actions = Vec::new();
            home.step(input, &mut actions).unwrap();
            assert_eq!(home.check(), Ok(()));
            let twinned = actions.contains(&Action::Twin(page));
            let opens = actions.iter().any(
                |action| matches!(action, Action::Protect(_, what) if *what == Protection::ReadWrite),
            );
            (actions.contains(&Action::Resume(thread)), twinned, opens)
        };
        let fault = || Input::Fault {
            thread,
            page,
            access,
        };
        step(fault());
        let copy = PageCopy {
            versions: Vec::new(),
            after: Vec::new(),
            content: 4096,
        };
        let message = Message::Pages {
            epoch: 0,
            first: page,
            copies: vec![copy],
        };
        let from = NodeId(1);
        [step(Input::Message { from, message }), step(fault())]
    };
    assert_eq!(opened(true), [(true, false, false), (true, true, true)]);
    assert!(opened(false)[0].2);
}

/// SCASH: local pages are read-only again after every barrier.
#[test]
fn the_first_write_to_an_own_page_is_counted_after_each_barrier() {
    assert_eq!(local_write_faults(true), ROUNDS * PAGES);
    assert_eq!(local_write_faults(false), 0);
}
