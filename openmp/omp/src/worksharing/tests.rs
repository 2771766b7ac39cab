//! Tests of files that the model tests compile, too, and that therefore cannot
//! contain tests themselves.

mod claim {
    use crate::worksharing::claim::*;

    #[test]
    fn a_stale_word_stands_for_nothing_claimed() {
        let claim = Claim::new();
        for construct in [16, 32, 64, 16 << 10, !15] {
            let tag = Tag::of(construct);
            assert_eq!(claim.add(tag, 3), 0);
            assert_eq!(claim.add(tag, 2), 3);
            assert_eq!(claim.take(tag, |taken| 10 - taken), Some((5, 10)));
            assert_eq!(claim.take(tag, |taken| 10 - taken), None);
        }
    }

    #[test]
    fn one_member_wins_each_construct() {
        let claim = Claim::new();
        for construct in (16..1600).step_by(16) {
            assert!(claim.win(Tag::of(construct)));
            assert!(!claim.win(Tag::of(construct)));
            if construct % 160 == 0 {
                // Something else used the slot in between.
                claim.add(Tag::of(construct), 7);
            }
        }
    }

    #[test]
    fn turns_start_at_zero_and_wrap() {
        let turn = Turn::new();
        let tag = Tag::of(48);
        assert!(turn.is_at(tag, 0));
        turn.pass_to(tag, 1 << 36 | 5);
        assert!(turn.is_at(tag, 5));
        assert!(turn.is_at(Tag::of(64), 0));
    }

    #[test]
    fn a_reset_word_is_stale() {
        let (claim, tag) = (Claim::new(), Tag::of(48));
        claim.win(tag);
        claim.reset(tag);
        assert!(claim.win(tag) && !claim.win(tag));
        claim.reset(tag);
        assert_eq!(claim.add(tag, 2), 0);
    }
}

mod range {
    use crate::worksharing::range::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn an_exhausted_range_gives_nothing() {
        let range = Range::empty();
        range.install(3, UNITS_MAX - 1, UNITS_MAX);
        assert_eq!(range.take(), Some(UNITS_MAX - 1));
        assert_eq!(range.take(), None);
        assert_eq!(range.steal(3), None);
    }

    #[test]
    fn only_the_same_loop_is_stolen_from() {
        let range = Range::empty();
        range.install(3, 0, 10);
        assert_eq!(range.steal(4), None);
        assert_eq!(range.steal(3), Some((5, 10)));
        assert_eq!(range.steal(3), Some((2, 5)));
        range.clear();
        assert_eq!(range.steal(3), None);
    }

    #[test]
    fn owner_and_thieves_get_each_unit_once() {
        const UNITS: u64 = 20_000;
        let range = Range::empty();
        let done: Vec<AtomicU32> = (0..UNITS).map(|_| AtomicU32::new(0)).collect();
        range.install(9, 0, UNITS);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some((from, to)) = range.steal(9) {
                        for unit in from..to {
                            done[unit as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            while let Some(unit) = range.take() {
                done[unit as usize].fetch_add(1, Ordering::Relaxed);
            }
        });
        assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
    }
}
