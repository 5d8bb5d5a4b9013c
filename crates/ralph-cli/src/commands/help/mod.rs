//! `ralph help`: the help of a command, or a page of the guide, which is part of the program.
mod command_groups;
mod page_format;
mod topics;

use clap::{Args, Command};
use ralph_util::suggest;

use command_groups::format_plumbing;
pub use command_groups::grouped_help_template;
#[cfg(test)]
pub use command_groups::{COMMAND_GROUPS, PLUMBING};
use page_format::format_page;
pub use topics::TOPICS;
use topics::find_topic;

use crate::commands::{complete_parser, out};
use crate::error::CommandError;
use crate::report::ColorMode;

/// Shows the help of a command, or a page of the guide
///
/// The guide is part of ralph, so it describes the version that is installed. A name that is both a command and a page means
/// the command; --guide means the page.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph help                  all commands and topics
  ralph help run              the options of `ralph run`
  ralph help overnight        a page of the guide
  ralph help --guide run      the page about runs")]
pub struct HelpArgs {
    /// A command, such as `run` or `task create`, or a topic of the guide
    #[arg(value_name = "COMMAND|TOPIC")]
    name: Vec<String>,
    /// Shows the page of the guide, even if a command has the same name
    #[arg(long)]
    guide: bool,
}

pub fn run(args: &HelpArgs) -> Result<u8, CommandError> {
    let mut parser = complete_parser();
    match args.name.as_slice() {
        [] if args.guide => out::print_data(&format_topic_list()),
        [] => {
            out::print_data(&parser.render_long_help().to_string());
            out::print_data(&format!("\n{}", format_topic_list()));
        }
        [word] if word == "plumbing" => out::print_data(&format_plumbing()),
        [topic] if args.guide => print_page(&parser, topic)?,
        path => match find_command(&mut parser, path) {
            Some(command) => print_command_help(command, path),
            None => print_page(&parser, &path.join(" "))?,
        },
    }
    Ok(0)
}

/// Returns the command that the words name.
fn find_command<'a>(parser: &'a mut Command, path: &[String]) -> Option<&'a mut Command> {
    path.iter().try_fold(parser, |command, word| command.find_subcommand_mut(word))
}

/// Prints the help of a command, and where the guide describes it.
fn print_command_help(command: &mut Command, path: &[String]) {
    out::print_data(&command.render_long_help().to_string());
    if let [name] = path
        && find_topic(name).is_some()
    {
        out::print_data(&format!("\nGuide: ralph help --guide {name}\n"));
    }
}

fn print_page(parser: &Command, name: &str) -> Result<(), CommandError> {
    let Some(topic) = find_topic(name) else { return Err(unknown_name_error(parser, name)) };
    out::print_data(&format_page(topic.text, ColorMode::for_stream(&std::io::stdout())));
    Ok(())
}

fn unknown_name_error(parser: &Command, name: &str) -> CommandError {
    let commands = parser.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let known: Vec<&str> = commands.chain(TOPICS.iter().map(|topic| topic.name)).collect();
    let failure = CommandError::usage_error(format!("there is no command and no topic named {name:?}"));
    match suggest::nearest_name(name, &known) {
        Some(near) => failure.with_hint(format!("did you mean `ralph help {near}`?")),
        None => failure.with_hint("`ralph help` lists the commands and topics"),
    }
}

/// Returns the list of topics.
fn format_topic_list() -> String {
    let mut text = String::from("Guide (ralph help TOPIC, or ralph help --guide TOPIC):\n");
    let columns = TOPICS.iter().map(|topic| topic.name.len()).max().unwrap_or_default();
    for topic in TOPICS {
        text.push_str(&format!("  {:<columns$}  {}\n", topic.name, topic.title()));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // spec: U12
    #[test]
    fn every_page_of_the_guide_is_a_topic() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages: BTreeSet<String> = files
            .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
            .filter(|name| name != "README")
            .collect();
        let topics: BTreeSet<String> = TOPICS.iter().map(|topic| topic.name.to_owned()).collect();
        assert_eq!(topics, pages);
    }

    // spec: U12
    #[test]
    fn every_page_fits_on_a_screen_of_eighty_columns() {
        for topic in TOPICS {
            let page = format_page(topic.text, ColorMode::Plain);
            // Commands and other examples are shown as they are, because they are copied.
            let is_wrapped = |line: &&str| !line.starts_with("    ") && line.trim().contains(' ');
            let long: Vec<&str> = page.lines().filter(is_wrapped).filter(|line| line.chars().count() > 80).collect();
            assert_eq!(long, Vec::<&str>::new(), "{}", topic.name);
            let is_marked = |line: &&str| !line.starts_with("    ") && (line.contains("](") || line.contains("**"));
            assert_eq!(page.lines().find(is_marked), None, "{}", topic.name);
        }
    }

    // spec: U11
    // finding: N52
    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let parser = complete_parser();
        let shown: Vec<&str> = parser.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        let listed = COMMAND_GROUPS.iter().flat_map(|group| group.commands).chain(PLUMBING).map(|command| command.name);
        let listed: Vec<&str> = listed.collect();
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names
        };
        let shown: Vec<String> = shown.into_iter().map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(sorted(listed), shown);
    }

    // finding: N56
    #[test]
    fn every_argument_of_every_command_has_a_help_text() {
        let mut blank = Vec::new();
        collect_blank_arguments(&complete_parser(), "ralph", &mut blank);
        assert_eq!(blank, Vec::<String>::new());
    }

    fn collect_blank_arguments(command: &Command, path: &str, blank: &mut Vec<String>) {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let text = argument.get_help().map(ToString::to_string).unwrap_or_default();
            if text.trim().is_empty() {
                blank.push(format!("{path} {}", argument.get_id()));
            }
        }
        for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
            collect_blank_arguments(child, &format!("{path} {}", child.get_name()), blank);
        }
    }

    // finding: N56
    #[test]
    fn no_help_text_names_a_file_of_our_repository() {
        let mut texts = Vec::new();
        collect_help(&mut complete_parser(), &mut texts);
        let bad: Vec<&String> = texts.iter().filter(|text| text.contains("docs/guide")).collect();
        assert_eq!(bad, Vec::<&String>::new());
    }

    fn collect_help(command: &mut Command, texts: &mut Vec<String>) {
        texts.push(command.render_long_help().to_string());
        command.get_subcommands_mut().for_each(|child| collect_help(child, texts));
    }
}
