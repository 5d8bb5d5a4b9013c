//! The request in a message of a conversation: a command, or the workflow that it names.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A workflow with the phrases that start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowPhrases {
    pub name: String,
    /// The quoted texts of its `Triggers:` line.
    pub triggers: Vec<String>,
}

/// The answer of a person to the question of a workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerCommand {
    pub decision: String,
    pub text: String,
}

/// The request in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationOrder {
    StartWorkflow {
        name: String,
        message: String,
    },
    ListWorkflows,
    ShowStatus,
    CancelRun,
    Answer(AnswerCommand),
    /// The message names several workflows.
    Ambiguous {
        names: Vec<String>,
    },
    /// The message names no workflow.
    Unknown,
    /// A command that does not exist, or lacks a part.
    Invalid {
        reason: String,
    },
}

/// The workflow that `/ralph` starts.
const RALPH_WORKFLOW: &str = "ralph";

/// Returns what a message asks for. A slash command is the first word; else the longest phrase in the message decides.
#[must_use]
pub fn route_message(message: &str, workflows: &[WorkflowPhrases]) -> ConversationOrder {
    let message = message.trim();
    if message.starts_with('/') { route_command(message) } else { route_phrase(message, workflows) }
}

fn route_command(message: &str) -> ConversationOrder {
    let (command, rest) = split_word(message);
    match command {
        "/ralph" => ConversationOrder::StartWorkflow { name: RALPH_WORKFLOW.to_owned(), message: rest.to_owned() },
        "/cancel-ralph" => ConversationOrder::CancelRun,
        "/status" => ConversationOrder::ShowStatus,
        "/workflow" => route_workflow_command(rest),
        _ => invalid(format!("there is no command {command}; use /ralph, /cancel-ralph, /status or /workflow")),
    }
}

fn route_workflow_command(text: &str) -> ConversationOrder {
    let (command, rest) = split_word(text);
    match (command, rest) {
        ("" | "list", _) => ConversationOrder::ListWorkflows,
        ("status", _) => ConversationOrder::ShowStatus,
        ("cancel", _) => ConversationOrder::CancelRun,
        ("run", "") => invalid("write /workflow run NAME MESSAGE".to_owned()),
        ("run", rest) => {
            let (name, message) = split_word(rest);
            ConversationOrder::StartWorkflow { name: name.to_owned(), message: message.to_owned() }
        }
        ("approve" | "reject", text) => answer(command, text),
        ("respond", "") => invalid("write /workflow respond DECISION TEXT".to_owned()),
        ("respond", rest) => {
            let (decision, text) = split_word(rest);
            answer(decision, text)
        }
        _ => invalid(format!(
            "there is no command /workflow {command}; use list, run, status, cancel, approve, reject or respond"
        )),
    }
}

fn answer(decision: &str, text: &str) -> ConversationOrder {
    ConversationOrder::Answer(AnswerCommand { decision: decision.to_owned(), text: text.to_owned() })
}

fn invalid(reason: String) -> ConversationOrder {
    ConversationOrder::Invalid { reason }
}

/// Splits the first word from the rest, both without blanks around them.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn route_phrase(message: &str, workflows: &[WorkflowPhrases]) -> ConversationOrder {
    let text = normalize(message);
    let phrases = workflows.iter().flat_map(|workflow| {
        let triggers = workflow.triggers.iter().map(String::as_str);
        core::iter::once(workflow.name.as_str()).chain(triggers).map(move |phrase| (normalize(phrase), &workflow.name))
    });
    let found: Vec<_> = phrases.filter(|(phrase, _)| contains_phrase(&text, phrase)).collect();
    let longest = found.iter().map(|(phrase, _)| phrase.len()).max().unwrap_or(0);
    let mut names: Vec<String> =
        found.into_iter().filter(|(phrase, _)| phrase.len() == longest).map(|(_, name)| name.clone()).collect();
    names.sort();
    names.dedup();
    match names.len() {
        0 => ConversationOrder::Unknown,
        1 => ConversationOrder::StartWorkflow { name: names.swap_remove(0), message: message.to_string() },
        _ => ConversationOrder::Ambiguous { names },
    }
}

/// Returns the words in lower case with one blank between them.
fn normalize(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Returns whether the phrase is in the text as whole words: `plan` is not in `plan-build`.
fn contains_phrase(text: &str, phrase: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    !phrase.is_empty()
        && text.match_indices(phrase).any(|(at, found)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn workflows() -> Vec<WorkflowPhrases> {
        let workflow = |name: &str, triggers: &[&str]| WorkflowPhrases {
            name: name.to_owned(),
            triggers: triggers.iter().map(|trigger| (*trigger).to_owned()).collect(),
        };
        vec![
            workflow("ralph", &["run ralph", "implement all stories"]),
            workflow("plan-build", &["plan and build"]),
            workflow("plan", &[]),
            workflow("review", &["check it"]),
            workflow("audit", &["check it"]),
        ]
    }

    fn route(message: &str) -> ConversationOrder {
        route_message(message, &workflows())
    }

    fn start(name: &str, message: &str) -> ConversationOrder {
        ConversationOrder::StartWorkflow { name: name.to_owned(), message: message.to_owned() }
    }

    // spec: W9
    #[test]
    fn a_message_with_the_name_of_a_workflow_or_a_trigger_starts_it_with_the_whole_message() {
        assert_eq!(route("run ralph"), start("ralph", "run ralph"));
        assert_eq!(route(" Please Implement  ALL\nstories. "), start("ralph", "Please Implement  ALL\nstories."));
        assert_eq!(route("use plan-build now"), start("plan-build", "use plan-build now"));
    }

    // spec: W9
    #[test]
    fn phrases_are_whole_words_and_the_longest_one_wins() {
        assert_eq!(route("explain the ralphs"), ConversationOrder::Unknown);
        assert_eq!(route("replan-build"), ConversationOrder::Unknown);
        assert_eq!(route("plan and build the review"), start("plan-build", "plan and build the review"));
        assert_eq!(route("plan"), start("plan", "plan"));
    }

    // spec: W9
    #[test]
    fn a_phrase_of_several_workflows_starts_none_of_them() {
        assert_eq!(
            route("check it"),
            ConversationOrder::Ambiguous { names: vec!["audit".to_owned(), "review".to_owned()] }
        );
    }

    // spec: W9
    #[test]
    fn slash_commands_start_show_cancel_and_answer() {
        assert_eq!(route("/ralph do the rest"), start("ralph", "do the rest"));
        assert_eq!(route("/workflow run review the last commit"), start("review", "the last commit"));
        assert_eq!(route("/workflow run review"), start("review", ""));
        for list in ["/workflow", "/workflow list"] {
            assert_eq!(route(list), ConversationOrder::ListWorkflows);
        }
        for status in ["/status", "/workflow status"] {
            assert_eq!(route(status), ConversationOrder::ShowStatus);
        }
        for cancel in ["/cancel-ralph", "/workflow cancel"] {
            assert_eq!(route(cancel), ConversationOrder::CancelRun);
        }
        let answer = |decision: &str, text: &str| {
            ConversationOrder::Answer(AnswerCommand { decision: decision.to_owned(), text: text.to_owned() })
        };
        assert_eq!(route("/workflow approve"), answer("approve", ""));
        assert_eq!(route("/workflow reject too slow"), answer("reject", "too slow"));
        assert_eq!(route("/workflow respond later next week"), answer("later", "next week"));
    }

    // spec: W9
    #[test]
    fn an_unknown_or_incomplete_command_says_what_there_is_and_starts_nothing() {
        for (message, reason) in [
            ("/ralphs", "there is no command /ralphs; use /ralph, /cancel-ralph, /status or /workflow"),
            (
                "/workflow review",
                "there is no command /workflow review; use list, run, status, cancel, approve, reject or respond",
            ),
            ("/workflow run", "write /workflow run NAME MESSAGE"),
            ("/workflow respond", "write /workflow respond DECISION TEXT"),
        ] {
            assert_eq!(route(message), ConversationOrder::Invalid { reason: reason.to_owned() });
        }
    }
}
