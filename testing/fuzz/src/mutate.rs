//! From an input to one that is like it: any bytes, words, text. What knows more of a format
//! is in [`json`](crate::json) and [`blocks`](crate::blocks).

use crate::random::Random;

/// Changes bytes in one place.
pub fn bytes(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let length = input.len();
    let at = random.below(length + 1);
    match random.below(10) {
        0 if at < length => input[at] ^= 1 << random.below(8),
        1 | 2 if at < length => {
            input[at] = [0, 1, 0x7f, 0x80, 0xff, random.number() as u8][random.below(6)];
        }
        3 | 4 => {
            let width = [1, 2, 4, 8][random.below(4)];
            let number = random.extreme();
            let number = match random.once_in(4) {
                true => number.to_be_bytes()[8 - width..].to_vec(),
                false => number.to_le_bytes()[..width].to_vec(),
            };
            overwrite(input, at, &number);
        }
        5 => {
            let end = at + random.length(length - at);
            input.drain(at..end);
        }
        6 => {
            let end = at + random.length((length - at).min(4096));
            let copy = input[at..end].to_vec();
            let to = random.below(length + 1);
            input.splice(to..to, copy);
        }
        7 => {
            let new: Vec<u8> = (0..random.length(32))
                .map(|_| random.number() as u8)
                .collect();
            input.splice(at..at, new);
        }
        8 => input.truncate(at),
        _ => {
            // The rest of another input.
            if let Some(other) = random.one_of(others) {
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }
}

/// Puts bytes in the place of others, as far as there are any.
fn overwrite(input: &mut [u8], at: usize, new: &[u8]) {
    for (byte, new) in input.iter_mut().skip(at).zip(new) {
        *byte = *new;
    }
}

/// Changes words of 64 bits, little endian, where they lie.
pub fn words(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    if random.once_in(8) {
        return bytes(input, others, random);
    }
    // Half of the changes go where something stands.
    let used: Vec<usize> = (0..input.len() / 8)
        .filter(|word| input[word * 8..word * 8 + 8] != [0; 8])
        .collect();
    let word = match random.one_of(&used) {
        Some(&word) if random.once_in(2) => word,
        _ => random.below(input.len() / 8),
    };
    let value = match random.below(3) {
        0 => random.below(2_000) as u64,
        _ => random.extreme(),
    };
    let Some(place) = input.get_mut(word * 8..word * 8 + 8) else {
        return bytes(input, others, random);
    };
    match random.below(4) {
        // A field of the word.
        0 => {
            let half = random.below(2) * 4;
            place[half..half + 4].copy_from_slice(&(value as u32).to_le_bytes());
        }
        1 => place[random.below(8)] = value as u8,
        _ => place.copy_from_slice(&value.to_le_bytes()),
    }
}

/// Changes a program: its headers, the table of its sections, or anything.
pub fn elf(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    /// Bytes of a file's header, of a segment's, and of a section's.
    const HEADERS: [usize; 3] = [64, 56, 64];
    let sections = input.get(40..48).and_then(|bytes| bytes.try_into().ok());
    let sections = sections.map_or(0, u64::from_le_bytes);
    let sections = usize::try_from(sections)
        .unwrap_or(usize::MAX)
        .min(input.len());
    let zone = match random.below(6) {
        0 => 0..HEADERS[0],
        1 => HEADERS[0]..HEADERS[0] + 13 * HEADERS[1],
        2 => sections..input.len(),
        3 => return bytes(input, others, random),
        // Tables of numbers lie anywhere.
        _ => 0..input.len(),
    };
    let at = zone.start + random.below(zone.len());
    let width = [1, 1, 2, 4, 8][random.below(5)];
    let number = match random.below(3) {
        0 => random.below(256) as u64,
        1 => random.below(input.len()) as u64,
        _ => random.extreme(),
    };
    overwrite(input, at, &number.to_le_bytes()[..width]);
}

/// Numbers and words at which readers of text fail, with bars between them.
const TOKENS: &str = "0|-1|-0|1e309|-1e309|1e-320|0.1|NaN|inf|18446744073709551615|\
     18446744073709551616|9223372036854775807|-9223372036854775808|4294967296|65536|\u{0}|\
     \u{fffd}|\u{2028}|é|\"|\\|,|\n| ";

/// Repetitions of a token are at most so long together.
const REPEATED_BYTES_MAX: usize = 16 << 10;

/// Whether a byte belongs to a word or a number.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-') || byte >= 0x80
}

/// What lies around a byte between two others of which `ends` holds.
fn around(input: &[u8], at: usize, ends: impl Fn(&u8) -> bool) -> (usize, usize) {
    let begin = input[..at].iter().rposition(&ends);
    let end = input[at..].iter().position(&ends);
    (
        begin.map_or(0, |before| before + 1),
        end.map_or(input.len(), |length| at + length),
    )
}

/// The token that a byte belongs to: a word, or that byte alone.
fn token(input: &[u8], at: usize) -> (usize, usize) {
    match input.get(at) {
        Some(&byte) if is_of_word(byte) => around(input, at, |&byte| !is_of_word(byte)),
        _ => (at, (at + 1).min(input.len())),
    }
}

/// Where the line lies that a byte belongs to, with its end.
fn line(input: &[u8], at: usize) -> (usize, usize) {
    let (begin, end) = around(input, at, |&byte| byte == b'\n');
    (begin, (end + 1).min(input.len()))
}

/// Changes text: by tokens and by lines.
pub fn text(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len());
    match random.below(9) {
        0 | 1 => {
            let (begin, end) = token(input, at);
            let all: Vec<&str> = TOKENS.split('|').collect();
            let new = random.one_of(&all).copied().unwrap_or_default();
            input.splice(begin..end, new.bytes());
        }
        2 => {
            let new = random.extreme().to_string();
            let (begin, end) = token(input, at);
            input.splice(begin..end, new.into_bytes());
        }
        3 => {
            // A token of another place, or of another input.
            let other = random.one_of(others).unwrap_or(input).clone();
            let (from, to) = token(&other, random.below(other.len()));
            let (begin, end) = token(input, at);
            input.splice(begin..end, other[from..to].iter().copied());
        }
        4 => {
            let (begin, end) = token(input, at);
            input.drain(begin..end);
        }
        5 => {
            let (begin, end) = line(input, at);
            let copy = input[begin..end].to_vec();
            let (to, _) = line(input, random.below(input.len()));
            input.splice(to..to, copy);
        }
        6 => {
            let (begin, end) = line(input, at);
            input.drain(begin..end);
        }
        7 => {
            // Nesting, and long repetitions.
            let (begin, end) = token(input, at);
            let piece = input[begin..end].to_vec();
            let most = REPEATED_BYTES_MAX / piece.len().max(1);
            let times = (1 << random.below(13)).min(most);
            input.splice(begin..begin, piece.repeat(times));
        }
        _ => bytes(input, others, random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_anything_can_be_changed() {
        let others = [b"one, two\n".to_vec(), Vec::new()];
        for seed in 0..3_000 {
            let mut random = Random::new(seed);
            for change in [bytes, words, text, elf] {
                for begin in ["", "x", "a = 12;\nb\n"] {
                    let mut input = begin.as_bytes().to_vec();
                    for _ in 0..6 {
                        change(&mut input, &others, &mut random);
                    }
                    change(&mut input, &[], &mut random);
                }
            }
        }
    }

    #[test]
    fn tokens_and_lines_are_found() {
        let input = b"ab = -12;\nnext";
        assert_eq!(token(input, 6), (5, 8));
        assert_eq!(token(input, 8), (8, 9));
        assert_eq!(line(input, 3), (0, 10));
        assert_eq!(line(input, 12), (10, 14));
        assert_eq!(token(b"", 0), (0, 0));
    }
}
