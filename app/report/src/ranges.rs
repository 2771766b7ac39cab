//! Numbers of processors in words.

/// `0-3, 8` for 0, 1, 2, 3, 8.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if(|next| Some(*next) == last.checked_add(1)) {
            last = next;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&first.to_string());
        if last > first {
            text.push_str(&format!("-{last}"));
        }
    }
    if text.is_empty() {
        "unknown".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8]), "0-3, 8");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[u32::MAX]), u32::MAX.to_string());
        assert_eq!(ranges(&[]), "unknown");
    }
}
