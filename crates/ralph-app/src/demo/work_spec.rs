//! The specification of `ralph demo --work`: a small project, its tasks, and their tests. The tests are part of the project
//! before the work, so that the agent cannot change them unnoticed.

/// The tasks, in the order in which they depend on each other.
pub const DEMO_WORK_TASKS: [&str; 3] = ["GREET-1", "GREET-2", "GREET-3"];

pub(super) const TASK_FILE_NAME: &str = "tasks.yaml";

pub(super) const TASK_FILE: &str = r#"- id: GREET-1
  spec_id: greeter
  title: Greet by name
  description: 'Write greet.sh: "sh greet.sh Ada" prints "Hello, Ada!".'
  completion:
    outcome: greet.sh greets by name
    acceptance_criteria: ['"sh tests/greet.sh" passes']
    coder: { verification_method: external, verification_config: { command: sh tests/greet.sh } }
    reviewer: { verification_method: string_match }
    tester: { verification_method: external, verification_config: { command: sh tests/greet.sh } }
    qa: { verification_method: external, verification_config: { command: sh tests/greet.sh } }
- id: GREET-2
  spec_id: greeter
  title: Greet loudly
  description: 'Write shout.sh: it prints the greeting of greet.sh in capitals.'
  dependencies: [GREET-1]
  completion:
    outcome: shout.sh greets in capitals
    acceptance_criteria: ['"sh tests/shout.sh" passes', names may contain spaces]
    coder: { verification_method: external, verification_config: { command: sh tests/shout.sh } }
    reviewer: { verification_method: string_match }
    tester: { verification_method: external, verification_config: { command: sh tests/shout-spaces.sh } }
    qa: { verification_method: external, verification_config: { command: sh tests/shout.sh && sh tests/greet.sh } }
- id: GREET-3
  spec_id: greeter
  title: Choose how to greet
  description: 'Write hello.sh: with --loud it uses shout.sh, else greet.sh.'
  dependencies: [GREET-1, GREET-2]
  completion:
    outcome: hello.sh greets in both ways
    acceptance_criteria: ['"sh tests/hello.sh" passes']
    coder: { verification_method: external, verification_config: { command: sh tests/hello.sh } }
    reviewer: { verification_method: string_match }
    tester: { verification_method: external, verification_config: { command: sh tests/hello.sh } }
    qa: { verification_method: external, verification_config: { command: sh tests/greet.sh && sh tests/shout.sh && sh tests/shout-spaces.sh && sh tests/hello.sh } }
"#;

/// The files of the project before the work.
pub(super) const PROJECT_FILES: [(&str, &str); 6] = [
    ("README.md", "# greeter\n\nThree small programs that greet. The tests are in `tests/`.\n"),
    (TASK_FILE_NAME, TASK_FILE),
    ("tests/greet.sh", "#!/bin/sh\ntest \"$(sh greet.sh Ada)\" = 'Hello, Ada!'\n"),
    ("tests/shout.sh", "#!/bin/sh\ntest \"$(sh shout.sh Ada)\" = 'HELLO, ADA!'\n"),
    ("tests/shout-spaces.sh", "#!/bin/sh\ntest \"$(sh shout.sh 'Ada Lovelace')\" = 'HELLO, ADA LOVELACE!'\n"),
    (
        "tests/hello.sh",
        "#!/bin/sh\ntest \"$(sh hello.sh Ada)\" = 'Hello, Ada!' && test \"$(sh hello.sh --loud Ada)\" = 'HELLO, ADA!'\n",
    ),
];

/// A program that the agent writes for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DemoProgram {
    pub(super) task: &'static str,
    pub(super) file: &'static str,
    /// The test that the tester and qa run.
    pub(super) test: &'static str,
    pub(super) text: &'static str,
}

const PROGRAMS: [DemoProgram; 3] = [
    DemoProgram {
        task: "GREET-1",
        file: "greet.sh",
        test: "sh tests/greet.sh",
        text: "#!/bin/sh\n# Greets by name.\nprintf 'Hello, %s!\\n' \"$1\"\n",
    },
    DemoProgram {
        task: "GREET-2",
        file: "shout.sh",
        test: "sh tests/shout.sh && sh tests/shout-spaces.sh",
        text: "#!/bin/sh\n# Greets in capitals.\nsh greet.sh \"$1\" | tr 'a-z' 'A-Z'\n",
    },
    DemoProgram {
        task: "GREET-3",
        file: "hello.sh",
        test: "sh tests/hello.sh",
        text: "#!/bin/sh\n# Greets, with --loud in capitals.\n\
               if [ \"$1\" = --loud ]; then sh shout.sh \"$2\"; else sh greet.sh \"$1\"; fi\n",
    },
];

/// The first version of greet.sh, which the agent claims to be complete.
pub(super) const FALSE_GREET: &str = "#!/bin/sh\n# Greets by name.\necho 'Hello!'\n";

/// The first version of shout.sh: its test passes, but a name with spaces loses its second word.
pub(super) const CARELESS_SHOUT: &str = "#!/bin/sh\n# Greets in capitals.\nsh greet.sh $1 | tr 'a-z' 'A-Z'\n";

/// Returns what the agent writes for a task of the demo.
pub(super) fn program_of_task(task: &str) -> Option<DemoProgram> {
    PROGRAMS.into_iter().find(|program| program.task == task)
}
