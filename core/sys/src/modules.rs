//! Which file a code address was mapped from.

use crate::safe_read::Part;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An address as its module's own ELF virtual address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file.
    pub module: PathBuf,
    /// The address without the load bias.
    pub address: u64,
}

/// What the search wants and what it found.
struct Search {
    wanted: u64,
    /// `PF_*` bits that the segment must have.
    flags: u32,
    found: Option<(Vec<u8>, u64)>,
}

/// Finds the loaded module that contains `address`. `None` for code that came
/// from no file (generated at run time) and for 0.
///
/// Takes the dynamic loader's lock and allocates: not for event paths.
#[must_use]
pub fn locate(address: usize) -> Option<Located> {
    if address == 0 {
        return None;
    }
    let (name, address) = search(address, 0)?;
    let module = if name.is_empty() {
        // The program itself has no name for the loader.
        std::env::current_exe().unwrap_or_default()
    } else {
        PathBuf::from(OsStr::from_bytes(&name))
    };
    Some(Located { module, address })
}

/// A module as it is loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// How far above the addresses in its file it lies.
    pub bias: u64,
    /// Its build-id; empty if it has none.
    pub build_id: Vec<u8>,
    /// What of it can be read.
    pub parts: Vec<Part>,
    /// Whether it has variables of which each thread has its own.
    pub thread_data: bool,
}

impl Loaded {
    /// The part that holds an address, and where in it.
    #[must_use]
    pub fn part_of(&self, address: u64) -> Option<(Part, u64)> {
        let found = |part: &Part| part.offset_of(address).map(|offset| (*part, offset));
        self.parts.iter().find_map(found)
    }
}

/// All about the loaded module that contains `address`. As slow as [`locate`].
#[must_use]
pub fn loaded(address: usize) -> Option<Loaded> {
    let located = locate(address)?;
    let mut describe = Describe {
        bias: (address as u64).wrapping_sub(located.address),
        build_id: Vec::new(),
        parts: Vec::new(),
        thread_data: false,
    };
    // SAFETY: `describe_one` has the required signature and treats its last argument as the
    // `Describe` passed here, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(describe_one), (&raw mut describe).cast()) };
    Some(Loaded {
        path: located.module,
        bias: describe.bias,
        build_id: describe.build_id,
        parts: describe.parts,
        thread_data: describe.thread_data,
    })
}

/// All loaded modules that come from files, the program itself first. As slow as [`locate`].
#[must_use]
pub fn all() -> Vec<Loaded> {
    let mut addresses: Vec<usize> = Vec::new();
    // SAFETY: `note_address` has the required signature and treats its last argument as the
    // vector passed here, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note_address), (&raw mut addresses).cast()) };
    let all = addresses.into_iter().filter_map(loaded);
    // What the kernel brings has no file.
    all.filter(|module| !module.path.starts_with("linux-vdso.so.1"))
        .collect()
}

/// Notes an address inside of each module.
unsafe extern "C" fn note_address(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    addresses: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description for the time of the call, and `addresses` is
    // the exclusive pointer that the caller handed over.
    let (info, addresses) = unsafe { (&*info, &mut *addresses.cast::<Vec<usize>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader guarantees `dlpi_phnum` headers at `dlpi_phdr`.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let load = headers.iter().find(|header| header.p_type == libc::PT_LOAD);
    addresses.extend(load.map(|load| info.dlpi_addr.wrapping_add(load.p_vaddr) as usize));
    0
}

struct Describe {
    bias: u64,
    build_id: Vec<u8>,
    parts: Vec<Part>,
    thread_data: bool,
}

unsafe extern "C" fn describe_one(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    describe: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description for the time of the call,
    // and `describe` is the exclusive pointer that the caller handed over.
    let (info, describe) = unsafe { (&*info, &mut *describe.cast::<Describe>()) };
    if info.dlpi_phdr.is_null() || info.dlpi_addr != describe.bias {
        return 0;
    }
    // SAFETY: the loader guarantees `dlpi_phnum` headers at `dlpi_phdr`.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    };
    let readable = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0
    };
    describe.parts = headers
        .iter()
        .filter(readable)
        .map(|header| Part::new(range(header)))
        .collect();
    describe.thread_data = headers
        .iter()
        .any(|header| header.p_type == libc::PT_TLS && header.p_memsz > 0);
    for header in headers
        .iter()
        .filter(|header| header.p_type == libc::PT_NOTE)
    {
        let notes = range(header);
        let mapped = headers.iter().filter(readable).any(|load| {
            let load = range(load);
            load.start <= notes.start && notes.end <= load.end
        });
        if !mapped || notes.is_empty() {
            continue;
        }
        let bytes = (notes.end - notes.start) as usize;
        // SAFETY: inside a segment that is mapped for reading; notes are not written to.
        let notes = unsafe { std::slice::from_raw_parts(notes.start as *const u8, bytes) };
        if let Some(id) = build_id(notes, header.p_align) {
            describe.build_id = id.to_vec();
            break;
        }
    }
    1
}

/// The build-id among notes.
fn build_id(mut notes: &[u8], align: u64) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let align = if align == 8 { 8 } else { 4 };
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let number = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            u32::from_le_bytes(bytes)
        };
        let (name, id, kind) = (number(0) as usize, number(4) as usize, number(8));
        let padded = |bytes: usize| bytes.checked_next_multiple_of(align);
        // Alignment counts from the note's begin.
        let description = padded(name.checked_add(12)?)? - 12;
        if kind == BUILD_ID && rest.get(..name)? == b"GNU\0" {
            return rest.get(description..description.checked_add(id)?);
        }
        notes = rest.get(padded(description.checked_add(id)?.checked_add(12)?)? - 12..)?;
    }
    None
}

/// Counts how often modules were unloaded, as far as [`unloading`] was told: what
/// was known of addresses before may be wrong in a later generation.
#[inline]
#[must_use]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Modules that had been unloaded when that was looked at last.
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// A module may have been unloaded: begins a new generation if one was.
pub fn unloading() {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        unloaded: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description for the time of the
        // call, and `unloaded` is the exclusive pointer handed over below.
        unsafe { *unloaded.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut unloaded = 0_u64;
    // SAFETY: `first` has the required signature and ends the walk at once.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut unloaded).cast()) };
    if UNLOADED.swap(unloaded, Ordering::AcqRel) != unloaded {
        GENERATION.fetch_add(1, Ordering::AcqRel);
    }
}

/// Whether `address` lies in executable code that was mapped from a file. As
/// slow as [`locate`].
#[must_use]
pub fn is_code(address: usize) -> bool {
    search(address, libc::PF_X).is_some()
}

/// The module with a segment at `address` that has all of `flags`: its name
/// and the address without the load bias.
fn search(address: usize, flags: u32) -> Option<(Vec<u8>, u64)> {
    let mut search = Search {
        wanted: address as u64,
        flags,
        found: None,
    };
    // SAFETY: `visit` has the required signature and treats its last argument
    // as the `Search` passed here, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// How far above the addresses in its file the running program is mapped.
#[must_use]
pub fn program_bias() -> usize {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        bias: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description for the time of the
        // call, and `bias` is the exclusive pointer handed over below.
        unsafe { *bias.cast::<libc::Elf64_Addr>() = (*info).dlpi_addr };
        1
    }
    let mut bias: libc::Elf64_Addr = 0;
    // SAFETY: `first` has the required signature; the loader shows the program
    // before its libraries, and `first` ends the walk there.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut bias).cast()) };
    usize::try_from(bias).unwrap_or_default()
}

/// Called for each loaded module; a non-zero result ends the search.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    search: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description for the time of the call,
    // and `search` is the exclusive pointer that the caller handed over.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader guarantees `dlpi_phnum` headers at `dlpi_phdr`.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let inside = headers.iter().any(|header| {
        header.p_type == libc::PT_LOAD
            && header.p_flags & search.flags == search.flags
            && search
                .wanted
                .wrapping_sub(info.dlpi_addr.wrapping_add(header.p_vaddr))
                < header.p_memsz
    });
    if !inside {
        return 0;
    }
    let name = if info.dlpi_name.is_null() {
        Vec::new()
    } else {
        // SAFETY: a non-null name is a C string owned by the loader, valid for
        // the time of the call.
        unsafe { CStr::from_ptr(info.dlpi_name) }
            .to_bytes()
            .to_vec()
    };
    search.found = Some((name, search.wanted.wrapping_sub(info.dlpi_addr)));
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_code_is_found_in_this_program() {
        let here = our_own_code_is_found_in_this_program as *const () as usize;
        let located = locate(here).unwrap();
        assert_eq!(located.module, std::env::current_exe().unwrap());
        assert!(located.address > 0 && located.address <= here as u64);
    }

    #[test]
    fn the_program_is_mapped_where_the_bias_says() {
        let here = program_bias as *const () as usize;
        let located = locate(here).unwrap();
        assert_eq!(located.address, (here - program_bias()) as u64);
    }

    #[test]
    fn a_module_is_described_as_it_is_loaded() {
        static DATA: u64 = 7;
        let loaded = loaded(program_bias as *const () as usize).unwrap();
        assert_eq!(loaded.path, std::env::current_exe().unwrap());
        assert_eq!(loaded.bias, program_bias() as u64);
        let at = std::ptr::from_ref(&DATA).addr() as u64;
        let (part, offset) = loaded.part_of(at).unwrap();
        assert_eq!(part.offset_of(at), Some(offset));
        assert!(loaded.part_of(0).is_none());
    }

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        let mut note = |name: &[u8], bytes: &[u8], kind: u32| {
            notes.extend((name.len() as u32).to_le_bytes());
            notes.extend((bytes.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            for part in [name, bytes] {
                notes.extend(part);
                notes.resize(notes.len().next_multiple_of(4), 0);
            }
        };
        note(b"GNU\0", &[1; 16], 1);
        note(b"other\0", &[2; 5], 3);
        note(b"GNU\0", &[9, 8, 7, 6, 5], 3);
        assert_eq!(build_id(&notes, 4), Some(&[9, 8, 7, 6, 5][..]));
        for cut in 0..notes.len() {
            let found = build_id(&notes[..cut], 4);
            assert!(found.is_none() || cut >= notes.len() - 3);
        }
        notes[0..8].fill(0xff);
        assert_eq!(build_id(&notes, 4), None);
    }

    #[test]
    fn data_is_no_code() {
        static DATA: u64 = 7;
        assert!(is_code(data_is_no_code as *const () as usize));
        assert!(!is_code(std::ptr::from_ref(&DATA).addr()));
        assert!(!is_code(0));
    }

    #[test]
    fn addresses_outside_all_modules_are_not_found() {
        assert_eq!(locate(0), None);
        assert_eq!(locate(8), None);
    }
}
