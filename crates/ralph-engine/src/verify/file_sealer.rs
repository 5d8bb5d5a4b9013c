//! Hashes the files and git settings that must not change during a run: when the run starts, and again for every claim.
//! The seal itself is never read from the work tree.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::criterion::{Criterion, external_checks};
use ralph_core::evidence::CheckEvidence;
use ralph_core::seal::{
    AllowedChanges, Seal, SealedFile, SealedFileKind, SealedGitSetting, describe_file_changes,
    describe_setting_changes, seal_evidence,
};
use sha2::{Digest, Sha256};

use super::CheckEnvironment;
use super::acceptance::{AcceptancePolicy, PathPatterns, PatternError};
use super::command_files::CommandFiles;
use crate::git::{self, GitError};
use crate::project::Project;
use ralph_util::digest::{finish_hex, sha256_hex};

/// More files than this mean that a guard pattern is too wide.
const MAX_SEALED_FILES: usize = 50_000;

/// The files of ralph that decide which commands run and which results count. Prompts are not sealed: in classic mode
/// the agent may improve them.
const RALPH_FILES: &[&str] = &["config.yaml", "config"];
const RALPH_FOLDERS: &[&str] = &["workflows", "commands"];

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the guard covers more than {MAX_SEALED_FILES} files: use narrower guard patterns")]
    TooManyFiles,
    #[error("cannot serialize the criteria: {0}")]
    SerializeCriteria(serde_json::Error),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Finds and hashes the sealed files of a run.
pub struct FileSealer {
    root: PathBuf,
    ralph_files: Vec<PathBuf>,
    ralph_folders: Vec<PathBuf>,
    /// Folders that change with every run.
    volatile_folders: Vec<PathBuf>,
    guard_patterns: PathPatterns,
    allowed_patterns: PathPatterns,
    by_product_patterns: PathPatterns,
    /// Folders of the work tree that are on the PATH of a check.
    program_folders: Vec<PathBuf>,
    /// The scripts and programs that checks name.
    command_files: Vec<PathBuf>,
    /// Notes for the user, for example about files that cannot be sealed.
    notes: Vec<String>,
    criteria: Vec<Criterion>,
}

impl FileSealer {
    /// `environment` is the work tree and the environment in which the checks run; it decides which programs they find.
    pub fn new(
        project: &Project,
        acceptance: &AcceptancePolicy,
        criteria: &[Criterion],
        environment: &CheckEnvironment,
    ) -> Result<Self, SealError> {
        let checks = external_checks(criteria);
        let found: Vec<CommandFiles> =
            checks.iter().map(|found| CommandFiles::from_check(environment, found.check)).collect();
        let notes = project.notes_file("");
        let volatile = [project.state_folder(), project.session_logs_folder()];
        Ok(Self {
            volatile_folders: volatile.into_iter().chain(notes.parent().map(Path::to_path_buf)).collect(),
            ralph_files: RALPH_FILES.iter().map(|name| project.home.join(name)).collect(),
            ralph_folders: ralph_folders_of(project),
            guard_patterns: PathPatterns::compile(&acceptance.guard)?,
            allowed_patterns: PathPatterns::compile(&acceptance.allow_changes)?,
            by_product_patterns: PathPatterns::by_products_except(&acceptance.guard)?,
            program_folders: found.iter().flat_map(|named| named.folders.clone()).collect(),
            command_files: found.iter().flat_map(CommandFiles::files).collect(),
            notes: found.into_iter().flat_map(|named| named.notes).collect(),
            criteria: criteria.to_vec(),
            root: project.root.clone(),
        })
    }

    /// Hashes everything that must not change.
    pub fn seal(&self) -> Result<Seal, SealError> {
        let base = git::head_commit(&self.root)?;
        let settings = self.scan_git_settings()?;
        let ScannedFiles { files, allowed, has_too_many_allowed: too_many } = self.scan_files(&self.command_files)?;
        let (files, allowed) = (into_sealed_files(files), into_sealed_files(allowed));
        let git = settings.git;
        let criteria = serde_json::to_vec(&self.criteria).map_err(SealError::SerializeCriteria)?;
        let criteria_digest = sha256_hex(&criteria);
        let mut all = Sha256::new();
        all.update(&criteria_digest);
        for file in &files {
            all.update(serde_json::to_vec(file).map_err(SealError::SerializeCriteria)?);
        }
        for setting in &git {
            all.update(serde_json::to_vec(setting).map_err(SealError::SerializeCriteria)?);
        }
        let digest = finish_hex(all);
        let unmatched = if too_many { Vec::new() } else { self.unmatched_guard_notes(&files, &allowed) };
        let notes = self.notes.iter().cloned().chain(unmatched).collect();
        let allowed = AllowedChanges { files: allowed, too_many, git: settings.allowed };
        Ok(Seal { digest, criteria_digest, base, files, git, allowed, uncommitted: Vec::new(), protected: None, notes })
    }

    /// Returns a note for each guard pattern that matches no file.
    fn unmatched_guard_notes(&self, files: &[SealedFile], allowed: &[SealedFile]) -> Vec<String> {
        let paths: Vec<&str> = files.iter().chain(allowed).map(|file| file.path.as_str()).collect();
        let unmatched = self.guard_patterns.unmatched_patterns(&paths).into_iter();
        unmatched.map(|pattern| format!("the guard pattern {pattern} matches no file: check its spelling")).collect()
    }

    /// Hashes the files that must not change.
    pub(super) fn hash_sealed_files(&self) -> Result<Vec<SealedFile>, SealError> {
        Ok(into_sealed_files(self.scan_files(&self.command_files)?.files))
    }

    /// Hashes the files that are always sealed, and the named files.
    fn scan_files(&self, named: &[PathBuf]) -> Result<ScannedFiles, SealError> {
        let mut found = self.scan_fixed_files()?;
        for path in named {
            // A folder cannot be executed.
            if !path.is_dir() && !found.contains_name(&self.relative_name(path)) {
                self.hash_file_into(path, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Checks whether everything is as it was sealed. A script that did not exist at that time may have been written
    /// since. Git runs last: if files were changed, `git` itself could be another program.
    #[must_use]
    pub fn check_seal(&self, seal: &Seal) -> CheckEvidence {
        seal_evidence(&self.changes_since(seal))
    }

    /// Returns a description of each sealed file or setting that has changed.
    pub(super) fn changes_since(&self, seal: &Seal) -> Vec<String> {
        let files = self.file_changes_since(&seal.files);
        if !files.is_empty() {
            return files;
        }
        match self.scan_git_settings() {
            Ok(settings) => describe_setting_changes(&seal.git, &settings.git),
            Err(error) => vec![error.to_string()],
        }
    }

    /// Returns a description of each sealed file that has changed.
    pub(super) fn file_changes_since(&self, sealed: &[SealedFile]) -> Vec<String> {
        match self.rescan_files(sealed) {
            Ok(now) => describe_file_changes(sealed, &into_sealed_files(now.files)),
            Err(error) => vec![error.to_string()],
        }
    }

    /// Returns a description of each change that `allow_changes` permits.
    pub(super) fn allowed_changes_since(&self, seal: &Seal) -> Vec<String> {
        if self.allowed_patterns.is_empty() {
            return Vec::new();
        }
        let now = self.rescan_files(&seal.allowed.files).and_then(
            |ScannedFiles { allowed, has_too_many_allowed: too_many, .. }| {
                Ok(AllowedChanges {
                    files: into_sealed_files(allowed),
                    too_many,
                    git: self.scan_git_settings()?.allowed,
                })
            },
        );
        now.map_or_else(|error| vec![error.to_string()], |now| seal.allowed.describe_changes(&now))
    }

    /// Returns the git settings that make git start programs or read other files.
    fn scan_git_settings(&self) -> Result<ScannedGitSettings, SealError> {
        let settings = git::read_sensitive_settings(&self.root)?.into_iter();
        let sealed = settings.map(|(name, value)| SealedGitSetting { name, sha256: sha256_hex(&value) });
        let (allowed, git) = sealed.partition(|setting| self.allowed_patterns.matches(&setting.name));
        Ok(ScannedGitSettings { git, allowed })
    }

    /// Returns a sealer for the same files in another checkout. Files outside the work tree are left out.
    pub(super) fn for_checkout(&self, root: &Path) -> Self {
        let relocate = |paths: &[PathBuf]| {
            paths.iter().filter_map(|path| Some(root.join(path.strip_prefix(&self.root).ok()?))).collect()
        };
        Self {
            root: root.to_path_buf(),
            ralph_files: relocate(&self.ralph_files),
            ralph_folders: relocate(&self.ralph_folders),
            volatile_folders: relocate(&self.volatile_folders),
            program_folders: relocate(&self.program_folders),
            command_files: relocate(&self.command_files),
            notes: Vec::new(),
            criteria: Vec::new(),
            guard_patterns: self.guard_patterns.clone(),
            allowed_patterns: self.allowed_patterns.clone(),
            by_product_patterns: self.by_product_patterns.clone(),
        }
    }

    /// Returns a sealer for the same files except programs: the setup of a checkout may install them again.
    pub(super) fn without_programs(&self) -> Self {
        Self { program_folders: Vec::new(), ..self.for_checkout(&self.root) }
    }

    /// Returns the guarded files, by their names.
    pub(super) fn list_guarded_files(&self) -> Result<Vec<String>, SealError> {
        let mut found = ScannedFiles::default();
        self.walk_folder(&self.root, &|path| self.guard_patterns.matches(path), &mut found)?;
        Ok(found.files.into_keys().collect())
    }

    /// Hashes the files that are always sealed, and everything that is now at the paths of the sealed files.
    fn rescan_files(&self, sealed: &[SealedFile]) -> Result<ScannedFiles, SealError> {
        let mut found = self.scan_fixed_files()?;
        for file in sealed {
            if !found.contains_name(&file.path) {
                self.hash_file_into(&self.root.join(&file.path), &mut found)?;
            }
        }
        Ok(found)
    }

    /// Hashes the files that are always sealed: guarded files, ralph's files, and programs in the work tree.
    fn scan_fixed_files(&self) -> Result<ScannedFiles, SealError> {
        let mut found = ScannedFiles::default();
        if !self.guard_patterns.is_empty() {
            self.walk_folder(&self.root, &|path| self.guard_patterns.matches(path), &mut found)?;
        }
        for path in &self.ralph_files {
            self.hash_file_into(path, &mut found)?;
        }
        for folder in &self.ralph_folders {
            self.walk_folder(folder, &|_| true, &mut found)?;
        }
        for folder in &self.program_folders {
            for path in list_folder(folder)? {
                if self.is_program(folder, &path) {
                    self.hash_file_into(&path, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    /// Every file in a program folder counts as a program. If the root of the work tree is a program folder, only its
    /// executable files count.
    fn is_program(&self, folder: &Path, path: &Path) -> bool {
        let is_executable_file = || path.metadata().is_ok_and(|metadata| is_executable(&metadata));
        !path.is_dir() && (folder != self.root || is_executable_file())
    }

    fn walk_folder(
        &self,
        folder: &Path,
        is_wanted: &dyn Fn(&str) -> bool,
        found: &mut ScannedFiles,
    ) -> Result<(), SealError> {
        for path in list_folder(folder)? {
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            if is_git
                || self.volatile_folders.contains(&path)
                || self.by_product_patterns.matches(&self.relative_name(&path))
            {
                continue;
            }
            let name = self.relative_name(&path);
            let kind = path.symlink_metadata().map_err(|error| unreadable_error(&path, error))?.file_type();
            // A link that replaces a folder changes everything in it.
            let is_wanted_link = || kind.is_symlink() && is_wanted(&format!("{name}/_"));
            if kind.is_dir() {
                self.walk_folder(&path, is_wanted, found)?;
            } else if is_wanted(&name) || is_wanted_link() {
                self.hash_file_into(&path, found)?;
            }
        }
        Ok(())
    }

    /// Hashes a file, if it exists.
    fn hash_file_into(&self, path: &Path, found: &mut ScannedFiles) -> Result<(), SealError> {
        let name = self.relative_name(path);
        let is_allowed = self.allowed_patterns.matches(&name);
        if is_allowed && found.drop_allowed_if_full() {
            return Ok(());
        }
        let hashed = if is_allowed { &mut found.allowed } else { &mut found.files };
        if let Some((kind, sha256)) = hash_path(path).map_err(|source| unreadable_error(path, source))? {
            hashed.insert(name.clone(), SealedFile { path: name, kind, sha256 });
        }
        if found.files.len() > MAX_SEALED_FILES { Err(SealError::TooManyFiles) } else { Ok(()) }
    }

    /// Returns the path relative to the root. Different files never get the same name, even if their paths are not
    /// UTF-8.
    fn relative_name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        match inside.to_str() {
            Some(name) => name.to_owned(),
            None => format!("{} ({})", inside.to_string_lossy(), sha256_hex(inside.as_os_str().as_bytes())),
        }
    }
}

/// Hashed files by name: those that must not change, and those that may.
#[derive(Default)]
struct ScannedFiles {
    files: BTreeMap<String, SealedFile>,
    allowed: BTreeMap<String, SealedFile>,
    /// There are more allowed files than the limit, so none is kept.
    has_too_many_allowed: bool,
}

impl ScannedFiles {
    /// Drops all allowed files if there are too many. Returns whether they are dropped.
    fn drop_allowed_if_full(&mut self) -> bool {
        if self.allowed.len() >= AllowedChanges::MAX_FILES {
            self.has_too_many_allowed = true;
            self.allowed.clear();
        }
        self.has_too_many_allowed
    }

    fn contains_name(&self, name: &str) -> bool {
        self.files.contains_key(name) || self.allowed.contains_key(name)
    }
}

/// Git settings: those that must not change, and those that may.
struct ScannedGitSettings {
    git: Vec<SealedGitSetting>,
    allowed: Vec<SealedGitSetting>,
}

fn into_sealed_files(files: BTreeMap<String, SealedFile>) -> Vec<SealedFile> {
    files.into_values().collect()
}

/// Returns the folders of ralph to seal. If the ralph home is the project root, folders with common names belong to the
/// project and are left out.
fn ralph_folders_of(project: &Project) -> Vec<PathBuf> {
    let named = RALPH_FOLDERS.iter().map(|name| project.home.join(name));
    let named = named.filter(|_| !project.is_own_home());
    [project.verifiers_folder(), project.templates_folder()].into_iter().chain(named).collect()
}

fn unreadable_error(path: &Path, source: io::Error) -> SealError {
    SealError::Unreadable { path: path.to_path_buf(), source }
}

/// Returns the entries of a folder; empty if the folder does not exist.
fn list_folder(folder: &Path) -> Result<Vec<PathBuf>, SealError> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable_error(folder, error)),
    };
    listed.map(|entry| entry.map(|entry| entry.path()).map_err(|error| unreadable_error(folder, error))).collect()
}

fn hash_path(path: &Path) -> io::Result<Option<(SealedFileKind, String)>> {
    let about = match path.symlink_metadata() {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if about.is_symlink() {
        let mut all = Sha256::new();
        all.update(fs::read_link(path)?.as_os_str().as_bytes());
        if let Ok(target) = path.metadata()
            && target.is_file()
        {
            all.update(if is_executable(&target) { b"\0x" } else { b"\0-" });
            hash_contents(path, &mut all)?;
        }
        return Ok(Some((SealedFileKind::Link, finish_hex(all))));
    }
    if !about.is_file() {
        return Ok(Some((SealedFileKind::Other, sha256_hex(b""))));
    }
    let mut all = Sha256::new();
    hash_contents(path, &mut all)?;
    let kind = if is_executable(&about) { SealedFileKind::Executable } else { SealedFileKind::File };
    Ok(Some((kind, finish_hex(all))))
}

fn is_executable(about: &fs::Metadata) -> bool {
    about.permissions().mode() & 0o111 != 0
}

fn hash_contents(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            count => hasher.update(piece.get(..count).unwrap_or_default()),
        }
    }
}
