//! Sizes of elements.

use super::Walker;
use crate::ast::Declaration;

/// Bytes of types by their names, as on x86-64 Linux.
const SIZES: &[(&str, u32)] = &[
    ("char", 1),
    ("signed char", 1),
    ("unsigned char", 1),
    ("bool", 1),
    ("_Bool", 1),
    ("short", 2),
    ("short int", 2),
    ("unsigned short", 2),
    ("unsigned short int", 2),
    ("int", 4),
    ("signed int", 4),
    ("signed", 4),
    ("unsigned", 4),
    ("unsigned int", 4),
    ("long", 8),
    ("long int", 8),
    ("unsigned long", 8),
    ("unsigned long int", 8),
    ("long long", 8),
    ("long long int", 8),
    ("unsigned long long", 8),
    ("unsigned long long int", 8),
    ("float", 4),
    ("double", 8),
    ("long double", 16),
    ("double complex", 16),
    ("double _Complex", 16),
    ("complex double", 16),
    ("float complex", 8),
    ("std::complex<double>", 16),
    ("std::complex<float>", 8),
    ("size_t", 8),
    ("std::size_t", 8),
    ("ssize_t", 8),
    ("ptrdiff_t", 8),
    ("intptr_t", 8),
    ("uintptr_t", 8),
    ("int8_t", 1),
    ("uint8_t", 1),
    ("int16_t", 2),
    ("uint16_t", 2),
    ("int32_t", 4),
    ("uint32_t", 4),
    ("int64_t", 8),
    ("uint64_t", 8),
    ("uint", 4),
    ("__half", 2),
    ("enum", 4),
    ("std::int32_t", 4),
    ("std::int64_t", 8),
    ("std::uint64_t", 8),
    ("std::uint32_t", 4),
];

/// The same in Fortran.
const FORTRAN_SIZES: &[(&str, u32)] = &[
    ("double precision", 8),
    ("integer", 4),
    ("real", 4),
    ("logical", 4),
    ("complex", 8),
    ("character", 1),
    ("byte", 1),
    ("doubleprecision", 8),
    ("doublecomplex", 16),
];

/// Containers whose elements lie behind one another.
const CONTAINERS: [&str; 8] = [
    "std::vector<",
    "vector<",
    "std::array<",
    "array<",
    "std::span<",
    "std::valarray<",
    "std::unique_ptr<",
    "thrust::device_vector<",
];

/// Names of types for one another that are followed.
const FOLLOWED_MAX: u32 = 16;

impl Walker<'_> {
    /// Bytes of what `subscripts` lead to from a variable.
    pub(super) fn element_bytes(&self, variable: &Declaration, subscripts: usize) -> Option<u32> {
        let (bytes, dimensions, pointers) = self.resolve(variable);
        let levels = dimensions.len() + pointers as usize;
        if pointers > 0 && subscripts < levels {
            const POINTER: u32 = 8;
            return Some(POINTER);
        }
        bytes
    }

    /// Bytes of an element, dimensions and pointers of a variable, names of types followed.
    pub(super) fn resolve(&self, variable: &Declaration) -> (Option<u32>, Vec<String>, u32) {
        let mut dimensions = variable.dimensions.clone();
        let mut pointers = variable.pointers;
        let mut ty = variable.ty.clone();
        for _ in 0..FOLLOWED_MAX {
            let plain = plain(&ty).to_owned();
            let sizes = if self.fortran { FORTRAN_SIZES } else { SIZES };
            if let Some((_, bytes)) = sizes.iter().find(|(name, _)| *name == plain) {
                return (Some(*bytes), dimensions, pointers);
            }
            if self.fortran {
                return (self.fortran_bytes(&plain), dimensions, pointers);
            }
            if let Some(inner) = CONTAINERS.iter().find_map(|one| plain.strip_prefix(one)) {
                ty = first_argument(inner).to_owned();
                continue;
            }
            if let Some(inner) = plain.strip_suffix('*') {
                pointers += 1;
                ty = inner.to_owned();
                continue;
            }
            let named = self.types.get(plain.as_str());
            if let Some(Some(named)) = named {
                dimensions.extend(named.dimensions.iter().cloned());
                pointers += named.pointers;
                ty.clone_from(&named.ty);
                continue;
            }
            match self.prepared.macros.get(&plain) {
                Some(found) if found.parameters.is_none() => ty.clone_from(&found.body),
                _ => break,
            }
        }
        (None, dimensions, pointers)
    }

    /// Bytes of a type with a kind: `real(8)`, `real*8`, `integer(kind=4)`.
    fn fortran_bytes(&self, ty: &str) -> Option<u32> {
        let at = ty.find(['(', '*'])?;
        let (name, rest) = ty.split_at(at);
        let name = name.trim();
        let starred = rest.starts_with('*');
        let kind = rest
            .trim_matches(|c: char| matches!(c, '(' | ')' | '*') || c.is_whitespace())
            .trim_start_matches("kind")
            .trim_start_matches([' ', '=']);
        let value = match kind {
            "dp" | "r8" | "real64" | "c_double" | "int64" => 8,
            "sp" | "r4" | "real32" | "c_float" | "c_int" | "int32" => 4,
            _ => match kind.parse() {
                Ok(value) => value,
                Err(_) => u32::try_from(self.constant(kind)?).ok()?,
            },
        };
        match name {
            "real" | "integer" | "logical" if value <= 16 => Some(value),
            "complex" if starred => Some(value),
            "complex" if value <= 16 => Some(2 * value),
            "character" => Some(1),
            _ => None,
        }
    }
}

/// A type without what changes nothing of its size.
fn plain(ty: &str) -> &str {
    let mut ty = ty.trim();
    loop {
        let before = ty;
        for word in [
            "const ",
            "volatile ",
            "static ",
            "struct ",
            "union ",
            "register ",
            "typename ",
        ] {
            ty = ty.strip_prefix(word).unwrap_or(ty).trim();
        }
        for word in [" const", "&"] {
            ty = ty.strip_suffix(word).unwrap_or(ty).trim();
        }
        if ty == before {
            return ty;
        }
    }
}

/// The first argument of a template, given what stands behind `<`.
fn first_argument(text: &str) -> &str {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' if depth > 0 => depth -= 1,
            '>' | ',' if depth == 0 => return text[..at].trim(),
            _ => {}
        }
    }
    text.trim()
}
