//! Reads where git keeps the administrative files of a work tree, without running git.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The file that points from a work tree of ralph to the home of its project. It is in the git folder of that work
/// tree.
pub const HOME_POINTER_FILE: &str = "ralph-home";

/// Returns the git folder of a work tree: `.git`, or the folder that the file `.git` names.
pub(super) fn find_git_folder(root: &Path) -> PathBuf {
    let git = root.join(".git");
    let named = std::fs::read(&git).ok();
    let named = named.as_deref().and_then(|named| named.strip_prefix(b"gitdir: ")).map(<[u8]>::trim_ascii_end);
    let folder = named.map_or(git, |named| root.join(OsStr::from_bytes(named)));
    folder.canonicalize().unwrap_or(folder)
}

/// Returns the git folders of all work trees of the repository that a git folder belongs to: the common folder first.
pub(super) fn list_git_folders(git_folder: &Path) -> Vec<PathBuf> {
    let common = match std::fs::read(git_folder.join("commondir")) {
        Ok(named) => git_folder.join(OsStr::from_bytes(named.trim_ascii_end())),
        Err(_) => git_folder.to_path_buf(),
    };
    let common = common.canonicalize().unwrap_or(common);
    let linked = std::fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let linked: Vec<PathBuf> = linked.filter_map(|entry| Some(entry.ok()?.path())).collect();
    std::iter::once(common).chain(linked).collect()
}

/// Returns the home of the project, if the work tree is one that ralph created for a task or a run.
pub(super) fn home_of_task_worktree(root: &Path) -> Option<PathBuf> {
    if !root.join(".git").is_file() {
        return None;
    }
    let pointer = find_git_folder(root).join(HOME_POINTER_FILE);
    let home = PathBuf::from(OsString::from_vec(std::fs::read(pointer).ok()?));
    // The home itself may not exist yet; its folder does, unless the project was moved.
    (home.is_absolute() && home.parent().is_some_and(Path::is_dir)).then_some(home)
}
