//! Which programs run what their arguments name: interpreters, and those that stand before another command. The tables say which
//! options have a value of their own, so that it is not taken for what is run.

/// A program whose first argument is a script.
pub(super) struct Interpreter {
    /// Without numbers at the end: `python3.11` is `python`.
    pub(super) names: &'static [&'static str],
    /// Options after which there is code, and no file.
    pub(super) code: &'static [&'static str],
    /// Options with a value.
    pub(super) values: &'static [&'static str],
    /// Options whose value is a file that is run as well.
    pub(super) files: &'static [&'static str],
    /// Words that may stand before the script.
    pub(super) before: &'static [&'static str],
}

pub(super) const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { names: &[".", "source"], code: &[], values: &[], files: &[], before: &[] },
    Interpreter {
        names: &["python", "pypy", "pythonw"],
        code: &["-c"],
        values: &["-W", "-X", "--check-hash-based-pycs"],
        files: &[],
        before: &[],
    },
    Interpreter {
        names: &["coverage"],
        code: &["-m"],
        values: &["--source", "--rcfile", "--omit", "--include", "--data-file", "--concurrency", "--context"],
        files: &[],
        before: &["run"],
    },
    Interpreter {
        names: &["node", "nodejs", "ts-node", "tsx"],
        code: &["-e", "--eval", "-p", "--print", "-pe"],
        values: &[
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
        files: &["-r", "--require", "--import", "--loader", "--experimental-loader"],
        before: &["watch"],
    },
    Interpreter {
        names: &["deno", "bun"],
        code: &["eval", "-e", "--eval", "-p", "--print"],
        values: &["-c", "--config", "--cwd", "--import-map", "--lock", "--filter"],
        files: &["-r", "--preload", "--require", "--import"],
        before: &["run", "test"],
    },
    Interpreter {
        names: &["perl", "ruby"],
        code: &["-e", "-E", "-ne", "-pe", "-lne"],
        values: &["-C", "-I"],
        files: &["-r"],
        before: &[],
    },
    Interpreter { names: &["php"], code: &["-r"], values: &["-c", "-d", "-z"], files: &["-f"], before: &[] },
    Interpreter {
        names: &["lua", "luajit", "Rscript"],
        code: &["-e"],
        values: &["-l"],
        files: &[],
        before: &[],
    },
];

pub(super) fn interpreter(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|one| one.names.contains(&name))
}

/// Returns the name of a program without its version.
pub(super) fn unversioned(name: &str) -> &str {
    let short = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || ".-".contains(letter));
    if short.is_empty() { name } else { short }
}

/// Words of the shell that stand before a command.
pub(super) const BEFORE: &[&str] =
    &["!", "builtin", "command", "do", "elif", "else", "exec", "if", "then", "time", "until", "while", "{"];

/// A program that runs the command that its arguments are.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options with a value.
    pub(super) values: &'static [&'static str],
    /// Options whose value is the text of a command.
    pub(super) text: &'static [&'static str],
    /// Options whose value is the folder in which it runs.
    pub(super) folder: &'static [&'static str],
    /// How many arguments, or which word, stand before the command.
    pub(super) first: First,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Arguments(usize),
    /// Without this word it runs something else.
    Word(&'static str),
}

const fn wrapper(name: &'static str, values: &'static [&'static str], first: First) -> Wrapper {
    Wrapper { name, values, text: &[], folder: &[], first }
}

const NONE: First = First::Arguments(0);
const ONE: First = First::Arguments(1);

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        values: &["-u", "--unset"],
        text: &["-S", "--split-string"],
        folder: &["-C", "--chdir"],
        first: NONE,
    },
    Wrapper {
        name: "sudo",
        values: &["-u", "--user", "-g", "--group", "-h", "-p", "-C", "-R", "-T", "-U", "-r", "-t"],
        text: &[],
        folder: &["-D", "--chdir"],
        first: NONE,
    },
    Wrapper { name: "su", values: &["-s", "-g"], text: &["-c", "--command"], folder: &[], first: ONE },
    Wrapper {
        name: "flock",
        values: &["-w", "--timeout", "-E"],
        text: &["-c", "--command"],
        folder: &[],
        first: ONE,
    },
    Wrapper { name: "script", values: &["-E", "-o"], text: &["-c", "--command"], folder: &[], first: ONE },
    Wrapper {
        name: "nix-shell",
        values: &["-p", "-A"],
        text: &["--run", "--command"],
        folder: &[],
        first: ONE,
    },
    wrapper("busybox", &[], NONE),
    wrapper("chronic", &[], NONE),
    wrapper("chrt", &["-T", "-P", "-D"], ONE),
    wrapper("doas", &["-u", "-C"], NONE),
    wrapper("ionice", &["-c", "-n", "-p", "-P", "-u", "--class", "--classdata"], NONE),
    wrapper("nice", &["-n", "--adjustment"], NONE),
    wrapper("nohup", &[], NONE),
    wrapper("parallel", &["-j", "--jobs", "-a"], NONE),
    wrapper("setsid", &[], NONE),
    wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], NONE),
    wrapper("strace", &["-o", "-e", "-p", "-s", "-u", "-E", "-P", "-O"], NONE),
    wrapper("taskset", &[], ONE),
    wrapper("time", &["-f", "-o", "--format", "--output"], NONE),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], ONE),
    wrapper("unbuffer", &[], NONE),
    wrapper("watch", &["-n", "--interval"], NONE),
    wrapper("xargs", &["-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a"], NONE),
    wrapper("xvfb-run", &["-s", "--server-args", "-n", "-e", "-f"], NONE),
    wrapper("bunx", &[], NONE),
    wrapper("npx", &["-p", "--package"], NONE),
    wrapper("bundle", &[], First::Word("exec")),
    wrapper("hatch", &["-e"], First::Word("run")),
    wrapper("npm", &["-p", "--package"], First::Word("exec")),
    wrapper("pdm", &["-p"], First::Word("run")),
    wrapper("pipenv", &[], First::Word("run")),
    wrapper("pnpm", &["-C", "--filter"], First::Word("exec")),
    wrapper("poetry", &["-C", "--directory"], First::Word("run")),
    wrapper("rye", &[], First::Word("run")),
    wrapper(
        "uv",
        &["--with", "-p", "--python", "--group", "--extra", "--env-file", "--project", "--with-requirements"],
        First::Word("run"),
    ),
    wrapper("yarn", &["--cwd"], First::Word("exec")),
];

pub(super) fn wrapping(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|one| one.name == name)
}
