//! Finds the name of a workflow without parsing the file: to start one workflow, the names of all are needed.

/// Returns the name if the file states it in a simple way; `None` if only a parser can tell.
pub(super) fn scan_workflow_name(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix("name:"))?;
    let is_continued =
        lines.clone().next().is_some_and(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty());
    let has_second = lines.any(|line| line.starts_with("name:"));
    let name = unquote(value.strip_prefix([' ', '\t'])?.trim())?;
    let is_simple = !is_continued && !has_second && !name.is_empty();
    is_simple.then_some(name)
}

fn unquote(value: &str) -> Option<&str> {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_. ".contains(&byte));
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote) {
            return inside.strip_suffix(quote).filter(|inside| is_plain(inside)).map(str::trim);
        }
    }
    is_plain(value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W1
    #[test]
    fn a_simple_name_is_found() {
        for text in ["name: a-b\ndescription: x", "# c\nname: 'a-b'\nnodes:\n", "name:   \"a-b\"  \r\n"] {
            assert_eq!(scan_workflow_name(text), Some("a-b"), "{text:?}");
        }
    }

    // spec: W1
    #[test]
    fn a_name_that_needs_a_parser_is_left_to_it() {
        for text in [
            "name: >\n  a",
            "name: a\n  b",
            "name: a # c",
            "name: \"a\\u0041\"",
            "name: &x a",
            "x: 1",
            "name:",
            "name: a\nname: b",
        ] {
            assert_eq!(scan_workflow_name(text), None, "{text:?}");
        }
    }
}
