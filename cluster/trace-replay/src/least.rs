//! The least that has to cross between nodes, whatever the protocol: what other nodes changed in
//! pages that a node goes on to read, each change once.
//!
//! A node that reads a page needs what others have changed there since it read it the last time.
//! The size of each change is known, but not which bytes it is of: two changes may be of the same bytes,
//! so only the largest counts. A page that a node only writes needs no content from others. A thread
//! may read other bytes of a page than those that were changed; with smaller pages, as where lines were
//! recorded, the bound is closer.

use fathomp_protocols::PageRange;
use fathomp_types::{NodeId, PageId};
use std::collections::HashMap;

/// The bytes of a page that a node changed in one interval.
#[derive(Clone, Copy, Debug)]
struct Change {
    number: u64,
    node: NodeId,
    bytes: u32,
}

/// Changes of pages, and how many of them each node has read.
#[derive(Debug)]
pub(crate) struct Least {
    page_bytes: u32,
    /// Changes so far.
    changes: u64,
    /// The changes of a page that are larger than any later one of the same node, oldest first.
    pages: HashMap<PageId, Vec<Change>>,
    /// By node: the last change of all when it read a page.
    read: Vec<HashMap<PageId, u64>>,
}

impl Least {
    pub(crate) fn new(nodes: usize, page_bytes: u32) -> Self {
        Self {
            page_bytes,
            changes: 0,
            pages: HashMap::new(),
            read: vec![HashMap::new(); nodes],
        }
    }

    /// A thread of `node` begins an interval in which it reads these pages. The bytes that have to
    /// come for that.
    pub(crate) fn reads(&mut self, node: NodeId, pages: PageRange) -> u64 {
        let Some(read) = self.read.get_mut(usize::from(node.0)) else {
            return 0;
        };
        let mut bytes = 0;
        for page in pages.iter() {
            let Some(changes) = self.pages.get(&page) else {
                continue;
            };
            let known = read.insert(page, self.changes).unwrap_or(0);
            let is_news = |change: &&Change| change.number > known && change.node != node;
            let news = changes.iter().filter(is_news).map(|change| change.bytes);
            bytes += u64::from(news.max().unwrap_or(0).min(self.page_bytes));
        }
        bytes
    }

    /// A thread of `node` ends an interval in which it changed so many bytes of each of these
    /// pages.
    pub(crate) fn wrote(&mut self, node: NodeId, pages: PageRange, bytes: u32) {
        for page in pages.iter() {
            self.changes += 1;
            let changes = self.pages.entry(page).or_default();
            changes.retain(|change| change.node != node || change.bytes > bytes);
            changes.push(Change {
                number: self.changes,
                node,
                bytes,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_BYTES: u32 = 4096;

    fn pages(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    fn page(number: u32) -> PageRange {
        pages(number, 1)
    }

    #[test]
    fn a_change_comes_to_each_other_node_that_reads_and_once() {
        let mut least = Least::new(3, PAGE_BYTES);
        let [a, b, c] = [0, 1, 2].map(NodeId);
        assert_eq!(least.reads(b, page(0)), 0);
        least.wrote(a, pages(0, 4), 100);
        assert_eq!(least.reads(a, pages(0, 4)), 0);
        assert_eq!(least.reads(b, pages(2, 4)), 200);
        assert_eq!(least.reads(b, pages(0, 4)), 200);
        assert_eq!(least.reads(b, pages(0, 4)), 0);
        assert_eq!(least.reads(c, page(1)), 100);
        least.wrote(c, page(1), 8);
        assert_eq!(least.reads(b, page(1)), 8);
        assert_eq!(least.reads(a, page(1)), 8);
    }

    #[test]
    fn of_several_changes_the_largest_counts_since_they_may_be_of_the_same_bytes() {
        let mut least = Least::new(2, PAGE_BYTES);
        let [a, b] = [0, 1].map(NodeId);
        for bytes in [8, 300, 20] {
            least.wrote(a, page(0), bytes);
        }
        assert_eq!(least.pages[&PageId(0)].len(), 2);
        assert_eq!(least.reads(b, page(0)), 300);
        least.wrote(a, page(0), 20);
        assert_eq!(least.reads(b, page(0)), 20);
    }

    #[test]
    fn no_more_than_a_page_comes() {
        let mut least = Least::new(2, PAGE_BYTES);
        least.wrote(NodeId(0), page(0), PAGE_BYTES + 40);
        assert_eq!(least.reads(NodeId(1), page(0)), u64::from(PAGE_BYTES));
    }

    #[test]
    fn a_page_that_is_only_written_needs_no_content() {
        let mut least = Least::new(2, PAGE_BYTES);
        let [a, b] = [0, 1].map(NodeId);
        least.wrote(a, page(0), 64);
        least.wrote(b, page(0), 64);
        assert_eq!(least.reads(a, page(0)), 64);
    }
}
