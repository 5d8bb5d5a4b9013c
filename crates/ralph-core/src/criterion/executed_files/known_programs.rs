//! Tables of programs that execute what their arguments name: interpreters, and wrappers such as `timeout`. The tables
//! list the options that take a value, so that the value is not mistaken for the executed file.

/// A program whose first argument is a script.
pub(super) struct ScriptInterpreter {
    /// Names without the version: `python3.11` is `python`.
    pub(super) names: &'static [&'static str],
    /// Options that are followed by code instead of a file.
    pub(super) code_options: &'static [&'static str],
    /// Options with a value.
    pub(super) value_options: &'static [&'static str],
    /// Options whose value is a file that is executed too.
    pub(super) file_options: &'static [&'static str],
    /// Words that may precede the script.
    pub(super) leading_words: &'static [&'static str],
    pub(super) search: ScriptSearch,
}

/// Which other files an interpreter looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptSearch {
    Exact,
    /// It adds endings such as `.js` to the name.
    Node,
    /// It imports modules from the folder of the script.
    Python,
}

pub(super) const SHELL_NAMES: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

const INTERPRETERS: &[ScriptInterpreter] = &[
    ScriptInterpreter {
        names: &[".", "source"],
        code_options: &[],
        value_options: &[],
        file_options: &[],
        leading_words: &[],
        search: ScriptSearch::Exact,
    },
    ScriptInterpreter {
        names: &["python", "pypy", "pythonw"],
        code_options: &["-c"],
        value_options: &["-W", "-X", "--check-hash-based-pycs"],
        file_options: &[],
        leading_words: &[],
        search: ScriptSearch::Python,
    },
    ScriptInterpreter {
        names: &["coverage"],
        code_options: &["-m"],
        value_options: &["--source", "--rcfile", "--omit", "--include", "--data-file", "--concurrency", "--context"],
        file_options: &[],
        leading_words: &["run"],
        search: ScriptSearch::Python,
    },
    ScriptInterpreter {
        names: &["node", "nodejs", "ts-node", "tsx"],
        code_options: &["-e", "--eval", "-p", "--print", "-pe"],
        value_options: &[
            "-C",
            "--conditions",
            "--env-file",
            "--test-name-pattern",
            "--test-reporter",
            "--test-reporter-destination",
            "--title",
            "-O",
            "-P",
            "--project",
            "--tsconfig",
        ],
        file_options: &["-r", "--require", "--import", "--loader", "--experimental-loader"],
        leading_words: &["watch"],
        search: ScriptSearch::Node,
    },
    ScriptInterpreter {
        names: &["deno", "bun"],
        code_options: &["eval", "-e", "--eval", "-p", "--print"],
        value_options: &["-c", "--config", "--cwd", "--import-map", "--lock", "--filter"],
        file_options: &["-r", "--preload", "--require", "--import"],
        leading_words: &["run", "test"],
        search: ScriptSearch::Exact,
    },
    ScriptInterpreter {
        names: &["perl", "ruby"],
        code_options: &["-e", "-E", "-ne", "-pe", "-lne"],
        value_options: &["-C", "-I"],
        file_options: &["-r"],
        leading_words: &[],
        search: ScriptSearch::Exact,
    },
    ScriptInterpreter {
        names: &["php"],
        code_options: &["-r"],
        value_options: &["-c", "-d", "-z"],
        file_options: &["-f"],
        leading_words: &[],
        search: ScriptSearch::Exact,
    },
    ScriptInterpreter {
        names: &["lua", "luajit", "Rscript"],
        code_options: &["-e"],
        value_options: &["-l"],
        file_options: &[],
        leading_words: &[],
        search: ScriptSearch::Exact,
    },
];

pub(super) fn find_interpreter(name: &str) -> Option<&'static ScriptInterpreter> {
    INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))
}

/// Returns the name of a program without its version.
pub(super) fn strip_version(name: &str) -> &str {
    let short = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || ".-".contains(letter));
    if short.is_empty() { name } else { short }
}

/// Shell keywords and builtins that precede a command.
pub(super) const COMMAND_PREFIX_WORDS: &[&str] =
    &["!", "builtin", "command", "do", "elif", "else", "exec", "if", "then", "time", "until", "while", "{"];

/// A program that executes the command in its arguments.
pub(super) struct CommandWrapper {
    pub(super) name: &'static str,
    /// Options with a value.
    pub(super) value_options: &'static [&'static str],
    /// Options whose value is the text of a command.
    pub(super) command_text_options: &'static [&'static str],
    /// Options whose value is the working directory of the command.
    pub(super) folder_options: &'static [&'static str],
    /// How many arguments, or which word, precede the command.
    pub(super) command_start: CommandStart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandStart {
    AfterArguments(usize),
    /// Without this word, the program does not execute a command from its arguments.
    AfterWord(&'static str),
}

const fn simple_wrapper(name: &'static str, values: &'static [&'static str], first: CommandStart) -> CommandWrapper {
    CommandWrapper { name, value_options: values, command_text_options: &[], folder_options: &[], command_start: first }
}

const IMMEDIATE_START: CommandStart = CommandStart::AfterArguments(0);
const AFTER_ONE_ARGUMENT: CommandStart = CommandStart::AfterArguments(1);

const WRAPPERS: &[CommandWrapper] = &[
    CommandWrapper {
        name: "env",
        value_options: &["-u", "--unset"],
        command_text_options: &["-S", "--split-string"],
        folder_options: &["-C", "--chdir"],
        command_start: IMMEDIATE_START,
    },
    CommandWrapper {
        name: "sudo",
        value_options: &["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-R", "-T", "-U", "-r", "-t"],
        command_text_options: &[],
        folder_options: &["-D", "--chdir"],
        command_start: IMMEDIATE_START,
    },
    CommandWrapper {
        name: "su",
        value_options: &["-s", "-g"],
        command_text_options: &["-c", "--command"],
        folder_options: &[],
        command_start: AFTER_ONE_ARGUMENT,
    },
    CommandWrapper {
        name: "flock",
        value_options: &["-w", "--timeout", "-E"],
        command_text_options: &["-c", "--command"],
        folder_options: &[],
        command_start: AFTER_ONE_ARGUMENT,
    },
    CommandWrapper {
        name: "script",
        value_options: &["-E", "-o"],
        command_text_options: &["-c", "--command"],
        folder_options: &[],
        command_start: AFTER_ONE_ARGUMENT,
    },
    CommandWrapper {
        name: "nix-shell",
        value_options: &["-p", "-A"],
        command_text_options: &["--run", "--command"],
        folder_options: &[],
        command_start: AFTER_ONE_ARGUMENT,
    },
    simple_wrapper("busybox", &[], IMMEDIATE_START),
    simple_wrapper("chronic", &[], IMMEDIATE_START),
    simple_wrapper("chrt", &["-T", "-P", "-D"], AFTER_ONE_ARGUMENT),
    simple_wrapper("doas", &["-u", "-C"], IMMEDIATE_START),
    simple_wrapper("ionice", &["-c", "-n", "-p", "-P", "-u", "--class", "--classdata"], IMMEDIATE_START),
    simple_wrapper("nice", &["-n", "--adjustment"], IMMEDIATE_START),
    simple_wrapper("nohup", &[], IMMEDIATE_START),
    simple_wrapper("parallel", &["-j", "--jobs", "-a"], IMMEDIATE_START),
    simple_wrapper("setsid", &[], IMMEDIATE_START),
    simple_wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], IMMEDIATE_START),
    simple_wrapper("strace", &["-o", "-e", "-p", "-s", "-u", "-E", "-P", "-O"], IMMEDIATE_START),
    simple_wrapper("taskset", &[], AFTER_ONE_ARGUMENT),
    simple_wrapper("time", &["-f", "-o", "--format", "--output"], IMMEDIATE_START),
    simple_wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], AFTER_ONE_ARGUMENT),
    simple_wrapper("unbuffer", &[], IMMEDIATE_START),
    simple_wrapper("watch", &["-n", "--interval"], IMMEDIATE_START),
    simple_wrapper("xargs", &["-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a"], IMMEDIATE_START),
    simple_wrapper("xvfb-run", &["-s", "--server-args", "-n", "-e", "-f"], IMMEDIATE_START),
    simple_wrapper("bunx", &[], IMMEDIATE_START),
    simple_wrapper("npx", &["-p", "--package"], IMMEDIATE_START),
    simple_wrapper("bundle", &[], CommandStart::AfterWord("exec")),
    simple_wrapper("hatch", &["-e"], CommandStart::AfterWord("run")),
    simple_wrapper("npm", &["-p", "--package"], CommandStart::AfterWord("exec")),
    simple_wrapper("pdm", &["-p"], CommandStart::AfterWord("run")),
    simple_wrapper("pipenv", &[], CommandStart::AfterWord("run")),
    simple_wrapper("pnpm", &["-C", "--filter"], CommandStart::AfterWord("exec")),
    simple_wrapper("poetry", &["-C", "--directory"], CommandStart::AfterWord("run")),
    simple_wrapper("rye", &[], CommandStart::AfterWord("run")),
    simple_wrapper(
        "uv",
        &["--with", "-p", "--python", "--group", "--extra", "--env-file", "--project", "--with-requirements"],
        CommandStart::AfterWord("run"),
    ),
    simple_wrapper("yarn", &["--cwd"], CommandStart::AfterWord("exec")),
];

pub(super) fn find_wrapper(name: &str) -> Option<&'static CommandWrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}
