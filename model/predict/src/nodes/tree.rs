//! The tree through which nodes come to a barrier.

use fathomp_protocols::order::FAN_IN;

/// Levels of the tree of so many nodes, below its root.
pub(super) fn levels(nodes: u32) -> u32 {
    let (mut levels, mut reached, mut width) = (0, 1_u32, 1_u32);
    while reached < nodes {
        width = width.saturating_mul(FAN_IN.into());
        reached = reached.saturating_add(width);
        levels += 1;
    }
    levels
}

#[cfg(test)]
mod tests {
    #[test]
    fn trees_have_levels() {
        let levels = [1, 2, 5, 6, 21, 22].map(super::levels);
        assert_eq!(levels, [0, 1, 1, 2, 2, 3]);
    }
}
