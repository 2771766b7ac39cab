//! Computing that takes longer, or sleep, in functions of libraries: what was seen when
//! threads were looked at, and what is known of such functions.

use crate::cause::{Basis, Cause, Kind};
use crate::region::Seen;
use fathomp_analysis::samples::{RegionSamples, Spot};
use fathomp_types::text;
use fathomp_types::units::{count, percent};

/// Looks below this number tell nothing.
const FEW: u64 = 20;
/// A function explains growth if it takes this part of a region's time at least,
const PART: f64 = 0.2;
/// and if the time in it can hold this part of the growth.
const HELD: f64 = 0.5;
/// A function of which nothing is known does only if this part of the growth must be in it,
/// even if the region did nothing else with fewer threads.
const CERTAIN: f64 = 0.3;
/// Functions and places that are named.
const NAMES: usize = 2;

/// Functions that hinder each other on several threads in one way.
struct Family {
    /// Names, with `|` between them; one that ends with `*` is the beginning of names.
    names: &'static str,
    kind: Kind,
    /// What they do: goes on behind the name.
    why: &'static str,
    mend: &'static str,
}

const FAMILIES: &[Family] = &[
    Family {
        names: "rand|random|srand|srandom",
        kind: Kind::Library,
        why: "has one state and one lock for all threads",
        mend: "use a generator for each thread (rand_r, erand48, or <random> in C++)",
    },
    Family {
        names: "drand48|lrand48|mrand48|srand48",
        kind: Kind::Library,
        why: "changes one state that all threads share",
        mend: "use a state for each thread (erand48, nrand48, jrand48, or <random> in C++)",
    },
    Family {
        names: "_gfortran_random_*|_gfortran_rand*|_gfortran_irand*|_gfortran_caf_*",
        kind: Kind::Library,
        why: "takes a lock or changes a state that all threads share",
        mend: "use a generator of each thread's own, or draw many numbers at a time (random_number of an array)",
    },
    Family {
        names: "malloc|calloc|realloc|free|operator new*|operator delete*|posix_memalign|\
            aligned_alloc|memalign|strdup",
        kind: Kind::Library,
        why: "manages a heap that threads share",
        mend: "allocate outside of the loop and use the memory again, let the thread that allocated a block free it, or link an allocator made for threads (jemalloc, tcmalloc, mimalloc)",
    },
    Family {
        names: "mmap*|munmap|mremap|brk|sbrk|madvise|mprotect",
        kind: Kind::Library,
        why: "changes the address space, which one thread does at a time",
        mend: "map memory once, outside of the loop, and use it again",
    },
    Family {
        names: "std::locale*|std::use_facet*|std::has_facet*|std::ios_base*|std::basic_ios*|\
            std::__cxx11::basic_stringstream*|std::__cxx11::basic_ostringstream*|\
            std::__cxx11::basic_istringstream*|std::__cxx11::regex*|std::__1::locale*|\
            std::__1::ios_base*|std::__1::use_facet*|setlocale|newlocale|std::__use_cache*",
        kind: Kind::Library,
        why: "counts references to the one locale of all threads",
        mend: "construct streams, formatters and regular expressions once for each thread, outside of the loop, or convert numbers without a locale (std::to_chars, std::from_chars)",
    },
    Family {
        names: "printf|fprintf|vprintf|vfprintf|puts|putchar|putc|fputs|fputc|fwrite|fflush|\
            perror|__printf_chk|__fprintf_chk|__vfprintf_chk|_IO_putc|std::ostream*|\
            std::basic_ostream*|std::__ostream_insert*|std::operator<<*|std::basic_filebuf*|\
            std::__1::basic_ostream*|std::operator<< *",
        kind: Kind::Library,
        why: "writes to one stream, whose lock or buffer all threads share",
        mend: "let each thread write to a buffer of its own (snprintf, a string) and output buffers whole, or after the loop",
    },
    Family {
        names: "getc|fgetc|fgets|fread|scanf|fscanf|__isoc99_fscanf|__isoc23_fscanf|getline|\
            getchar|std::istream*|std::basic_istream*|std::getline*",
        kind: Kind::Library,
        why: "reads from one stream, whose lock all threads share",
        mend: "read the input in large pieces before the loop, and let threads take it from memory",
    },
    Family {
        names: "_gfortran_st_*|_gfortran_transfer_*|_gfortran_flush*",
        kind: Kind::Library,
        why: "takes the lock of a unit or of all units, also to write into a variable",
        mend: "let each thread collect what it writes in arrays of its own, and write after the loop",
    },
    Family {
        names: "localtime|localtime_r|gmtime|gmtime_r|mktime|timelocal|timegm|ctime|ctime_r|\
            strftime*|tzset",
        kind: Kind::Library,
        why: "takes the lock of the time zone (localtime_r and gmtime_r take it as well)",
        mend: "convert times outside of the loop, or compute dates from seconds without the C library",
    },
    Family {
        names: "getenv|secure_getenv|setenv|putenv|unsetenv",
        kind: Kind::Library,
        why: "searches the environment, which all threads share",
        mend: "read the environment once, before the region",
    },
    Family {
        names: "__cxa_throw|__cxa_rethrow|__cxa_allocate_exception|_Unwind_*|dl_iterate_phdr|\
            __gxx_personality_v0|__cxa_begin_catch|__cxa_end_catch",
        kind: Kind::Library,
        why: "unwinds the stack, for which it searches loaded modules behind locks",
        mend: "return errors from the loop as values in place of exceptions",
    },
    Family {
        names: "dlopen|dlsym|dlclose|dladdr",
        kind: Kind::Library,
        why: "takes the loader's lock",
        mend: "look symbols up once, before the region",
    },
    Family {
        names: "__atomic_*|libat_*",
        kind: Kind::Library,
        why: "takes locks for what has no atomic instruction",
        mend: "use atomics of at most 8 bytes, or a reduction",
    },
    Family {
        names: "pthread_mutex_*|pthread_rwlock_*|pthread_spin_*|sem_*|mtx_*|lll_lock_*|\
            std::mutex*|pthread_cond_*",
        kind: Kind::Lock,
        why: "takes a lock that threads share",
        mend: "lock less often or for less work: one lock for each part of the data, atomic updates, or a result of each thread's own that is combined at the end",
    },
    Family {
        names: "memcpy|memmove|memset|memcmp|__memcpy_chk|__memmove_*|__memset_*",
        kind: Kind::Bandwidth,
        why: "moves memory",
        mend: "move less memory (blocking, fewer copies, first touch by the thread that computes)",
    },
];

/// What slept or waited in the kernel does, for what is only blocked.
const SLEEPS: [&str; 7] = [
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "poll",
    "select",
    "epoll_wait",
];

impl Family {
    fn has(&self, name: &str) -> bool {
        self.names
            .split('|')
            .any(|known| match known.strip_suffix('*') {
                Some(begin) => name.starts_with(begin),
                None => known == name,
            })
    }

    /// What a place belongs to: what is called there first, or what that calls.
    fn of(spot: &Spot) -> Option<usize> {
        let mut names = spot.function.iter().chain(&spot.within);
        names.find_map(|name| FAMILIES.iter().position(|family| family.has(bare(name))))
    }
}

/// A name without its parameters and version, and as programs know it where the C library
/// has others for itself (`__GI___libc_malloc`).
fn bare(name: &str) -> &str {
    let end = name.find(['(', '@']).filter(|at| *at > 0);
    let name = &name[..end.unwrap_or(name.len())];
    let known = |name: &str| FAMILIES.iter().any(|family| family.has(name));
    let inner = name
        .strip_prefix("__GI_")
        .unwrap_or(name)
        .trim_start_matches('_');
    let inner = inner.strip_prefix("libc_").unwrap_or(inner);
    let inner = inner.strip_suffix("_usercnt").unwrap_or(inner);
    match known(inner) && !known(name) {
        true => inner,
        false => name,
    }
}

/// Places that hinder each other in one way.
struct Group<'a> {
    spots: Vec<&'a Spot>,
    family: Option<&'static Family>,
}

impl<'a> Group<'a> {
    /// Those with most looks first.
    fn all(of: &'a RegionSamples) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for spot in &of.outside {
            let family = Family::of(spot).map(|index| &FAMILIES[index]);
            let alike = |group: &&mut Self| match (family, group.family) {
                (Some(family), Some(known)) => std::ptr::eq(family, known),
                (None, None) => group.spots[0].function == spot.function,
                _ => false,
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.spots.push(spot),
                None => groups.push(Self {
                    family,
                    spots: vec![spot],
                }),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.sum(|spot| spot.times)));
        groups
    }

    fn sum(&self, of: impl Fn(&Spot) -> u64) -> u64 {
        self.spots.iter().map(|spot| of(spot)).sum()
    }

    /// "rand" or "operator new and operator delete".
    fn names(&self) -> String {
        listed(self.spots.iter().map(|spot| spot_name(spot)))
    }

    /// "solver.c:12 and solver.c:20".
    fn places(&self) -> String {
        listed(self.spots.iter().map(|spot| spot.called_at.clone()))
    }
}

fn spot_name(spot: &Spot) -> String {
    match &spot.function {
        Some(name) => text::shorten(bare(name), 60),
        None if spot.library.is_empty() => "a library".to_owned(),
        None => format!("a function of {}", spot.library),
    }
}

fn listed(all: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) && names.len() < NAMES {
            names.push(name);
        }
    }
    text::list(&names)
}

/// What was seen of a region, if it is enough.
fn seen_of<'a>(seen: &Seen<'a>) -> Option<&'a RegionSamples> {
    let samples = seen.input.samples?.of(&seen.region.key)?;
    (samples.all() >= FEW).then_some(samples)
}

/// What part of the looks was in code of the region's own module; none if nobody looked.
pub(crate) fn own(seen: &Seen<'_>) -> Option<f64> {
    let samples = seen_of(seen)?;
    Some(samples.own as f64 / samples.all() as f64)
}

/// Time that grew with more threads: how much of it there is in all, how much with fewest
/// threads, and what the growth costs each thread.
pub(crate) struct Grown {
    pub(crate) many_ns: f64,
    pub(crate) few_ns: f64,
    pub(crate) cost: f64,
}

/// The functions in which time grew, which `words` say, if they are in libraries.
pub(crate) fn find(seen: &Seen<'_>, grown: &Grown, words: &str) -> Option<Cause> {
    let samples = seen_of(seen)?;
    let all = samples.all() as f64;
    let growth = grown.many_ns - grown.few_ns;
    let group = Group::all(samples).into_iter().find(|group| {
        let part = group.sum(|spot| spot.times) as f64 / all;
        let there = part * grown.many_ns;
        let known = group
            .family
            .is_some_and(|family| family.kind != Kind::Bandwidth);
        let asleep = group.sum(|spot| spot.asleep) as f64 >= 0.3 * part * all;
        part >= PART
            && if known || asleep {
                there >= HELD * growth
            } else {
                there - grown.few_ns >= CERTAIN * growth
            }
    })?;
    let times = group.sum(|spot| spot.times);
    let asleep = group.sum(|spot| spot.asleep);
    let (names, places) = (group.names(), group.places());
    let place = seen.place();
    let first = group.spots.first()?;
    let family = group.family;
    let kind = family.map_or(Kind::Library, |family| family.kind);
    let inner = || {
        let mut within = first.within.iter().map(|name| bare(name));
        within.find(|name| family.is_some_and(|family| family.has(name)))
    };
    let directly = first
        .function
        .as_deref()
        .is_some_and(|name| family.is_some_and(|family| family.has(bare(name))));
    let through = match inner().filter(|_| !directly) {
        Some(inner) => format!(" and {inner} in it"),
        None => String::new(),
    };
    let subject = match family {
        Some(_) if directly => spot_name(first),
        Some(_) => inner().map_or_else(|| names.clone(), str::to_owned),
        None => names.clone(),
    };
    let why = match family {
        Some(family) => family.why,
        None if asleep > 0 => "waits for a lock",
        None => "may take a lock, write what threads share, or move much memory",
    };
    let of = match first.library.as_str() {
        "" => String::new(),
        library => format!(" ({library})"),
    };
    let sleep = match asleep {
        0 => String::new(),
        _ => format!(
            ", asleep until a lock was free in {}",
            percent(asleep as f64 / times as f64)
        ),
    };
    let evidence = format!(
        "threads were in {names}{through}{of}, called at {places}, in {} of {} looks{sleep}; {}",
        count(times),
        count(samples.all()),
        words
    );
    let mend = family.map_or(
        "call it less often, give each thread data of its own, or ask its documentation how threads are to use it",
        |family| family.mend,
    );
    let title = match (kind, directly, family) {
        (Kind::Bandwidth, ..) => format!("memory bandwidth in {names}"),
        (Kind::Lock, true, _) => format!("a lock of the program's own ({names})"),
        (_, _, None) if asleep == 0 => {
            format!("a lock, shared data or memory bandwidth in {names}")
        }
        (_, _, None) | (Kind::Lock, false, _) => format!("a lock in {names}"),
        _ => format!("a lock or shared data in {names}"),
    };
    // Looks are counted, but what a function that does nothing of the kind costs is told from
    // times alone.
    let basis = match family.is_some() || asleep > 0 {
        true => Basis::Counts,
        false => Basis::Times,
    };
    let mut cause = seen.cause(
        kind,
        basis,
        grown.cost,
        evidence,
        format!("In {place}, {mend}: {subject} {why}."),
    );
    cause.title = title;
    Some(cause)
}

/// Where threads of a region slept, as a part of a sentence.
pub(crate) fn asleep_in(seen: &Seen<'_>) -> Option<String> {
    let samples = seen_of(seen)?;
    let waits = |spot: &&Spot| spot.asleep + spot.in_kernel;
    let most = samples.outside.iter().max_by_key(waits)?;
    let all: u64 = samples.outside.iter().map(|spot| waits(&spot)).sum();
    if waits(&most) * 2 < all || waits(&most) == 0 {
        return None;
    }
    let what = match bare(most.function.as_deref().unwrap_or("")) {
        name if SLEEPS.contains(&name) => " (sleep)",
        _ if most.asleep > most.in_kernel => " (a lock, or a signal of another thread)",
        _ => "",
    };
    Some(format!(
        "mostly in {}{what}, called at {}",
        spot_name(most),
        most.called_at
    ))
}
