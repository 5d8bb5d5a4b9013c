//! Matches paths with the patterns of the tables.

/// Returns whether a path, relative to the root of the work tree, matches a pattern.
#[must_use]
pub fn matches_pattern(pattern: &str, path: &str) -> bool {
    if let Some(anchored) = pattern.strip_prefix('/') {
        return matches_parts(anchored, path);
    }
    if !pattern.contains('/') {
        // Only the name of the file can match. There are many such patterns and files.
        let name = path.rsplit('/').next().unwrap_or(path);
        return matches_name(pattern.as_bytes(), name.as_bytes());
    }
    let mut rest = Some(path);
    while let Some(tail) = rest {
        if matches_parts(pattern, tail) {
            return true;
        }
        rest = tail.split_once('/').map(|(_, below)| below);
    }
    false
}

/// Compares part by part. A final `**` needs at least one part.
fn matches_parts(pattern: &str, path: &str) -> bool {
    let (first, later) = split_first(pattern);
    if first == "**" {
        return match later {
            None => !path.is_empty(),
            Some(later) => {
                matches_parts(later, path)
                    || path.split_once('/').is_some_and(|(_, below)| matches_parts(pattern, below))
            }
        };
    }
    let (name, below) = split_first(path);
    matches_name(first.as_bytes(), name.as_bytes())
        && match (later, below) {
            (None, None) => true,
            (Some(later), Some(below)) => matches_parts(later, below),
            (None, Some(_)) | (Some(_), None) => false,
        }
}

fn split_first(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(first, later)| (first, Some(later)))
}

fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', later)), _) => {
            (0..=name.len()).any(|skipped| matches_name(later, name.get(skipped..).unwrap_or_default()))
        }
        (Some((b'?', later)), Some((_, rest))) => matches_name(later, rest),
        (Some((wanted, later)), Some((found, rest))) => wanted == found && matches_name(later, rest),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V15
    #[test]
    fn patterns_match_names_folders_and_anchored_paths() {
        for (pattern, matching, others) in [
            ("conftest.py", &["conftest.py", "a/b/conftest.py"][..], &["conftest.pyc", "conftest.py/x"][..]),
            ("tests/**", &["tests/a", "x/tests/a/b"], &["tests", "mytests/a"]),
            ("*_test.go", &["a_test.go", "p/_test.go"], &["a_test.gone", "test.go"]),
            ("/.github/workflows/**", &[".github/workflows/ci.yml"], &["x/.github/workflows/ci.yml"]),
            ("jest.config.*", &["jest.config.js", "a/jest.config.cjs"], &["jest.config"]),
            ("/a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["a/b/c", "b", "x/a/b", "a/xb"]),
            ("*.Tests/**", &["App.Tests/A.cs"], &["App/A.cs"]),
        ] {
            assert!(matching.iter().all(|path| matches_pattern(pattern, path)), "{pattern}");
            assert!(!others.iter().any(|path| matches_pattern(pattern, path)), "{pattern}");
        }
    }
}
