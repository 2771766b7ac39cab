//! `KMP_HW_SUBSET`: which part of the machine a program uses, by counts of its parts.

use super::PlaceKind;
use super::value;

/// So many parts of a kind in each part of the kind before it, from an offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Sockets, cores and so on.
    pub kind: PlaceKind,
    /// How many; none for all.
    pub count: Option<u32>,
    /// How many are left out before them.
    pub offset: u32,
}

/// Kinds of parts, the largest first, with LLVM's words for them.
const KINDS: [(PlaceKind, &[&str]); 5] = [
    (PlaceKind::Sockets, &["s", "socket", "sockets"]),
    (PlaceKind::NumaDomains, &["n", "numa", "numa_domains"]),
    (
        PlaceKind::LlCaches,
        &["l3", "l3_cache", "ll", "ll_cache", "ll_caches"],
    ),
    (PlaceKind::Cores, &["c", "core", "cores"]),
    (PlaceKind::Threads, &["t", "thread", "threads"]),
];

/// Place of a kind in [`KINDS`].
fn depth(kind: PlaceKind) -> usize {
    KINDS
        .iter()
        .position(|(known, _)| *known == kind)
        .unwrap_or(KINDS.len())
}

/// `[:]NUMBER KIND [@OFFSET],...`, the largest kind first, whatever the order there. Of sockets, cores
/// and threads that it does not name, all are meant; with a colon, they do not count, so that parts
/// of a kind are numbered in all of the kind before that it names. LLVM's library then numbers
/// processors, too, that the program may not use; here they never are.
pub(super) fn subset(text: &str) -> Option<Vec<Layer>> {
    let text = text.trim();
    let (only_these, items) = match text.strip_prefix(':') {
        Some(items) => (true, items),
        None => (false, text),
    };
    let mut layers = items
        .split(',')
        .map(layer)
        .collect::<Option<Vec<Layer>>>()?;
    for kind in [PlaceKind::Sockets, PlaceKind::Cores, PlaceKind::Threads] {
        if !only_these && !layers.iter().any(|layer| layer.kind == kind) {
            layers.push(Layer {
                kind,
                count: None,
                offset: 0,
            });
        }
    }
    layers.sort_by_key(|layer| depth(layer.kind));
    let twice = layers.windows(2).any(|pair| pair[0].kind == pair[1].kind);
    (!twice).then_some(layers)
}

fn layer(text: &str) -> Option<Layer> {
    let (text, offset) = match text.split_once('@') {
        Some((text, offset)) => (text, value::non_negative(offset)?),
        None => (text, 0),
    };
    let text = text.trim();
    let (count, word) = match text.strip_prefix('*') {
        Some(word) => (None, word),
        None => {
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (count, word) = text.split_at(digits);
            (Some(value::positive(count)?), word)
        }
    };
    let word = word.trim().to_ascii_lowercase();
    let (kind, _) = KINDS
        .iter()
        .find(|(_, words)| words.contains(&word.as_str()))?;
    Some(Layer {
        kind: *kind,
        count,
        offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_the_largest_on() {
        let layer = |kind, count, offset| Layer {
            kind,
            count,
            offset,
        };
        assert_eq!(
            subset("1t, 2C@1,*s"),
            Some(vec![
                layer(PlaceKind::Sockets, None, 0),
                layer(PlaceKind::Cores, Some(2), 1),
                layer(PlaceKind::Threads, Some(1), 0),
            ])
        );
        assert_eq!(
            subset("2cores,1numa"),
            Some(vec![
                layer(PlaceKind::Sockets, None, 0),
                layer(PlaceKind::NumaDomains, Some(1), 0),
                layer(PlaceKind::Cores, Some(2), 0),
                layer(PlaceKind::Threads, None, 0),
            ])
        );
        assert_eq!(
            subset(":1t@2"),
            Some(vec![layer(PlaceKind::Threads, Some(1), 2)])
        );
        for bad in ["", "c", "2", "0c", "2c@", "2x", "2c,1c", "2c,", "-1c"] {
            assert_eq!(subset(bad), None, "{bad:?}");
        }
    }
}
