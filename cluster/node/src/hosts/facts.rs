//! What has to be the same on all hosts, and how a difference is said.

use super::fields::{put, take, take_number};
use crate::layout::StackBytes;
use fathomp_sys::modules;
use fathomp_types::PAGE_BYTES;
use std::path::PathBuf;

/// What a process says of itself. Addresses in memory that nodes share are those of functions
/// and variables too, so all that is loaded has to lie where it lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    version: String,
    page_bytes: u64,
    features: Vec<String>,
    modules: Vec<Module>,
    stacks: [u64; 2],
    heap: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    path: String,
    bias: u64,
    id: Vec<u8>,
}

/// What libraries choose their code by.
fn features() -> Vec<String> {
    macro_rules! detected {
        ($($name:tt),*) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    let all = detected!(
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "popcnt",
        "avx",
        "avx2",
        "fma",
        "bmi1",
        "bmi2",
        "lzcnt",
        "movbe",
        "f16c",
        "rtm",
        "avx512f",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512vl",
        "avx512vbmi",
        "avx512ifma"
    );
    let has = all.into_iter().filter(|(_, has)| *has);
    has.map(|(name, _)| name.to_owned()).collect()
}

impl Facts {
    /// Of this process, whose heap has that fingerprint.
    pub(crate) fn collect(stacks: StackBytes, heap: u64) -> Self {
        let module = |module: modules::Loaded| Module {
            path: module.path.to_string_lossy().into_owned(),
            bias: module.bias,
            id: match module.build_id.is_empty() {
                false => module.build_id,
                true => file_bytes(&module.path),
            },
        };
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            page_bytes: PAGE_BYTES as u64,
            features: features(),
            modules: modules::all().into_iter().map(module).collect(),
            stacks: [stacks.first.unwrap_or(u64::MAX), stacks.others as u64],
            heap,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.version.as_bytes());
        put(&mut bytes, self.features.join(" ").as_bytes());
        let [first, others] = self.stacks;
        for number in [self.page_bytes, first, others, self.heap] {
            put(&mut bytes, &number.to_le_bytes());
        }
        for Module { path, bias, id } in &self.modules {
            put(&mut bytes, path.as_bytes());
            put(&mut bytes, &bias.to_le_bytes());
            put(&mut bytes, id);
        }
        bytes
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let version = text(take(rest)?);
        let features = text(take(rest)?);
        let page_bytes = take_number(rest)?;
        let stacks = [take_number(rest)?, take_number(rest)?];
        let heap = take_number(rest)?;
        let mut modules = Vec::new();
        while !rest.is_empty() {
            modules.push(Module {
                path: text(take(rest)?),
                bias: take_number(rest)?,
                id: take(rest)?.to_vec(),
            });
        }
        Some(Self {
            version,
            page_bytes,
            features: features.split_whitespace().map(str::to_owned).collect(),
            modules,
            stacks,
            heap,
        })
    }

    /// The first thing in which another host's process differs from this one, as a sentence;
    /// `names` are those of the two hosts.
    pub(crate) fn difference(&self, other: &Self, names: [&String; 2]) -> Option<String> {
        let [a, b] = names;
        if self.version != other.version {
            return Some(format!(
                "host {b} has fathomp {}, and host {a} {}: install the same on both",
                other.version, self.version
            ));
        }
        if self.page_bytes != other.page_bytes {
            return Some(format!("host {b} has pages of another size than host {a}"));
        }
        let lacks = |one: &Self, other: &Self| {
            let lacks = one
                .features
                .iter()
                .find(|has| !other.features.contains(has));
            lacks.cloned()
        };
        if let Some(feature) = lacks(self, other) {
            return Some(format!(
                "the processors of host {b} lack {feature}, which those of host {a} have: the \
                 libraries there run other code; choose hosts with the same processors"
            ));
        }
        if let Some(feature) = lacks(other, self) {
            return Some(format!(
                "the processors of host {a} lack {feature}, which those of host {b} have: the \
                 libraries there run other code; choose hosts with the same processors"
            ));
        }
        self.other_module(other, a, b)
            .or_else(|| self.other_memory(other, a, b))
    }

    fn other_module(&self, other: &Self, a: &str, b: &str) -> Option<String> {
        for (number, module) in self.modules.iter().enumerate() {
            let path = &module.path;
            let what = match number {
                0 => "program",
                _ => "library",
            };
            // The program has no name of its own: another one is another program.
            let same = match number {
                0 => other.modules.first(),
                _ => other.modules.iter().find(|one| one.path == *path),
            };
            let Some(same) = same else {
                return Some(format!(
                    "the program on host {b} does not use {path}, as it does on host {a}: \
                     install the same libraries at the same places"
                ));
            };
            if same.id != module.id || same.path != *path {
                return Some(format!(
                    "the {what} {} on host {b} is another one than {path} on host {a}: copy it \
                     there",
                    same.path
                ));
            }
            if same.bias != module.bias {
                return Some(format!(
                    "the {what} {path} lies at another address on host {b} than on host {a}: the \
                     kernel there, or a library in front of the program, moves it"
                ));
            }
        }
        let more = |module: &&Module| self.modules.iter().all(|one| one.path != module.path);
        let more = other.modules.iter().find(more)?;
        Some(format!(
            "the program on host {b} uses {}, and not on host {a}: install the same libraries at \
             the same places",
            more.path
        ))
    }

    fn other_memory(&self, other: &Self, a: &str, b: &str) -> Option<String> {
        if self.stacks != other.stacks {
            return Some(format!(
                "the stacks on host {b} have another size than on host {a}: set the same limit \
                 there (ulimit -s)"
            ));
        }
        (self.heap != other.heap).then(|| {
            format!(
                "the program on host {b} has allocated other memory before main than on host {a}: \
                 something that its constructors read (a file, the host's name, a variable) \
                 differs there"
            )
        })
    }
}

/// What tells modules apart that have no build-id: their length.
fn file_bytes(path: &PathBuf) -> Vec<u8> {
    let length = std::fs::metadata(path).map_or(0, |facts| facts.len());
    length.to_le_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let stacks = StackBytes {
            first: Some(8 << 20),
            others: 1 << 20,
        };
        Facts::collect(stacks, 7)
    }

    fn differs(change: impl FnOnce(&mut Facts)) -> String {
        let mut other = facts();
        change(&mut other);
        let names = ["a".to_owned(), "b".to_owned()];
        let read = Facts::decode(&other.encode()).unwrap();
        assert_eq!(read, other);
        let difference = facts().difference(&read, [&names[0], &names[1]]);
        difference.unwrap_or_default()
    }

    #[test]
    fn each_difference_is_one_sentence() {
        assert_eq!(differs(|_| {}), "");
        assert!(facts().modules.len() > 1);
        for (change, sentence) in [
            (
                (|facts| facts.version.push('x')) as fn(&mut Facts),
                "host b has fathomp",
            ),
            (
                |facts| drop(facts.features.pop()),
                "the processors of host b lack",
            ),
            (
                |facts| facts.features.push("new".to_owned()),
                "the processors of host a lack new",
            ),
            (|facts| facts.modules[0].id.push(1), "the program /"),
            (|facts| facts.modules[1].id.push(1), "the library /"),
            (|facts| facts.modules[1].bias += 1, "the library /"),
            (
                |facts| drop(facts.modules.pop()),
                "the program on host b does not use",
            ),
            (
                |facts| {
                    let mut more = facts.modules[1].clone();
                    more.path.push_str(".so");
                    facts.modules.push(more);
                },
                "the program on host b uses",
            ),
            (|facts| facts.stacks[0] += 1, "the stacks on host b"),
            (
                |facts| facts.heap += 1,
                "the program on host b has allocated",
            ),
        ] {
            let said = differs(change);
            assert!(said.starts_with(sentence), "{said}");
        }
    }

    #[test]
    fn what_is_cut_is_not_read() {
        let bytes = facts().encode();
        for length in 0..60 {
            assert_eq!(Facts::decode(&bytes[..length]), None);
        }
        assert_eq!(Facts::decode(&[0xff; 64]), None);
    }
}
