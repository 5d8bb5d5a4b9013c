//! Checks that git objects have the content that their names promise. Git does not check this when it reads an object, so an
//! agent could overwrite the file of an object.
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::GitError;
use super::isolated_git::IsolatedGit;
use super::temporary_folder::TemporaryFolder;

/// Returns the first of these objects whose content does not have this name; `None` if all are genuine.
pub fn find_forged_object(root: &Path, objects: &[String]) -> Result<Option<String>, GitError> {
    let Some(first) = objects.first() else { return Ok(None) };
    let wanted = objects.join("\n") + "\n";
    let git = IsolatedGit::in_folder(root).with_long_timeout();
    let pack = git.read_stdout_with_input(&["pack-objects", "--quiet", "--stdout", "--window=0"], wanted.as_bytes())?;
    // The names are computed again in an empty repository.
    let folder = TemporaryFolder::create("objects")?;
    let empty = IsolatedGit::in_folder(&folder.path).with_long_timeout();
    create_empty_repository(&folder.path, first.len() > 40).map_err(|source| folder.to_git_error(source))?;
    empty.read_stdout_with_input(&["index-pack", "--stdin"], &pack)?;
    let listed = empty.read_stdout(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let genuine: BTreeSet<&str> = listed.lines().collect();
    Ok(objects.iter().find(|name| !genuine.contains(name.as_str())).cloned())
}

/// Creates a bare repository. Hand-written because it is needed at every claim, and `git init` takes longer.
fn create_empty_repository(folder: &Path, is_sha256: bool) -> io::Result<()> {
    for name in ["objects/pack", "refs"] {
        fs::create_dir_all(folder.join(name))?;
    }
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n")?;
    let format = if is_sha256 { "[extensions]\nobjectFormat = sha256\n" } else { "" };
    fs::write(folder.join("config"), format!("[core]\nrepositoryFormatVersion = 1\nbare = true\n{format}"))
}

/// Returns the names of all objects that describe the folders of a tree or commit, with itself.
pub fn list_folder_objects(root: &Path, tree: &str) -> Result<Vec<String>, GitError> {
    let git = IsolatedGit::in_folder(root);
    let mut objects = vec![tree.to_owned(), git.read_line(&["rev-parse", &format!("{tree}^{{tree}}")])?];
    let listed = git.read_stdout(&["ls-tree", "-r", "-d", "-z", "--full-tree", tree])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let folders = listed.split('\0').filter(|entry| entry.starts_with("040000 "));
    objects.extend(folders.filter_map(|entry| entry.split([' ', '\t']).nth(2)).map(str::to_owned));
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    // spec: V15
    #[test]
    fn an_overwritten_object_is_found() {
        let (_temp, root) = new_repository();
        fs::create_dir(root.join("tests")).unwrap();
        fs::write(root.join("tests/a"), "original").unwrap();
        let commit = commit_all(&root);
        let mut objects = list_folder_objects(&root, &commit).unwrap();
        assert_eq!(objects.len(), 3, "commit, root and folder");
        let blob = run_git(&root, &["rev-parse", "HEAD:tests/a"]).unwrap().trim().to_owned();
        objects.push(blob.clone());
        assert_eq!(find_forged_object(&root, &objects).unwrap(), None);
        fs::write(root.join("forged"), "forged").unwrap();
        let forged = run_git(&root, &["hash-object", "-w", "forged"]).unwrap().trim().to_owned();
        let file_of = |name: &str| root.join(".git/objects").join(&name[..2]).join(&name[2..]);
        fs::remove_file(file_of(&blob)).unwrap();
        fs::copy(file_of(&forged), file_of(&blob)).unwrap();
        assert_eq!(find_forged_object(&root, &objects).unwrap(), Some(blob));
    }
}
