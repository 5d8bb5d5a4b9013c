//! Files in the parent folders of a checkout that decide what test programs do. Many programs search all parent folders,
//! and the work can write to the folder for temporary files.
use std::path::{Path, PathBuf};

/// Files and folders that common build and test programs search for in parent folders.
const DECIDING_NAMES: &[&str] = &[
    ".babelrc",
    ".bundle",
    ".cargo",
    ".config/nextest.toml",
    ".eslintrc.json",
    ".mocharc.json",
    ".mvn",
    ".npmrc",
    ".nycrc",
    ".rspec",
    ".yarnrc.yml",
    "Cargo.toml",
    "Directory.Build.props",
    "Directory.Build.targets",
    "Gemfile",
    "babel.config.js",
    "bunfig.toml",
    "conftest.py",
    "deno.json",
    "global.json",
    "go.mod",
    "go.work",
    "jest.config.js",
    "justfile",
    "node_modules",
    "package.json",
    "phpunit.xml",
    "pyproject.toml",
    "pytest.ini",
    "pytest.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "tox.ini",
    "tsconfig.json",
    "vitest.config.ts",
];

/// Returns the first file in a parent folder that could decide what checks in `folder` do.
pub(in crate::git) fn find_deciding_file(folder: &Path) -> Option<PathBuf> {
    let parents = folder.ancestors().skip(1);
    let mut paths = parents.flat_map(|parent| DECIDING_NAMES.iter().map(|name| parent.join(name)));
    paths.find(|path| path.symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // finding: N13
    // spec: V10
    #[test]
    fn a_file_in_any_parent_folder_that_test_programs_search_for_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("tmp/checkout");
        fs::create_dir_all(folder.join("node_modules")).unwrap();
        assert_eq!(find_deciding_file(&folder), None, "files of the checkout itself are part of the work");
        for name in ["node_modules", ".cargo", "pytest.ini"] {
            let path = temp.path().join(name);
            fs::create_dir(&path).unwrap();
            assert_eq!(find_deciding_file(&folder), Some(path.clone()));
            fs::remove_dir(&path).unwrap();
        }
    }
}
