//! `ralph completions`: prints shell completion scripts, which also offer the ids of runs and tasks.
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::commands::out;
use crate::error::CommandError;

/// Prints the completion script for a shell
///
/// The script of bash, zsh and fish also completes the ids of the runs and tasks of the current project.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph completions bash > ~/.local/share/bash-completion/completions/ralph
  ralph completions zsh > ~/.zfunc/_ralph        a folder of your $fpath
  ralph completions fish > ~/.config/fish/completions/ralph.fish")]
pub struct CompletionsArgs {
    /// The shell that you use
    shell: Shell,
}

/// Offers ids if there are any, and otherwise what the generated function offers.
const BASH_IDS: &str = r#"
_ralph_with_ids() {
    local current="${COMP_WORDS[COMP_CWORD]}" ids=""
    _ralph "$@"
    if [[ "$current" != -* ]]; then
        ids=$(ralph complete-ids "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null | cut -f1)
    fi
    if [[ -n "$ids" ]]; then
        COMPREPLY=( $(compgen -W "$ids" -- "$current") )
    fi
    return 0
}
complete -F _ralph_with_ids -o bashdefault -o default ralph
"#;

const ZSH_IDS: &str = r#"
_ralph_with_ids() {
    local -a ids
    if [[ "$words[CURRENT]" != -* ]]; then
        ids=("${(@f)$(ralph complete-ids "${(@)words[2,CURRENT-1]}" 2>/dev/null | cut -f1)}")
        ids=(${ids:#})
    fi
    if (( ${#ids} )); then
        compadd -a ids
    else
        _ralph_options "$@"
    fi
}
"#;

const FISH_IDS: &str = r#"
complete -c ralph -n 'not string match -q -- "-*" (commandline -ct)' -f -a '(ralph complete-ids (commandline -opc)[2..-1] 2>/dev/null)'
"#;

pub fn run(args: &CompletionsArgs) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible_commands(), "ralph", &mut script);
    out::print_data(&add_ids(args.shell, &String::from_utf8_lossy(&script)));
    Ok(0)
}

/// Adds the completion of ids to a generated script. The generator knows only what is fixed.
fn add_ids(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}{BASH_IDS}"),
        Shell::Fish => format!("{script}{FISH_IDS}"),
        Shell::Zsh => {
            // A file of $fpath is the body of a function that is called `_ralph`, so ours must be called there.
            let renamed = script.replace("\n_ralph() {", "\n_ralph_options() {");
            let (functions, start) = renamed.rsplit_once("\nif [ \"$funcstack[1]\"").unwrap_or((&renamed, ""));
            let start = start
                .replace("_ralph \"$@\"", "_ralph_with_ids \"$@\"")
                .replace("compdef _ralph ", "compdef _ralph_with_ids ");
            format!("{functions}\n{ZSH_IDS}\nif [ \"$funcstack[1]\"{start}")
        }
        _ => script.to_owned(),
    }
}

/// Returns the command line without hidden commands, because the generators would offer them too.
fn visible_commands() -> Command {
    let all = crate::commands::Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("ralph").disable_help_subcommand(true).version(env!("CARGO_PKG_VERSION")).subcommands(shown.cloned())
}
