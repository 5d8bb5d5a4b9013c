//! Finds the folder of the session loops: in the state folder of the user, because the working directory of a session
//! can change and belongs to the project.
use std::ffi::OsString;
use std::path::PathBuf;

use ralph_util::user_folders::{self, NoStateFolder};

/// Finds the folder. `env_var` looks up environment variables.
pub fn find_loop_folder(env_var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoStateFolder> {
    Ok(user_folders::find_state_folder(env_var)?.join("sessions"))
}
