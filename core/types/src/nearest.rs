//! What a user who typed a name that does not exist may have meant.

/// The known name that is nearest to `asked`, whatever its case, by letters left
/// out, put in, replaced or swapped with the next; none if all are further away
/// than a third of `asked`, which makes another word of it.
pub fn nearest<T: AsRef<str> + Ord>(asked: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let most = (asked.chars().count() / 3).max(1);
    let lower = asked.to_lowercase();
    known
        .into_iter()
        .map(|known| (strsim::osa_distance(&lower, known.as_ref()), known))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, nearest)| nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_forgiven_and_other_words_are_not() {
        let known = ["gige_amd", "infiniband", "cg"];
        let meant = |asked| nearest(asked, known);
        assert_eq!(meant("gige_adm"), Some("gige_amd"));
        assert_eq!(meant("GIGE_AMD"), Some("gige_amd"));
        assert_eq!(meant("cq"), Some("cg"));
        assert_eq!(meant("myrinet"), None);
        assert_eq!(meant(""), None);
        assert_eq!(nearest("cg", Vec::<String>::new()), None);
    }
}
