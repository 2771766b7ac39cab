//! The kernel's notation for sets of processors: `0-3,8,10-11`.

/// More processors than Linux supports; bounds what a broken file can cause.
const PROCESSORS_MAX: u32 = 1 << 16;

/// The numbers in a list, in its order; parts that make no sense are skipped.
pub fn parse_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(from), Ok(to)) = (from.trim().parse::<u32>(), to.trim().parse::<u32>())
            && to < PROCESSORS_MAX
        {
            cpus.extend(from..=to);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::parse_list;

    #[test]
    fn ranges_and_single_numbers() {
        assert_eq!(parse_list("0-2,8,10-11\n"), [0, 1, 2, 8, 10, 11]);
        assert_eq!(parse_list(""), [0_u32; 0]);
        assert_eq!(parse_list("x,3-1,0-4294967295,5"), [5]);
    }
}
