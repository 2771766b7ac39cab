//! The words that the nodes of a cluster share, and where what lies among them.

use crate::locks::Locks;
use crate::log::Log;
use crate::primitive::{AtomicU64, Ordering, Words};
use crate::sizes::Sizes;
use crate::view::View;
use fathomp_types::NodeId;
use std::io;

/// Words that all nodes of a cluster share: what each shows ([`View`]), the logs of two
/// epochs ([`Log`]), and locks ([`Locks`]). At first they are all 0, which says that
/// nothing is offered and nothing has happened. Whatever stands there, nobody waits for
/// ever or reads outside.
#[derive(Debug)]
pub struct Memory {
    pub(crate) words: Words,
    nodes: u16,
    pages: u32,
    sizes: Sizes,
}

impl Memory {
    /// Memory of this process and all that it forks afterwards, for a cluster of so many
    /// nodes and pages. It takes space only as far as it is used. Sizes that are out of
    /// range are cut to it.
    ///
    /// # Errors
    /// If the kernel refuses so much memory.
    pub fn shared(nodes: u16, pages: u32, sizes: Sizes) -> io::Result<Self> {
        Self::over(nodes, pages, sizes, Words::shared)
    }

    /// Memory of this process alone.
    #[must_use]
    pub fn in_process(nodes: u16, pages: u32, sizes: Sizes) -> Self {
        let made = Self::over(nodes, pages, sizes, |count| {
            Ok::<_, std::convert::Infallible>(Words::in_process(count))
        });
        match made {
            Ok(memory) => memory,
            Err(never) => match never {},
        }
    }

    /// The same with what [`words`](Self::words) returned for memory of that shape.
    #[must_use]
    pub fn from_words(nodes: u16, pages: u32, sizes: Sizes, words: &[u64]) -> Self {
        let memory = Self::in_process(nodes, pages, sizes);
        for (place, word) in memory.words.all().iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
        memory
    }

    fn over<E>(
        nodes: u16,
        pages: u32,
        sizes: Sizes,
        words: impl FnOnce(usize) -> Result<Words, E>,
    ) -> Result<Self, E> {
        let sizes = sizes.in_range();
        let views = usize::from(nodes) * View::words(nodes, pages, sizes);
        let logs = 2 * Log::words(nodes, sizes);
        Ok(Self {
            words: words(views + logs + Locks::words(sizes))?,
            nodes,
            pages,
            sizes,
        })
    }

    /// A copy of all words, one after the other: what all nodes share at a moment, if
    /// nobody writes meanwhile.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        let words = self.words.all().iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// What a node shows; none if there is no such node.
    pub(crate) fn view(&self, node: NodeId) -> Option<View<'_>> {
        let count = View::words(self.nodes, self.pages, self.sizes);
        let within = node.0 < self.nodes;
        let words = self.part(usize::from(node.0) * count, count);
        View::over(words.filter(|_| within)?, self.nodes, self.sizes)
    }

    /// The log of an epoch. It has the place of the one before the last.
    pub(crate) fn log(&self, epoch: u32) -> Option<Log<'_>> {
        let views = usize::from(self.nodes) * View::words(self.nodes, self.pages, self.sizes);
        let count = Log::words(self.nodes, self.sizes);
        let place = if epoch.is_multiple_of(2) { 0 } else { count };
        let words = self.part(views + place, count)?;
        Log::over(words, epoch, self.nodes, self.sizes)
    }

    pub(crate) fn locks(&self) -> Locks<'_> {
        let words = self.words.all();
        let before = words.len().saturating_sub(Locks::words(self.sizes));
        Locks::over(&words[before..], self.sizes)
    }

    pub(crate) fn part(&self, start: usize, count: usize) -> Option<&[AtomicU64]> {
        self.words.all().get(start..start.checked_add(count)?)
    }
}
