//! The `#!` line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The interpreter that the beginning of a file names, if it is a script.
pub(super) fn interpreter(start: &[u8]) -> Option<OsString> {
    let line = start.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let word = line
        .split(|b| matches!(b, b' ' | b'\t' | b'\r' | 0))
        .find(|word| !word.is_empty())?;
    Some(OsStr::from_bytes(word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::interpreter;

    #[test]
    fn the_first_word_after_the_mark() {
        let cases: [(&[u8], Option<&str>); 5] = [
            (b"#!/bin/sh\necho", Some("/bin/sh")),
            (b"#! /usr/bin/env python3\n", Some("/usr/bin/env")),
            (b"#!\n", None),
            (b"echo hello\n", None),
            (b"", None),
        ];
        for (start, expected) in cases {
            assert_eq!(interpreter(start).as_deref(), expected.map(AsRef::as_ref));
        }
    }
}
