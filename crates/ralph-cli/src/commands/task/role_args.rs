//! What each role must bring, as flags: the same six for each of the four.
use clap::Args;
use ralph_core::task::{MethodName, Role, VerificationConfig};

use crate::commands::value_parsers::parse_iterations;
use crate::error::CommandError;
use ralph_app::task;
use ralph_app::tasks::RoleFields;
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
    /// Returns the fields of every role that has a flag.
    pub fn to_fields(&self) -> Result<Vec<RoleFields>, CommandError> {
        let by_role = [
            (Role::Coder, self.coder.flags()),
            (Role::Reviewer, self.reviewer.flags()),
            (Role::Tester, self.tester.flags()),
            (Role::Qa, self.qa.flags()),
        ];
        by_role.into_iter().filter(|(_, flags)| !flags.is_empty()).map(|(role, flags)| flags.to_fields(role)).collect()
    }
}

impl RoleFlags<'_> {
    fn is_empty(&self) -> bool {
        let texts = [self.promise, self.description, self.verify_cmd, self.verify_config];
        texts.iter().all(Option::is_none) && self.verify.is_none() && self.max_iterations.is_none()
    }

    fn to_fields(&self, role: Role) -> Result<RoleFields, CommandError> {
        let config = self.verify_config.map(|written| parse_verify_config(self.verify_config_flag, written));
        Ok(RoleFields {
            role,
            promise: self.promise.cloned(),
            description: self.description.cloned(),
            method: self.verify,
            command: self.verify_cmd.cloned(),
            config: config.transpose()?,
            max_iterations: self.max_iterations,
        })
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
