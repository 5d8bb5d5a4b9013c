//! The flags for the completion criteria of each role: the same six flags for each of the four roles.
use clap::Args;
use ralph_core::task::{MethodName, Role, VerificationConfig};

use crate::commands::args::value_parsers::parse_iterations;
use crate::error::CommandError;
use ralph_app::task_files;
use ralph_app::tasks::RoleFields;
use ralph_util::suggest;

macro_rules! role_args {
    ($name:ident, $role:literal, $heading:literal) => {
        #[derive(Debug, Clone, Default, Args)]
        #[command(next_help_heading = $heading)]
        pub struct $name {
            #[arg(id = concat!($role, "-promise"), long = concat!($role, "-promise"), value_name = "TEXT",
                        help = "Text inside <promise>…</promise> with which the role claims completion")]
            promise: Option<String>,
            #[arg(id = concat!($role, "-description"), long = concat!($role, "-description"), value_name = "TEXT",
                        help = "Description of when the stage is done")]
            description: Option<String>,
            #[arg(id = concat!($role, "-verify"), long = concat!($role, "-verify"), value_name = "METHOD",
                        value_parser = parse_method, help = "Verification method: string_match, external, semantic, multi_stage or plugin")]
            verify: Option<MethodName>,
            #[arg(id = concat!($role, "-verify-cmd"), long = concat!($role, "-verify-cmd"), value_name = "CMD",
                        help = "Shell command that must succeed")]
            verify_cmd: Option<String>,
            #[arg(id = concat!($role, "-verify-config"), long = concat!($role, "-verify-config"),
                        value_name = "JSON|@FILE", help = "Configuration of the verification method")]
            verify_config: Option<String>,
            #[arg(id = concat!($role, "-max-iterations"), long = concat!($role, "-max-iterations"), value_name = "N",
                        value_parser = parse_iterations, help = "Iteration limit of the stage")]
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
    /// The name of the `verify_config` flag, for error messages.
    verify_config_flag: &'static str,
    promise: Option<&'a String>,
    description: Option<&'a String>,
    verify: Option<MethodName>,
    verify_cmd: Option<&'a String>,
    verify_config: Option<&'a String>,
    max_iterations: Option<u32>,
}

impl RoleArgs {
    /// Returns the fields of every role for which a flag is set.
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
            return Err(CommandError::usage_error(format!("{flag}: there is no file name after @"))
                .with_hint("write @check.yaml, or JSON: '{\"command\": \"make test\"}'"));
        }
        Some(path) => task_files::read_verification_file(path),
        None if !written.trim_start().starts_with('{') => {
            return Err(CommandError::usage_error(format!("{flag}: expected JSON or @FILE"))
                .with_hint("write '{\"command\": \"make test\"}' or @check.yaml"));
        }
        None => task_files::parse_verification_json(written, flag),
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
