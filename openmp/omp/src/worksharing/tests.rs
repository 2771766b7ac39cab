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
