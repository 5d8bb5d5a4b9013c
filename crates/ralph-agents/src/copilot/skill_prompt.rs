//! The prompt that Copilot's interactive screen makes of a skill command. It replaces `/ralph …` by the text of the skill
//! before it calls the hook; `copilot -p '/ralph …'` passes the typed text on.

const OPENING: &str = "The user explicitly invoked the \"/";
const SKILL_CONTEXT: &str = "\" skill. Follow its instructions now.\n\n<skill-context name=\"";
const BASE_FOLDER: &str = "\">\nBase directory for this skill: ";
const CLOSING: &str = "</skill-context>";
/// Precedes what the user typed after the name of the skill. The text of our skills does not contain it.
const ARGUMENTS: &str = "\nARGUMENTS: ";

/// Returns the command as the user typed it, such as `/ralph "task"`, if the prompt is the text of one of our skills.
///
/// Every part that Copilot writes must be in its place and must name the same skill, so that a text which only mentions
/// or quotes such a prompt starts nothing.
pub(super) fn typed_command(prompt: &str) -> Option<String> {
    let (name, rest) = prompt.trim().strip_prefix(OPENING)?.split_once(SKILL_CONTEXT)?;
    let (folder, rest) = rest.strip_prefix(name)?.strip_prefix(BASE_FOLDER)?.split_once('\n')?;
    let is_skill_folder = folder.strip_suffix(name).is_some_and(|parent| parent.ends_with("/skills/"));
    let text = rest.strip_suffix(CLOSING).filter(|_| is_skill_folder)?.trim();
    let is_ours = text.starts_with(&format!("<ralph-command name=\"{name}\">"));
    let arguments = text.split_once(ARGUMENTS).map_or("", |(_, arguments)| arguments.trim());
    is_ours.then(|| format!("/{name} {arguments}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(name: &str, arguments: &str) -> String {
        format!(
            "The user explicitly invoked the \"/{name}\" skill. Follow its instructions now.\n\n<skill-context \
             name=\"{name}\">\nBase directory for this skill: /home/dev/.copilot/skills/{name}\n\n<ralph-command \
             name=\"{name}\">\n(what the user wrote)\n</ralph-command>\n\nWork on the task.\n\n{arguments}</skill-context>"
        )
    }

    // finding: N65
    #[test]
    fn an_expanded_skill_is_the_command_that_the_user_typed() {
        let start = expanded("ralph", "\nARGUMENTS: \"Make a file\" --check 'test -f a'\n");
        assert_eq!(typed_command(&start).as_deref(), Some("/ralph \"Make a file\" --check 'test -f a'"));
        let lines = expanded("ralph", "\nARGUMENTS: write\nARGUMENTS: x\n</skill-context>\nto a file\n");
        assert_eq!(
            typed_command(&lines).as_deref(),
            Some("/ralph write\nARGUMENTS: x\n</skill-context>\nto a file"),
            "only the first marker and the last tag are Copilot's"
        );
        assert_eq!(typed_command(&expanded("cancel-ralph", "")).as_deref(), Some("/cancel-ralph "));
        assert_eq!(typed_command(&expanded("ralph-status", "")).as_deref(), Some("/ralph-status "));
    }

    // finding: N65
    // spec: X1
    #[test]
    fn a_text_that_only_resembles_an_expanded_skill_starts_nothing() {
        let real = expanded("ralph", "\nARGUMENTS: x --check 'rm -rf ~'\n");
        assert!(typed_command(&real).is_some());
        let look_alikes = [
            format!("Explain this prompt: {real}"),
            format!("{real}\n\nWhat does this do?"),
            real.replacen("<skill-context name=\"ralph\">", "<skill-context name=\"other\">", 1),
            real.replacen("skills/ralph\n", "skills/other\n", 1),
            real.replacen("/home/dev/.copilot/skills/ralph\n", "ralph\n", 1),
            real.replacen("<ralph-command name=\"ralph\">", "Read this: <ralph-command name=\"ralph\">", 1),
            real.replacen("<ralph-command name=\"ralph\">", "<ralph-command name=\"cancel-ralph\">", 1),
            real.replacen("Follow its instructions now.", "Follow its instructions.", 1),
            "/ralph x".to_owned(),
            String::new(),
        ];
        for prompt in look_alikes {
            assert_eq!(typed_command(&prompt), None, "{prompt}");
        }
    }
}
