//! Everything libgomp 12 exports for the host is defined here, under the same
//! version.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

type Outcome = Result<(), Box<dyn Error>>;

/// Version by symbol.
type Versions = BTreeMap<String, String>;

fn libgomp() -> Versions {
    include_str!("libgomp-12.symbols")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(version, name)| (name.to_owned(), version.to_owned()))
        .collect()
}

/// What the version script says. It is our own file, so a reader of its usual
/// layout will do: `VERSION {`, one `name;` a line, `};`.
fn script() -> Versions {
    let mut versions = Versions::new();
    let mut version = "";
    for line in include_str!("../libgomp.map").lines().map(str::trim) {
        if let Some(name) = line.strip_suffix(" {") {
            version = name;
        } else if let Some(name) = line.strip_suffix(';')
            && !name.starts_with('}')
            && name != "*"
        {
            versions.insert(name.to_owned(), version.to_owned());
        }
    }
    versions
}

/// The library cargo built beside this test.
fn archive() -> Result<PathBuf, Box<dyn Error>> {
    let test = env::current_exe()?;
    let folder = test.parent().unwrap_or(Path::new("."));
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("libfathomp_abi-") && name.ends_with(".rlib") {
            newest = newest.max(Some((entry.metadata()?.modified()?, entry.path())));
        }
    }
    match newest {
        Some((_, path)) => Ok(path),
        None => Err(format!("there is no libfathomp_abi-*.rlib in {}", folder.display()).into()),
    }
}

/// Global symbols the library defines.
fn defined() -> Result<BTreeSet<String>, Box<dyn Error>> {
    let bytes = fs::read(archive()?)?;
    let archive = ArchiveFile::parse(&*bytes)?;
    let mut names = BTreeSet::new();
    for member in archive.members() {
        // Archives also hold members that are no object files.
        let Ok(file) = object::File::parse(member?.data(&*bytes)?) else {
            continue;
        };
        names.extend(
            file.symbols()
                .filter(|symbol| symbol.is_definition() && symbol.is_global())
                .filter_map(|symbol| symbol.name().ok().map(str::to_owned)),
        );
    }
    Ok(names)
}

#[test]
fn the_version_script_follows_libgomp() {
    let script = script();
    let differing: Vec<_> = libgomp()
        .into_iter()
        .filter(|(name, version)| script.get(name) != Some(version))
        .collect();
    assert!(
        differing.is_empty(),
        "missing from libgomp.map, or under another version: {differing:#?}"
    );
}

#[test]
fn the_library_defines_everything_it_promises() -> Outcome {
    let defined = defined()?;
    let missing: Vec<_> = script()
        .into_keys()
        .filter(|name| !defined.contains(name))
        .collect();
    assert!(missing.is_empty(), "not defined: {missing:#?}");
    Ok(())
}

#[test]
fn the_version_script_forgets_nothing_the_library_defines() -> Outcome {
    let script = script();
    let hidden: Vec<_> = defined()?
        .into_iter()
        .filter(|name| name.starts_with("omp_") || name.starts_with("GOMP_"))
        .filter(|name| !script.contains_key(name))
        .collect();
    assert!(hidden.is_empty(), "not in libgomp.map: {hidden:#?}");
    Ok(())
}
