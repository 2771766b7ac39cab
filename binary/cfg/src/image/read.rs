//! From a file's bytes to an image.

use super::imports::Tables;
use super::{Image, ImageError, ReadError, Section};
use crate::functions::functions;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbolTable, SectionFlags, elf};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

type Elf<'data> = ElfFile64<'data, Endianness, &'data [u8]>;

/// Most sections that are looked at.
const SECTIONS_MAX: usize = 1 << 16;

impl Image {
    /// Reads a program or library.
    ///
    /// # Errors
    /// See [`ImageError`].
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let image = contents(path).and_then(Self::parse);
        image.map_err(|error| ReadError {
            path: path.to_owned(),
            error,
        })
    }

    /// The image that a file with these bytes holds.
    ///
    /// # Errors
    /// See [`ImageError`].
    pub fn parse(data: impl Into<Arc<[u8]>>) -> Result<Self, ImageError> {
        let data: Arc<[u8]> = data.into();
        check_header(&data)?;
        let file = Elf::parse(&data[..])?;
        let sections = sections(&file);
        if sections.is_empty() {
            return Err(without_sections(&data, &file));
        }
        if !sections.iter().any(|s| s.execute && !s.data.is_empty()) {
            return Err(ImageError::NoCode);
        }
        if let Some(packer) = packer(&sections, &data, &file) {
            return Err(ImageError::Packed(packer));
        }
        let relocated = segments(&file, elf::PT_GNU_RELRO);
        let tables = Tables::of(&file, &sections, &data);
        let header = file.elf_header();
        let mut image = Self {
            data: data.clone(),
            sections,
            functions: vec![],
            slots: tables.slots,
            stubs: tables.stubs,
            relocated,
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
            entry: file.entry(),
            stripped: file
                .symbol_table()
                .is_none_or(|t| t.symbols().next().is_none()),
            position_independent: header.e_type(file.endian()) == elf::ET_DYN,
        };
        for found in functions(&file) {
            image.add_function(&found);
        }
        Ok(image)
    }
}

fn contents(path: &Path) -> Result<Vec<u8>, ImageError> {
    let file = File::open(path).map_err(ImageError::Read)?;
    let about = file.metadata().map_err(ImageError::Read)?;
    if !about.is_file() || about.len() > ImageError::BYTES_MAX {
        return Err(ImageError::Size);
    }
    let mut data = Vec::with_capacity(about.len() as usize);
    let mut limited = file.take(ImageError::BYTES_MAX);
    limited.read_to_end(&mut data).map_err(ImageError::Read)?;
    Ok(data)
}

/// Names what is no program before the tables are looked at.
fn check_header(data: &[u8]) -> Result<(), ImageError> {
    if !data.starts_with(&elf::ELFMAG) {
        return Err(ImageError::NotElf);
    }
    // Class, order of bytes, then type and machine behind the 16 bytes of identification.
    let at = |offset: usize| data.get(offset).copied().unwrap_or_default();
    let half = |offset| u16::from_le_bytes([at(offset), at(offset + 1)]);
    if data.len() >= 20 && (at(4) != 2 || at(5) != 1 || half(18) != elf::EM_X86_64.0) {
        return Err(ImageError::Architecture);
    }
    match elf::FileType(half(16)) {
        elf::ET_REL => Err(ImageError::Kind("an object file")),
        elf::ET_CORE => Err(ImageError::Kind("a core dump")),
        _ => Ok(()),
    }
}

/// Those that are in memory at run time, by address.
fn sections(file: &Elf<'_>) -> Vec<Section> {
    let mut found = vec![];
    for section in file.sections().take(SECTIONS_MAX) {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            continue;
        };
        if !sh_flags.contains(elf::SHF_ALLOC) {
            continue;
        }
        let range = section.address()..section.address().saturating_add(section.size());
        let bytes = section.file_range().unwrap_or((0, 0));
        let data = bytes.0 as usize..bytes.0.saturating_add(bytes.1) as usize;
        let inside = data.end <= file.data().len();
        found.push(Section {
            range,
            data: if inside { data } else { 0..0 },
            write: sh_flags.contains(elf::SHF_WRITE),
            execute: sh_flags.contains(elf::SHF_EXECINSTR),
            thread: sh_flags.contains(elf::SHF_TLS),
            name: section.name().unwrap_or_default().to_owned(),
        });
    }
    found.sort_by_key(|section| (section.range.start, section.range.end));
    found
}

/// Addresses of all segments of a kind.
fn segments(file: &Elf<'_>, kind: elf::ProgramType) -> Vec<Range<u64>> {
    let endian = file.endian();
    let headers = file.elf_program_headers().iter();
    headers
        .filter(|header| header.p_type(endian) == kind)
        .map(|header| {
            let start = header.p_vaddr(endian);
            start..start.saturating_add(header.p_memsz(endian))
        })
        .collect()
}

/// Programs that unpack themselves have code that they can write, or say by whom they are packed.
fn packed(data: &[u8], file: &Elf<'_>) -> Option<&'static str> {
    let begin = &data[..data.len().min(1024)];
    if begin.windows(4).any(|bytes| bytes == b"UPX!") {
        return Some(" by UPX");
    }
    let endian = file.endian();
    let all = elf::PF_R | elf::PF_W | elf::PF_X;
    let mut headers = file.elf_program_headers().iter();
    headers
        .any(|h| h.p_type(endian) == elf::PT_LOAD && h.p_flags(endian).contains(all))
        .then_some("")
}

fn without_sections(data: &[u8], file: &Elf<'_>) -> ImageError {
    packed(data, file).map_or(ImageError::NoSections, ImageError::Packed)
}

/// Who packed a program that still has sections: they hold hardly anything of it.
fn packer(sections: &[Section], data: &[u8], file: &Elf<'_>) -> Option<&'static str> {
    let held: usize = sections.iter().map(|s| s.data.len()).sum();
    packed(data, file).filter(|_| held < data.len() / 4)
}
