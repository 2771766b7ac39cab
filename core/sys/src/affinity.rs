//! Which processors a thread may run on, and where it is.

use std::io;

/// Processor numbers the kernel can have (its `NR_CPUS` limit is 8192, room
/// is left for growth). Bounds the buffer we offer it.
const MASK_LIMIT_BITS: usize = 1 << 16;

/// A set of processor numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Bit `n % 64` of word `n / 64` stands for processor `n`; the last word
    /// is not zero.
    words: Vec<u64>,
}

impl CpuSet {
    /// Adds a processor. Numbers no kernel can have are ignored.
    pub fn insert(&mut self, cpu: u32) {
        let (word, bit) = position(cpu);
        if word >= MASK_LIMIT_BITS / 64 {
            return;
        }
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    /// Whether the processor is a member.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        let (word, bit) = position(cpu);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Members in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| index as u32 * 64 + bit)
        })
    }

    fn from_words(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { words }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::default();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

const fn position(cpu: u32) -> (usize, u64) {
    (cpu as usize / 64, 1 << (cpu % 64))
}

/// The processors the calling thread may run on.
///
/// # Errors
/// The kernel does not say (no kernel we know does so).
pub fn of_this_thread() -> io::Result<CpuSet> {
    // To the kernel 0 is the calling thread.
    of_thread(0)
}

/// The processors the process's initial thread may run on.
///
/// # Errors
/// It has ended, or the kernel does not say.
pub fn of_initial_thread() -> io::Result<CpuSet> {
    // A process has its initial thread's number, which no kernel makes larger than this type.
    of_thread(std::process::id() as libc::pid_t)
}

fn of_thread(thread: libc::pid_t) -> io::Result<CpuSet> {
    // The kernel refuses a buffer smaller than its own mask, whose size it
    // does not tell: offer larger ones until it fits.
    let mut bits = 1024;
    loop {
        let mut words = vec![0_u64; bits / 64];
        // SAFETY: the buffer is `bits / 8` bytes long, as we say, and lives
        // across the call; any bit pattern is a valid `u64`.
        let status =
            unsafe { libc::sched_getaffinity(thread, bits / 8, words.as_mut_ptr().cast()) };
        if status == 0 {
            return Ok(CpuSet::from_words(words));
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || bits >= MASK_LIMIT_BITS {
            return Err(error);
        }
        bits *= 2;
    }
}

/// Calls `visit` with every processor the calling thread may run on, ascending, up
/// to number 8191. Allocates nothing. False if the kernel does not say.
pub fn visit_of_this_thread(mut visit: impl FnMut(u32)) -> bool {
    let mut words = [0_u64; 128];
    // SAFETY: the buffer is as long as we say and lives across the call; any bit
    // pattern is a valid `u64`.
    let status =
        unsafe { libc::sched_getaffinity(0, size_of_val(&words), words.as_mut_ptr().cast()) };
    for (index, word) in words.into_iter().enumerate() {
        let mut left = word;
        while left != 0 {
            visit(index as u32 * 64 + left.trailing_zeros());
            left &= left - 1;
        }
    }
    status == 0
}

/// Moves the calling thread to the processors of `set` and keeps it there.
///
/// # Errors
/// None of them is available to the program, or the kernel forbids it.
pub fn bind_this_thread(set: &CpuSet) -> io::Result<()> {
    let bytes = size_of_val(&*set.words);
    // SAFETY: the kernel reads `bytes` bytes from a live slice of that size.
    let status = unsafe { libc::sched_setaffinity(0, bytes, set.words.as_ptr().cast()) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The processor the calling thread runs on at this moment.
#[must_use]
pub fn current_cpu() -> Option<u32> {
    // SAFETY: takes no arguments and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).ok()
}

/// Number of processors the calling thread may run on, at least 1. Falls back
/// to the number online where the kernel does not say.
#[must_use]
pub fn allowed_count() -> u32 {
    match of_this_thread() {
        Ok(set) if !set.is_empty() => set.len() as u32,
        _ => std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
    }
}

/// Processors of this machine that are in use, at least 1, whether or not this thread may run
/// on them.
#[must_use]
pub fn online_count() -> u32 {
    // SAFETY: takes a number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_what_it_is_given() {
        let cpus = [0, 63, 64, 1000];
        let mut set: CpuSet = cpus.into_iter().collect();
        set.insert(u32::MAX);
        assert_eq!(set.iter().collect::<Vec<_>>(), cpus);
        assert_eq!(set.len(), 4);
        assert!(set.contains(1000) && !set.contains(1) && !set.contains(u32::MAX));
        assert!(CpuSet::default().is_empty());
    }

    #[test]
    fn a_thread_can_be_bound_and_told_so() {
        let outcome = std::thread::spawn(|| {
            let allowed = of_this_thread()?;
            let mut visited = CpuSet::default();
            assert!(visit_of_this_thread(|cpu| visited.insert(cpu)));
            assert_eq!(visited, allowed);
            let first = allowed.iter().next().unwrap_or(0);
            let one: CpuSet = [first].into_iter().collect();
            bind_this_thread(&one)?;
            assert_eq!(of_this_thread()?, one);
            assert_eq!(current_cpu(), Some(first));
            assert_eq!(allowed_count(), 1);
            assert_eq!(of_initial_thread()?, allowed);
            bind_this_thread(&allowed)
        })
        .join();
        assert!(outcome.is_ok_and(|inner| inner.is_ok()));
    }

    #[test]
    fn an_impossible_set_is_refused() {
        assert!(bind_this_thread(&CpuSet::default()).is_err());
        let nowhere: CpuSet = [(MASK_LIMIT_BITS - 1) as u32].into_iter().collect();
        assert!(bind_this_thread(&nowhere).is_err());
    }
}
