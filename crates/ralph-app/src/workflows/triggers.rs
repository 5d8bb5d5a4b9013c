//! Phrases that start a workflow: the quoted texts of the `Triggers:` line of its description.

/// Returns the phrases of a description, in order.
#[must_use]
pub fn find_triggers(description: &str) -> Vec<String> {
    let lines = description.lines().map(str::trim);
    let lists = lines.filter_map(|line| {
        let (label, list) = line.split_once(':')?;
        label.trim_matches(['*', '-', ' ']).eq_ignore_ascii_case("triggers").then_some(list)
    });
    lists.flat_map(quoted_texts).collect()
}

fn quoted_texts(line: &str) -> Vec<String> {
    let texts = line.split('"').skip(1).step_by(2);
    texts.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W9
    #[test]
    fn triggers_are_the_quoted_texts_of_their_line() {
        let description = "Builds.\nUse when: \"not this\"\n  Triggers: \"run it\", \"do all\".\nDoes: \"x\"";
        assert_eq!(find_triggers(description), ["run it", "do all"]);
        assert_eq!(find_triggers("Triggers: none"), Vec::<String>::new());
    }
}
