//! What a variable consists of: scalars in arrays in structures.

use std::ops::Range;

/// Arrays and structures inside each other beyond this are no real program's.
const DEPTH_MAX: usize = 16;

/// Number of a type in [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeId(pub(super) usize);

/// A dimension of an array, the one that varies slowest in memory first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    /// Index of the first element.
    pub(super) lower: i64,
    /// Elements, if that is known.
    pub(super) count: Option<u64>,
}

/// A type as memory sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// So many bytes that are accessed at once; 0 if that is not known.
    Scalar(u64),
    /// Elements one behind the other.
    Array {
        element: TypeId,
        dimensions: Vec<Dimension>,
        /// Indices as Fortran writes them: `a(3,1)`, the fastest first.
        fortran: bool,
    },
    /// Members with their offsets.
    Structure {
        bytes: u64,
        members: Vec<(Option<String>, u64, TypeId)>,
        /// What it has elements of in a block of their own, if it is a container.
        elements: Option<TypeId>,
    },
    /// The address of something.
    Pointer(Option<TypeId>),
}

/// All types of a module.
#[derive(Debug, Default)]
pub(super) struct Types(pub(super) Vec<Shape>);

impl Types {
    fn shape(&self, id: TypeId) -> Option<&Shape> {
        self.0.get(id.0)
    }

    /// Bytes of a type, if that is known.
    pub(super) fn bytes(&self, id: TypeId) -> Option<u64> {
        self.bytes_within(id, DEPTH_MAX)
    }

    fn bytes_within(&self, id: TypeId, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        match self.shape(id)? {
            Shape::Scalar(bytes) | Shape::Structure { bytes, .. } => Some(*bytes),
            Shape::Pointer(_) => Some(8),
            Shape::Array {
                element,
                dimensions,
                ..
            } => {
                let element = self.bytes_within(*element, depth)?;
                let mut counts = dimensions.iter().map(|dimension| dimension.count);
                counts.try_fold(element, |bytes, count| bytes.checked_mul(count?))
            }
        }
    }

    /// What a block consists of that a pointer, a container, or an array of Fortran without
    /// an extent of its own gets.
    pub(super) fn elements(&self, id: TypeId) -> Option<TypeId> {
        match self.shape(id)? {
            Shape::Pointer(to) => *to,
            Shape::Structure { elements, .. } => {
                let element = (*elements)?;
                // `unique_ptr<T[]>`.
                match self.shape(element)? {
                    Shape::Array {
                        element,
                        dimensions,
                        ..
                    } if dimensions.iter().all(|one| one.count.is_none()) => Some(*element),
                    _ => Some(element),
                }
            }
            Shape::Array {
                element,
                dimensions,
                fortran: true,
            } if dimensions.iter().all(|dimension| dimension.count.is_none()) => Some(*element),
            _ => None,
        }
    }

    /// What lies at an offset of a type: `name` with indices and members, and the bytes of
    /// the scalar there.
    pub(super) fn part(&self, name: &str, id: TypeId, offset: u64) -> (String, Option<Range<u64>>) {
        let mut part = name.to_owned();
        let scalar = self.walk(&mut part, id, 0, offset, DEPTH_MAX);
        (part, scalar)
    }

    /// The same where elements of a type lie one behind the other, as in a block; in Fortran
    /// their numbers are taken to begin with 1.
    pub(super) fn part_of_many(
        &self,
        name: &str,
        id: TypeId,
        offset: u64,
        fortran: bool,
    ) -> Option<String> {
        let bytes = self.bytes(id).filter(|bytes| *bytes > 0)?;
        let number = offset / bytes;
        let element = match fortran {
            true => format!("{name}({})", number.checked_add(1)?),
            false => format!("{name}[{number}]"),
        };
        Some(self.part(&element, id, offset % bytes).0)
    }

    fn walk(
        &self,
        part: &mut String,
        id: TypeId,
        base: u64,
        offset: u64,
        depth: usize,
    ) -> Option<Range<u64>> {
        let depth = depth.checked_sub(1)?;
        let within = offset.checked_sub(base)?;
        match self.shape(id)? {
            Shape::Scalar(0) => None,
            Shape::Scalar(bytes) => (within < *bytes).then(|| base..base + bytes),
            Shape::Pointer(_) => (within < 8).then(|| base..base + 8),
            Shape::Structure { members, .. } => {
                let (member, at, inner) = members.iter().rev().find(|(_, at, inner)| {
                    let bytes = self.bytes_within(*inner, depth).unwrap_or(1);
                    (*at..at.saturating_add(bytes)).contains(&within)
                })?;
                if let Some(member) = member {
                    part.push('.');
                    part.push_str(member);
                }
                self.walk(part, *inner, base.checked_add(*at)?, offset, depth)
            }
            Shape::Array {
                element,
                dimensions,
                fortran,
            } => {
                let bytes = self.bytes_within(*element, depth)?;
                let mut index = within.checked_div(bytes)?;
                let start = base.checked_add(index.checked_mul(bytes)?)?;
                let mut indices = Vec::new();
                for (place, dimension) in dimensions.iter().enumerate().rev() {
                    // The slowest takes what is left.
                    let count = dimension.count.filter(|count| place > 0 && *count > 0);
                    let here = count.map_or(index, |count| index % count);
                    index = count.map_or(0, |count| index / count);
                    let here = i64::try_from(here).ok()?.checked_add(dimension.lower)?;
                    indices.push(here.to_string());
                }
                match fortran {
                    true => part.push_str(&format!("({})", indices.join(","))),
                    false => {
                        indices.reverse();
                        part.push_str(&format!("[{}]", indices.join("][")));
                    }
                }
                self.walk(part, *element, start, offset, depth)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct { int n; double x[2][3]; }`, a pointer to it, and `double a(0:1,4)`.
    fn types() -> Types {
        let dimension = |lower, count| Dimension {
            lower,
            count: Some(count),
        };
        Types(vec![
            Shape::Scalar(4),
            Shape::Scalar(8),
            Shape::Array {
                element: TypeId(1),
                dimensions: vec![dimension(0, 2), dimension(0, 3)],
                fortran: false,
            },
            Shape::Structure {
                bytes: 56,
                members: vec![
                    (Some("n".to_owned()), 0, TypeId(0)),
                    (Some("x".to_owned()), 8, TypeId(2)),
                ],
                elements: None,
            },
            Shape::Pointer(Some(TypeId(3))),
            Shape::Array {
                element: TypeId(1),
                dimensions: vec![dimension(1, 4), dimension(0, 2)],
                fortran: true,
            },
        ])
    }

    #[test]
    fn parts_are_written_as_in_the_source() {
        let types = types();
        let part = |id, offset| types.part("v", TypeId(id), offset);
        assert_eq!(part(3, 2), ("v.n".to_owned(), Some(0..4)));
        assert_eq!(part(3, 4), ("v".to_owned(), None), "padding");
        assert_eq!(part(3, 8 + 33), ("v.x[1][1]".to_owned(), Some(40..48)));
        assert_eq!(part(5, 8), ("v(1,1)".to_owned(), Some(8..16)));
        assert_eq!(part(5, 48), ("v(0,4)".to_owned(), Some(48..56)));
        assert_eq!(part(0, 4), ("v".to_owned(), None), "behind it");
        assert_eq!(types.bytes(TypeId(2)), Some(48));
        let cell = types.elements(TypeId(4)).unwrap();
        let many = |fortran| types.part_of_many("per", cell, 2 * 56 + 1, fortran);
        assert_eq!(many(false).as_deref(), Some("per[2].n"));
        assert_eq!(many(true).as_deref(), Some("per(3).n"));
    }

    #[test]
    fn a_type_that_contains_itself_ends() {
        let types = Types(vec![Shape::Array {
            element: TypeId(0),
            dimensions: vec![],
            fortran: false,
        }]);
        assert_eq!(types.bytes(TypeId(0)), None);
        let _ = types.part("v", TypeId(0), 7);
        assert_eq!(types.part("v", TypeId(9), 7), ("v".to_owned(), None));
    }
}
