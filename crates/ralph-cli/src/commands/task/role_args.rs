//! What each role must bring, as flags: the same six for each of the four.
use clap::Args;
use ralph_core::criterion::CheckCommand;
use ralph_core::task::{CompletionSpec, MethodName, Role, RoleSpec, VerificationConfig};

use crate::commands::value_parsers::parse_iterations;
use crate::error::CommandError;
use ralph_app::task;
use ralph_util::suggest;

macro_rules! role_args {
    ($name:ident, $role:literal, $heading:literal) => {
        #[derive(Debug, Clone, Default, Args)]
        #[command(next_help_heading = $heading)]
        pub struct $name {
            #[arg(id = concat!($role, "-promise"), long = concat!($role, "-promise"), value_name = "TEXT",
                        help = "The text inside <promise>…</promise> by which it claims")]
            promise: Option<String>,
            #[arg(id = concat!($role, "-description"), long = concat!($role, "-description"), value_name = "TEXT",
                        help = "When its stage is done, in words")]
            description: Option<String>,
            #[arg(id = concat!($role, "-verify"), long = concat!($role, "-verify"), value_name = "METHOD",
                        value_parser = parse_method, help = "string_match, external, semantic, multi_stage or plugin")]
            verify: Option<MethodName>,
            #[arg(id = concat!($role, "-verify-cmd"), long = concat!($role, "-verify-cmd"), value_name = "CMD",
                        help = "The shell command that must succeed")]
            verify_cmd: Option<String>,
            #[arg(id = concat!($role, "-verify-config"), long = concat!($role, "-verify-config"),
                        value_name = "JSON|@FILE", help = "The configuration of its method")]
            verify_config: Option<String>,
            #[arg(id = concat!($role, "-max-iterations"), long = concat!($role, "-max-iterations"), value_name = "N",
                        value_parser = parse_iterations, help = "Most iterations of its stage")]
            max_iterations: Option<u32>,
        }

        impl $name {
            fn flags(&self) -> RoleFlags<'_> {
                RoleFlags {
                    verify_config_flag: concat!("--", $role, "-verify-config"),
                    promise: self.promise.as_ref(),
                    description: self.description.as_ref(),
                    verify: self.verify,
                    verify_cmd: self.verify_cmd.as_ref(),
                    verify_config: self.verify_config.as_ref(),
                    max_iterations: self.max_iterations,
                }
            }
        }
    };
}

role_args!(CoderArgs, "coder", "Coder");
role_args!(ReviewerArgs, "reviewer", "Reviewer");
role_args!(TesterArgs, "tester", "Tester");
role_args!(QaArgs, "qa", "QA");

#[derive(Debug, Clone, Default, Args)]
pub struct RoleArgs {
    #[command(flatten)]
    coder: CoderArgs,
    #[command(flatten)]
    reviewer: ReviewerArgs,
    #[command(flatten)]
    tester: TesterArgs,
    #[command(flatten)]
    qa: QaArgs,
}

/// The flags of one role.
struct RoleFlags<'a> {
    /// The flag whose value is a text of its own.
    verify_config_flag: &'static str,
    promise: Option<&'a String>,
    description: Option<&'a String>,
    verify: Option<MethodName>,
    verify_cmd: Option<&'a String>,
    verify_config: Option<&'a String>,
    max_iterations: Option<u32>,
}

impl RoleArgs {
    fn flags_by_role(&self) -> [(Role, RoleFlags<'_>); 4] {
        [
            (Role::Coder, self.coder.flags()),
            (Role::Reviewer, self.reviewer.flags()),
            (Role::Tester, self.tester.flags()),
            (Role::Qa, self.qa.flags()),
        ]
    }

    pub fn is_empty(&self) -> bool {
        self.flags_by_role().iter().all(|(_, flags)| flags.is_empty())
    }

    /// Puts what the flags say over what is there.
    pub fn apply(&self, spec: &mut CompletionSpec) -> Result<(), CommandError> {
        for (role, flags) in self.flags_by_role() {
            if let (false, Some(place)) = (flags.is_empty(), spec.role_spec_mut(&role)) {
                flags.apply(&role, place.get_or_insert_default())?;
            }
        }
        Ok(())
    }
}

impl RoleFlags<'_> {
    fn is_empty(&self) -> bool {
        let texts = [self.promise, self.description, self.verify_cmd, self.verify_config];
        texts.iter().all(Option::is_none) && self.verify.is_none() && self.max_iterations.is_none()
    }

    fn apply(&self, role: &Role, block: &mut RoleSpec) -> Result<(), CommandError> {
        if let Some(method) = self.verify {
            // What was said of another method says nothing to this one.
            if block.method_for(role) != method {
                block.verification_config = None;
            }
            block.verification_method = Some(method);
        }
        if let Some(written) = self.verify_config {
            block.verification_config = Some(parse_verify_config(self.verify_config_flag, written)?);
        }
        if let Some(command) = self.verify_cmd {
            block.verification_method.get_or_insert(MethodName::External);
            let config = block.verification_config.get_or_insert_default();
            config.command = Some(CheckCommand::Shell(command.clone()));
        }
        let said = |new: Option<&String>, old: &mut Option<String>| {
            if let Some(new) = new {
                *old = Some(new.clone());
            }
        };
        said(self.promise, &mut block.promise);
        said(self.description, &mut block.description);
        block.max_iterations = self.max_iterations.or(block.max_iterations);
        Ok(())
    }
}

fn parse_verify_config(flag: &'static str, written: &str) -> Result<VerificationConfig, CommandError> {
    let read = match written.strip_prefix('@') {
        Some("") => {
            return Err(CommandError::usage_error(format!("{flag}: the file behind @ has no name"))
                .with_hint("such as @check.yaml, or JSON: '{\"command\": \"make test\"}'"));
        }
        Some(path) => task::read_verification_file(path),
        None if !written.trim_start().starts_with('{') => {
            return Err(CommandError::usage_error(format!("{flag}: JSON is expected, or @ and the name of a file"))
                .with_hint("such as '{\"command\": \"make test\"}' or @check.yaml"));
        }
        None => task::parse_verification_json(written, flag),
    };
    read.map_err(|error| CommandError {
        exit_code: ralph_core::outcome::exit_code::USAGE_ERROR,
        ..CommandError::from(error)
    })
}

fn parse_method(text: &str) -> Result<MethodName, String> {
    let names = MethodName::ALL.map(MethodName::as_str);
    MethodName::parse(text).ok_or_else(|| suggest::suggestion_hint(text, &names))
}
