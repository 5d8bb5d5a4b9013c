//! Deciding parts of build files that are not made of sections: XML of Maven and .NET, and Gradle scripts. It never
//! evaluates them: two files have the same deciding parts if these are written in the same way.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How the deciding elements of an XML file are recognized.
pub struct XmlMarks {
    /// Words in lower case. A tag with its attributes and text that contains one of them decides.
    pub marks: &'static [&'static str],
    /// An element of this name decides as a whole if it contains a mark.
    pub whole_element: &'static str,
}

/// Constructs that let an XML file say something that its text does not show.
const XML_ESCAPES: &[&str] = &["&#", "<!ENTITY", "<![CDATA["];

/// Blocks of a Gradle script that do not decide what runs, as long as they only declare.
const GRADLE_FREE_BLOCKS: &[&str] = &["dependencies", "repositories"];

/// Text that a line of a free block must not contain outside of strings, because it would do more than declare.
const GRADLE_ACTIONS: &[&str] = &[
    ";",
    "->",
    "test.",
    "test {",
    "test{",
    "tasks",
    "project.",
    "gradle.",
    "afterEvaluate",
    "allprojects",
    "subprojects",
    "ext.",
    "enabled",
    "each",
    "exec",
    "doFirst",
    "doLast",
    "filter",
    "onlyIf",
    "System.",
];

/// The keys to which a free block may assign.
const GRADLE_FREE_KEYS: &[&str] = &["url", "name", "version", "isTransitive", "transitive", "username", "password"];

/// Returns the deciding elements. A file with escapes decides as a whole.
pub fn deciding_elements(text: &str, rules: &XmlMarks) -> Vec<String> {
    if XML_ESCAPES.iter().any(|escape| text.contains(escape)) {
        return [text.to_string()].into();
    }
    let (mut parts, mut whole) = (Vec::new(), None::<WholeElement>);
    for piece in read_tags(text) {
        let name = tag_name(&piece);
        if let Some(open) = &mut whole {
            open.has_mark |= has_mark(&piece, rules.marks);
            let is_end = name.strip_prefix('/') == Some(rules.whole_element);
            open.tags.push(piece);
            if is_end {
                parts.extend(whole.take().filter(|element| element.has_mark).into_iter().flat_map(|all| all.tags));
            }
        } else if name == rules.whole_element && !piece.contains("/>") {
            whole = Some(WholeElement { has_mark: has_mark(&piece, rules.marks), tags: [piece].into() });
        } else if has_mark(&piece, rules.marks) {
            parts.push(piece);
        }
    }
    parts.extend(whole.into_iter().flat_map(|all| all.tags));
    parts
}

struct WholeElement {
    has_mark: bool,
    tags: Vec<String>,
}

/// Returns each tag with the text behind it, with single spaces and without comments.
fn read_tags(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let tidy = |piece: &str| ["<", &piece.split_whitespace().collect::<Vec<_>>().join(" ")].concat().replace("> ", ">");
    plain.split('<').skip(1).map(tidy).collect()
}

fn tag_name(tag: &str) -> &str {
    let name = tag.trim_start_matches('<');
    name.split([' ', '>']).next().unwrap_or_default()
}

fn has_mark(text: &str, marks: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    marks.iter().any(|mark| lower.contains(mark))
}

/// Returns the lines of a Gradle script that decide: all outside the free blocks, and what in them does more than declare.
pub fn deciding_gradle_lines(text: &str) -> Vec<String> {
    let text = strip_gradle_comments(text);
    let is_readable = !text.contains("\"\"\"") && !text.contains("'''");
    let (mut parts, mut depth) = (Vec::new(), 0_usize);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let bare = blank_strings(line);
        let starts_free = GRADLE_FREE_BLOCKS
            .iter()
            .any(|block| bare.strip_prefix(block).is_some_and(|rest| rest.trim_start().starts_with('{')));
        if is_readable && (depth > 0 || starts_free) {
            depth = (depth + bare.matches('{').count()).saturating_sub(bare.matches('}').count());
            if acts(&bare) {
                parts.push(line.to_string());
            }
        } else {
            parts.push(line.to_string());
        }
    }
    parts
}

/// Returns the deciding lines of the claim without the modules that it adds.
pub fn compared_gradle_lines(base: &str, claimed: &str) -> Vec<String> {
    let known = deciding_gradle_lines(base);
    let is_added_module = |line: &String| {
        let plain = blank_strings(line);
        plain.starts_with("include") && !plain.contains(['{', ';', '.']) && !known.contains(line)
    };
    deciding_gradle_lines(claimed).into_iter().filter(|line| !is_added_module(line)).collect()
}

/// Returns whether a line of a free block, without its strings, does more than declare.
fn acts(bare: &str) -> bool {
    let assigned = bare.split_once('=').map(|(key, _)| key.trim_end_matches(['+', ' ']));
    let assigns = assigned.is_some_and(|key| !GRADLE_FREE_KEYS.iter().any(|free| key.ends_with(free)));
    assigns || GRADLE_ACTIONS.iter().any(|action| bare.contains(action))
}

/// Replaces the content of the strings on a line.
fn blank_strings(line: &str) -> String {
    let (mut bare, mut quote, mut is_escaped) = (String::new(), None, false);
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open && !is_escaped => quote = None,
            // An expression in a string is code.
            Some(_) if letter == '$' => bare.push(';'),
            Some(_) => {}
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None => bare.push(letter),
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    bare
}

/// Removes comments outside of strings.
fn strip_gradle_comments(text: &str) -> String {
    let (mut plain, mut quote, mut is_escaped, mut rest) = (String::new(), None, false, text);
    while let Some(letter) = rest.chars().next() {
        if quote.is_none() && rest.starts_with("//") {
            rest = rest.find('\n').and_then(|at| rest.get(at..)).unwrap_or_default();
            continue;
        }
        if quote.is_none() && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, after)| after);
            continue;
        }
        match quote {
            Some(open) if letter == open && !is_escaped || letter == '\n' => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(_) | None => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
        plain.push(letter);
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: XmlMarks = XmlMarks { marks: &["surefire", "skiptests", "<compile"], whole_element: "plugin" };

    // spec: V15
    // finding: N3
    #[test]
    fn an_element_counts_whatever_its_white_space_comments_and_escapes() {
        let base = "<p>\n<skipTests>\nfalse\n</skipTests>\n<plugin>\n<a>surefire</a>\n<b>1</b>\n</plugin>\n</p>\n";
        let parts = |text: &str| deciding_elements(text, &RULES);
        assert_eq!(parts(base), parts(&base.replace('\n', "  ")), "other white space");
        assert_eq!(parts(base), parts(&["<!-- note -->", base].concat()), "a comment");
        for (from, to) in [
            ("false", "true"),
            ("<b>1", "<b>2"),
            ("<plugin>", "<plugin combine.self=\"override\">"),
            ("<p>", "<p><a>maven-&#115;urefire-plugin</a>"),
            ("<p>", "<p><a><![CDATA[surefire]]></a>"),
            ("<p>", "<p><Compile\nRemove=\"a\"/>"),
            ("<plugin>", "<!--<plugin>"),
            ("</p>", "<plugin><a>surefire</a>"),
        ] {
            assert_ne!(parts(base), parts(&base.replace(from, to)), "{to}");
        }
        assert_eq!(parts(base), parts(&base.replace("</p>", "<dependency>a</dependency></p>")));
        assert_eq!(parts(base), parts(&base.replace("</p>", "<plugin><a>shade</a></plugin></p>")));
    }

    // spec: V15
    // finding: N3
    #[test]
    fn the_dependencies_of_a_gradle_script_only_declare() {
        let base = "dependencies {\n implementation 'a:b:1'\n}\ntest {\n useJUnitPlatform()\n}\n";
        let differs = |claimed: &str| deciding_gradle_lines(base) != compared_gradle_lines(base, claimed);
        for (from, to) in [
            (" impl", " api(\"c:d:2\") { exclude group: 'x' }\n runtimeOnly project(':core') // note\n impl"),
            ("dep", "repositories {\n maven { url = uri(\"https://a/b{c\") }\n}\ndep"),
            ("test {", "/* a { */\ntest {"),
            ("dep", "include 'new'\ndep"),
        ] {
            assert!(!differs(&base.replace(from, to)), "{to}");
        }
        for (from, to) in [
            (" impl", " project.test.enabled = false\n impl"),
            (" impl", " implementation 'x'; test.enabled = false\n impl"),
            (" impl", " println \"${test.enabled = false}\"\n impl"),
            (" impl", " println '{'\n}\ntest.enabled = false\ndependencies {\n impl"),
            (" impl", " println '''{'''\n}\ntest.enabled = false\ndependencies {\n impl"),
            ("test {", "/*\ntest {"),
            (" useJUnitPlatform()", ""),
            ("dep", "include('new'); test.enabled = false\ndep"),
        ] {
            assert!(differs(&base.replace(from, to)), "{to}");
        }
        let (own_line, strings) = ("a // b\nc", "'it\\'s // kept' /* gone */ \"a 'b // kept\" // gone");
        assert_eq!(strip_gradle_comments(own_line), "a \nc");
        assert_eq!(strip_gradle_comments(strings), "'it\\'s // kept'  \"a 'b // kept\" ");
        assert_eq!(strip_gradle_comments("'open\n// gone"), "'open\n", "a string ends with its line");
        let settings = "include 'a', 'tests'\n";
        assert_ne!(deciding_gradle_lines(settings), compared_gradle_lines(settings, "include 'a'\n"));
    }
}
