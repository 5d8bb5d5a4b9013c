//! Checks that git objects have the content that their names promise. Git does not check this when it reads an object, so an
//! agent could overwrite the file of an object.
use std::path::Path;

use ralph_util::digest::encode_hex;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::git::GitError;
use crate::git::isolated_git::IsolatedGit;
use crate::git::work_files::exact_files::read_batch_object;

/// Returns the first of these objects whose content does not have this name; `None` if all are genuine.
pub fn find_forged_object(root: &Path, objects: &[String]) -> Result<Option<String>, GitError> {
    if objects.is_empty() {
        return Ok(None);
    }
    let args = ["cat-file", "--batch"];
    let wanted = objects.join("\n") + "\n";
    let read = IsolatedGit::in_folder(root).with_long_timeout().read_stdout_with_input(&args, wanted.as_bytes())?;
    let mut rest = read.as_slice();
    for object in objects {
        let missing = || GitError::Failed {
            command: args.join(" "),
            stderr: format!("the object {object} is missing or was overwritten"),
        };
        let (header, content) = read_batch_object(&mut rest).ok_or_else(missing)?;
        let name = header.split(' ').next().unwrap_or_default();
        if name != compute_name(name.len(), header, content) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// Computes the name of an object with so many characters. `header` also contains its kind and size.
fn compute_name(length: usize, header: &str, content: &[u8]) -> String {
    let kind_and_size = header.split_once(' ').map_or("", |(_, rest)| rest);
    let parts = [kind_and_size.as_bytes(), b"\0", content];
    if length == SHA1_NAME_LENGTH { hash_parts::<Sha1>(parts) } else { hash_parts::<Sha256>(parts) }
}

const SHA1_NAME_LENGTH: usize = 40;

fn hash_parts<D: Digest>(parts: [&[u8]; 3]) -> String {
    encode_hex(parts.iter().fold(D::new(), D::chain_update).finalize())
}

/// Returns the names of all objects that describe the folders of a tree or commit, with itself.
pub fn list_folder_objects(root: &Path, tree: &str) -> Result<Vec<String>, GitError> {
    let listed = IsolatedGit::in_folder(root).read_stdout(&["ls-tree", "-r", "-d", "-z", "--full-tree", tree])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let folders = listed.split('\0').filter(|entry| entry.starts_with("040000 "));
    let folders = folders.filter_map(|entry| entry.split([' ', '\t']).nth(2)).map(str::to_owned);
    Ok([tree.to_owned(), format!("{tree}^{{tree}}")].into_iter().chain(folders).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert_eq!(find_forged_object(&root, &objects).unwrap(), Some(blob.clone()));
        fs::remove_file(file_of(&blob)).unwrap();
        assert!(find_forged_object(&root, &objects).is_err(), "it is missing");
    }

    // spec: V15
    #[test]
    fn an_overwritten_folder_is_found_in_a_repository_with_sha256_names_too() {
        for format in ["sha1", "sha256"] {
            let temp = tempfile::tempdir().unwrap();
            let root = temp.path();
            run_git(root, &["init", "--quiet", &format!("--object-format={format}")]).unwrap();
            fs::create_dir(root.join("tests")).unwrap();
            fs::write(root.join("tests/a"), "original").unwrap();
            let commit = commit_all(root);
            let objects = list_folder_objects(root, &commit).unwrap();
            assert_eq!(find_forged_object(root, &objects).unwrap(), None);
            let name = |of: &str| run_git(root, &["rev-parse", of]).unwrap().trim().to_owned();
            let genuine = name("HEAD^{tree}");
            fs::write(root.join("tests/a"), "forged").unwrap();
            commit_all(root);
            let file_of = |name: &str| root.join(".git/objects").join(&name[..2]).join(&name[2..]);
            fs::remove_file(file_of(&genuine)).unwrap();
            fs::copy(file_of(&name("HEAD^{tree}")), file_of(&genuine)).unwrap();
            let found = find_forged_object(root, &objects);
            assert!(found.is_err(), "git itself finds a root that was overwritten: {found:?}");
            assert_eq!(find_forged_object(root, std::slice::from_ref(&genuine)).unwrap(), Some(genuine));
        }
    }
}
