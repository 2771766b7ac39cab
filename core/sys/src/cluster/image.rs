//! The program's own segments, and whose code an address belongs to.

use std::ffi::CStr;
use std::ops::Range;

/// Bytes in a page.
const PAGE: usize = fathomp_types::PAGE_BYTES;

/// A stretch of the program's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its pages.
    pub range: Range<usize>,
    /// End of the part that came from the file; the rest began as zeros.
    pub file_end: usize,
}

/// What the loader knows about one module.
struct Module<'a> {
    base: usize,
    name: &'a [u8],
    headers: &'a [libc::Elf64_Phdr],
    /// Where the calling thread's instance of its thread-local variables begins, if it has
    /// one.
    thread_locals: Option<usize>,
}

/// Calls `visit` for every loaded module, the program itself first, until it
/// answers `false`.
fn each_module(mut visit: impl FnMut(&Module) -> bool) {
    let mut visit: &mut dyn FnMut(&Module) -> bool = &mut visit;
    // SAFETY: `forward` has the required signature and takes its last argument
    // for the `visit` passed here, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(forward), (&raw mut visit).cast()) };
}

unsafe extern "C" fn forward(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    visit: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description for the time of the call,
    // and `visit` is the exclusive pointer that `each_module` handed over.
    let (info, visit) = unsafe {
        (
            &*info,
            &mut *visit.cast::<&mut dyn FnMut(&Module) -> bool>(),
        )
    };
    let name: &[u8] = if info.dlpi_name.is_null() {
        &[]
    } else {
        // SAFETY: a non-null name is a C string owned by the loader.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    let headers: &[libc::Elf64_Phdr] = if info.dlpi_phdr.is_null() {
        &[]
    } else {
        // SAFETY: the loader guarantees `dlpi_phnum` headers at `dlpi_phdr`.
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
    };
    let module = Module {
        base: info.dlpi_addr as usize,
        name,
        headers,
        thread_locals: Some(info.dlpi_tls_data.addr()).filter(|address| *address != 0),
    };
    i32::from(!visit(&module))
}

impl Module<'_> {
    fn loads(&self) -> impl Iterator<Item = (&libc::Elf64_Phdr, Range<usize>)> {
        let loads = self.headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        loads.map(|header| {
            let start = self.base.wrapping_add(header.p_vaddr as usize);
            (header, start..start.wrapping_add(header.p_memsz as usize))
        })
    }
}

impl Module<'_> {
    /// Whether it was linked with the library `name`.
    fn needs(&self, name: &str) -> bool {
        let dynamic = self.headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC);
        dynamic.is_some_and(|header| {
            let table = self.base.wrapping_add(header.p_vaddr as usize);
            dynamic_needs(table as *const Dynamic, name.as_bytes())
        })
    }
}

/// The program's writable segments, without what the loader made read-only
/// after relocation.
#[must_use]
pub fn program_segments() -> Vec<Segment> {
    let mut segments = Vec::new();
    each_module(|program| {
        let relro = program
            .headers
            .iter()
            .find(|h| h.p_type == libc::PT_GNU_RELRO);
        // The loader protects whole pages only, rounding the end down.
        let protected = relro.map_or(0..0, |h| {
            let start = program.base.wrapping_add(h.p_vaddr as usize);
            start / PAGE * PAGE..start.wrapping_add(h.p_memsz as usize) / PAGE * PAGE
        });
        for (header, range) in program.loads() {
            if header.p_flags & libc::PF_W == 0 || range.is_empty() {
                continue;
            }
            let file_end = range.start.wrapping_add(header.p_filesz as usize);
            let mut start = range.start / PAGE * PAGE;
            if protected.contains(&start) {
                start = protected.end;
            }
            let end = range.end.next_multiple_of(PAGE);
            if start < end {
                segments.push(Segment {
                    range: start..end,
                    file_end: file_end.clamp(start, end),
                });
            }
        }
        false
    });
    segments
}

/// Executable segments of the program itself.
#[must_use]
pub fn program_text() -> Vec<Range<usize>> {
    let mut text = Vec::new();
    each_module(|program| {
        let code = program.loads().filter(|(h, _)| h.p_flags & libc::PF_X != 0);
        text.extend(code.map(|(_, range)| range));
        false
    });
    text
}

/// Where the calling thread's variables begin, of each module that has some and has
/// given it its instance of them.
#[must_use]
pub fn thread_locals() -> Vec<usize> {
    let mut found = Vec::new();
    each_module(|module| {
        found.extend(module.thread_locals);
        true
    });
    found
}

/// Whether the program asks for stacks that can be executed: gcc does for nested
/// functions whose address is taken.
#[must_use]
pub fn program_executes_stacks() -> bool {
    let mut executes = false;
    each_module(|program| {
        let stack = program
            .headers
            .iter()
            .find(|h| h.p_type == libc::PT_GNU_STACK);
        executes = stack.is_some_and(|h| h.p_flags & libc::PF_X != 0);
        false
    });
    executes
}

/// Where the modules lie whose file name begins with one of `names`, and the
/// one that contains `inside`; there is none at address 0.
#[must_use]
pub fn modules_named(names: &[&str], inside: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    each_module(|module| {
        let start = module.loads().map(|(_, range)| range.start).min();
        let end = module.loads().map(|(_, range)| range.end).max();
        if let (Some(start), Some(end)) = (start, end) {
            let file = module
                .name
                .rsplit(|byte| *byte == b'/')
                .next()
                .unwrap_or_default();
            let named = names.iter().any(|name| file.starts_with(name.as_bytes()));
            if named || (start..end).contains(&inside) {
                found.push(start..end);
            }
        }
        true
    });
    found
}

/// Where the module lies whose file is in the same directory, or one below it, as that of the
/// module that contains `inside`, beside that module itself; the first there is.
#[must_use]
pub fn module_beside(inside: usize) -> Option<Range<usize>> {
    let mut modules = Vec::new();
    each_module(|module| {
        let start = module.loads().map(|(_, range)| range.start).min();
        let end = module.loads().map(|(_, range)| range.end).max();
        if let (Some(start), Some(end)) = (start, end) {
            modules.push((module.name.to_vec(), start..end));
        }
        true
    });
    let (name, own) = modules.iter().find(|(_, range)| range.contains(&inside))?;
    let directory = &name[..=name.iter().rposition(|byte| *byte == b'/')?];
    let beside =
        |(name, range): &&(Vec<u8>, Range<usize>)| name.starts_with(directory) && range != own;
    modules.iter().find(beside).map(|(_, range)| range.clone())
}

/// Whether the program itself was linked with the library `name`.
#[must_use]
pub fn program_needs(name: &str) -> bool {
    let mut needs = false;
    each_module(|program| {
        needs = program.needs(name);
        false
    });
    needs
}

/// Whether a library that was loaded with the program was linked with the
/// library `name`.
#[must_use]
pub fn library_needs(name: &str) -> bool {
    let mut needs = false;
    let mut is_program = true;
    each_module(|module| {
        needs |= !is_program && module.needs(name);
        is_program = false;
        true
    });
    needs
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// `DT_NEEDED` and `DT_STRTAB`.
const NEEDED: i64 = 1;
const STRINGS: i64 = 5;

fn dynamic_needs(table: *const Dynamic, name: &[u8]) -> bool {
    let entries = || {
        (0..).map_while(move |index| {
            // SAFETY: the loader has walked this table, which ends with tag 0.
            let entry = unsafe { &*table.add(index) };
            (entry.tag != 0).then_some(entry)
        })
    };
    let Some(strings) = entries().find(|entry| entry.tag == STRINGS) else {
        return false;
    };
    entries().filter(|entry| entry.tag == NEEDED).any(|entry| {
        // The loader has replaced the string table's offset by its address.
        let string = strings.value.wrapping_add(entry.value) as *const libc::c_char;
        // SAFETY: the loader has read this name when it loaded the library.
        unsafe { CStr::from_ptr(string) }.to_bytes() == name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static VARIABLE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(7);

    #[test]
    fn variables_lie_in_the_programs_segments() {
        let address = VARIABLE.as_ptr() as usize;
        let segments = program_segments();
        assert!(
            segments.iter().any(|s| s.range.contains(&address)),
            "{address:#x} {segments:?}"
        );
        assert!(segments.iter().all(|s| s.range.start % PAGE == 0));
    }

    #[test]
    fn modules_are_found_by_name_and_by_address() {
        let here = modules_are_found_by_name_and_by_address as *const () as usize;
        assert!(program_text().iter().any(|range| range.contains(&here)));
        let libc = modules_named(&["libc.so"], 0);
        assert_eq!(libc.len(), 1);
        assert!(libc[0].contains(&(libc::printf as *const () as usize)));
        assert!(program_needs("libc.so.6"));
        assert!(!program_needs("libgomp.so.1"));
        assert!(library_needs("libc.so.6") || library_needs("ld-linux-x86-64.so.2"));
        assert!(!library_needs("libgomp.so.1"));
        assert!(!program_executes_stacks());
    }
}
