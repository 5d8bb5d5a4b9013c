//! Moves the entries of a folder, also to another file system. An interrupted move can be repeated.
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Moves every entry, the one called `last` at the end: while it is in the old place, the move is not complete.
pub(super) fn move_entries(from: &Path, to: &Path, last: &str) -> io::Result<()> {
    let mut names =
        fs::read_dir(from)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| name == last);
    for name in &names {
        move_entry(&from.join(name), &to.join(name))?;
    }
    File::open(to)?.sync_all()?;
    fs::remove_dir(from)
}

fn move_entry(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        other => return other,
    }
    let draft = to.with_added_extension("moving");
    remove_entry(&draft)?;
    copy_entry(from, &draft)?;
    fs::rename(&draft, to)?;
    remove_entry(from)
}

fn copy_entry(from: &Path, to: &Path) -> io::Result<()> {
    let about = from.symlink_metadata()?;
    if about.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_entry(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if about.is_file() {
        fs::copy(from, to)?;
        File::open(to)?.sync_all()?;
    } else {
        return Err(io::Error::other(format!("{} is neither a file nor a folder", from.display())));
    }
    fs::set_permissions(to, about.permissions())
}

fn remove_entry(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: D1
    #[test]
    fn a_copied_entry_has_the_same_content_and_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let (from, to) = (temp.path().join("from"), temp.path().join("to"));
        fs::create_dir_all(from.join("runs/r1")).unwrap();
        fs::write(from.join("runs/r1/log"), "text").unwrap();
        fs::set_permissions(from.join("runs/r1/log"), fs::Permissions::from_mode(0o600)).unwrap();
        copy_entry(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("runs/r1/log")).unwrap(), "text");
        assert_eq!(to.join("runs/r1/log").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    // spec: D1
    #[test]
    fn a_repeated_move_finishes_an_interrupted_one() {
        let temp = tempfile::tempdir().unwrap();
        let (from, to) = (temp.path().join("from"), temp.path().join("to"));
        fs::create_dir_all(from.join("runs")).unwrap();
        fs::create_dir_all(to.join("earlier")).unwrap();
        fs::write(from.join("ralph.db"), "db").unwrap();
        move_entries(&from, &to, "ralph.db").unwrap();
        assert!(to.join("ralph.db").is_file() && to.join("runs").is_dir() && to.join("earlier").is_dir());
        assert!(!from.exists());
    }
}
