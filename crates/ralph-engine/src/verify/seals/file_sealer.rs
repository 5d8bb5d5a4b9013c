//! Hashes the files and git settings that must not change during a run: when the run starts, and again for every claim.
//! The seal itself is never read from the work tree.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::criterion::{Criterion, external_checks};
use ralph_core::evidence::CheckEvidence;
use ralph_core::seal::{
    AllowedChanges, Seal, SealedFile, SealedGitSetting, describe_added_paths, describe_file_changes,
    describe_folder_changes, describe_setting_changes, seal_evidence,
};
use sha2::{Digest, Sha256};

use crate::git::{self, CheckoutError, GitError, TemporaryCheckout};
use crate::project::Project;
use crate::verify::CheckEnvironment;
use crate::verify::acceptance::{AcceptancePolicy, PathPatterns, PatternError};
use crate::verify::seals::command_files::CommandFiles;
use crate::verify::seals::file_hash::{hash_path, is_executable};
use crate::verify::seals::sealed_paths::{self, FileStamps, SealedPaths};
use ralph_process::is_cancelled;
use ralph_util::digest::{finish_hex, sha256_hex};

/// More files than this mean that a guard pattern is too wide.
const MAX_SEALED_FILES: usize = 50_000;

/// How many names are passed to one call of git.
const MAX_NAMES_PER_CALL: usize = 500;

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
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
}

/// Finds and hashes the sealed files of a run.
#[derive(Clone)]
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
    /// Files whose appearance would change what a check runs.
    shadowing_files: Vec<PathBuf>,
    /// Groups of files of which an interpreter runs the first that exists.
    completions: Vec<Vec<PathBuf>>,
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
            shadowing_files: found.iter().flat_map(|named| named.shadowing_files.clone()).collect(),
            completions: found.iter().flat_map(|named| named.completions.clone()).collect(),
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
        let SealedPaths { files, folders, absent } = self.add_surroundings(files)?;
        let git = settings.git;
        let criteria = serde_json::to_vec(&self.criteria).map_err(SealError::SerializeCriteria)?;
        let criteria_digest = sha256_hex(&criteria);
        let unmatched = if too_many { Vec::new() } else { self.unmatched_guard_notes(&files, &allowed) };
        let notes = self.notes.iter().cloned().chain(unmatched).collect();
        let allowed = AllowedChanges { files: allowed, too_many, git: settings.allowed };
        let (touched, uncommitted) = (Vec::new(), Vec::new());
        let digest = String::new();
        with_digest(Seal {
            digest,
            criteria_digest,
            base,
            files,
            folders,
            absent,
            touched,
            git,
            allowed,
            uncommitted,
            protected: None,
            notes,
        })
    }

    /// Hashes everything that must not change as it is in a commit. Files that the commit ignores and files outside the work
    /// tree are hashed as they are now.
    pub(in crate::verify) fn seal_commit(&self, commit: &str) -> Result<Seal, SealError> {
        let now = self.seal()?;
        let checkout = TemporaryCheckout::create(&self.root, commit)?;
        let SealedPaths { mut files, absent, .. } = self.for_checkout(checkout.path()).hash_sealed_files()?;
        let others: Vec<SealedFile> =
            now.files.into_iter().filter(|file| !files.iter().any(|known| known.path == file.path)).collect();
        let ignored = list_ignored_names(checkout.path(), &others);
        let is_kept = |file: &SealedFile| Path::new(&file.path).is_absolute() || ignored.contains(&file.path);
        let mut folders = sealed_paths::scan_parent_folders(checkout.path(), &files)
            .map_err(|source| unreadable_error(checkout.path(), source))?;
        let is_new = |folder: &SealedFile| !folders.iter().any(|known| known.path == folder.path);
        let kept: Vec<SealedFile> = others.into_iter().filter(is_kept).collect();
        let above_kept = sealed_paths::scan_parent_folders(&self.root, &kept)
            .map_err(|source| unreadable_error(&self.root, source))?;
        let above_kept: Vec<SealedFile> = above_kept.into_iter().filter(is_new).collect();
        folders.extend(above_kept);
        files.extend(kept);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        with_digest(Seal { base: Some(commit.to_owned()), files, folders, absent, ..now })
    }

    /// Hashes ralph's configuration again if it is outside the work tree: people may edit it between two stages, and
    /// commands in it are run only after they were approved.
    pub(in crate::verify) fn refresh_settings_files(&self, mut seal: Seal) -> Result<Seal, SealError> {
        let outside: Vec<&PathBuf> = self.ralph_files.iter().filter(|path| !path.starts_with(&self.root)).collect();
        let names: Vec<String> = outside.iter().map(|path| self.relative_name(path)).collect();
        let mut found = ScannedFiles::default();
        outside.into_iter().try_for_each(|path| self.hash_file_into(path, &mut found))?;
        seal.files.retain(|file| !names.contains(&file.path));
        seal.files.extend(found.files.into_values());
        with_digest(seal)
    }

    /// Returns a note for each guard pattern that matches no file.
    fn unmatched_guard_notes(&self, files: &[SealedFile], allowed: &[SealedFile]) -> Vec<String> {
        let paths: Vec<&str> = files.iter().chain(allowed).map(|file| file.path.as_str()).collect();
        let unmatched = self.guard_patterns.unmatched_patterns(&paths).into_iter();
        unmatched.map(|pattern| format!("the guard pattern {pattern} matches no file: check its spelling")).collect()
    }

    /// Hashes the files that must not change.
    pub(in crate::verify) fn hash_sealed_files(&self) -> Result<SealedPaths, SealError> {
        self.add_surroundings(into_sealed_files(self.scan_files(&self.command_files)?.files))
    }

    /// Adds the folders above the files, and the paths at which nothing may appear.
    fn add_surroundings(&self, files: Vec<SealedFile>) -> Result<SealedPaths, SealError> {
        let folders = sealed_paths::scan_parent_folders(&self.root, &files);
        let folders = folders.map_err(|source| unreadable_error(&self.root, source))?;
        Ok(SealedPaths { files, folders, absent: self.list_absent_paths() })
    }

    /// Returns the paths at which nothing exists and where a new file would change what a check runs.
    fn list_absent_paths(&self) -> Vec<String> {
        let is_found = |group: &&Vec<PathBuf>| group.iter().any(|path| path.is_file());
        let completions = self.completions.iter().filter(is_found).flatten();
        let missing = completions.chain(&self.shadowing_files).filter(|path| path.symlink_metadata().is_err());
        let names: BTreeSet<String> = missing.map(|path| self.relative_name(path)).collect();
        names.into_iter().filter(|name| !self.allowed_patterns.matches(name)).collect()
    }

    /// Reads the stamps of sealed files.
    pub(in crate::verify) fn read_stamps(&self, files: &[SealedFile]) -> FileStamps {
        FileStamps::read(&self.root, Arc::new(files.iter().map(|file| file.path.clone()).collect()))
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
    pub(in crate::verify) fn changes_since(&self, seal: &Seal) -> Vec<String> {
        let files = self.file_changes_since(&SealedPaths::from(seal));
        if !files.is_empty() {
            return files;
        }
        match self.scan_git_settings() {
            Ok(settings) => describe_setting_changes(&seal.git, &settings.git),
            Err(error) => vec![error.to_string()],
        }
    }

    /// Returns a description of each sealed file that has changed.
    pub(in crate::verify) fn file_changes_since(&self, sealed: &SealedPaths) -> Vec<String> {
        self.find_path_changes(sealed).unwrap_or_else(|error| vec![error.to_string()])
    }

    fn find_path_changes(&self, sealed: &SealedPaths) -> Result<Vec<String>, SealError> {
        let folders =
            sealed_paths::rescan_folders(&self.root, sealed.folders.iter().map(|folder| folder.path.as_str()))
                .map_err(|source| unreadable_error(&self.root, source))?;
        let mut changes = describe_folder_changes(&sealed.folders, &folders);
        let now = into_sealed_files(self.rescan_files(&sealed.files)?.files);
        changes.extend(describe_file_changes(&sealed.files, &now));
        let is_added = |name: &&String| {
            let is_reported = now.iter().any(|file| file.path == **name);
            !is_reported && self.root.join(name).symlink_metadata().is_ok()
        };
        let added: Vec<String> = sealed.absent.iter().filter(is_added).cloned().collect();
        changes.extend(describe_added_paths(&added));
        Ok(changes)
    }

    /// Returns a description of each change that `allow_changes` permits.
    pub(in crate::verify) fn allowed_changes_since(&self, seal: &Seal) -> Vec<String> {
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
    pub(in crate::verify) fn for_checkout(&self, root: &Path) -> Self {
        let relocate = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| Some(root.join(path.strip_prefix(&self.root).ok()?))).collect()
        };
        Self {
            root: root.to_path_buf(),
            ralph_files: relocate(&self.ralph_files),
            ralph_folders: relocate(&self.ralph_folders),
            volatile_folders: relocate(&self.volatile_folders),
            program_folders: relocate(&self.program_folders),
            command_files: relocate(&self.command_files),
            shadowing_files: relocate(&self.shadowing_files),
            completions: self.completions.iter().map(|group| relocate(group)).collect(),
            notes: Vec::new(),
            criteria: Vec::new(),
            guard_patterns: self.guard_patterns.clone(),
            allowed_patterns: self.allowed_patterns.clone(),
            by_product_patterns: self.by_product_patterns.clone(),
        }
    }

    /// Returns a sealer for the same files except programs: the setup of a checkout may install them again.
    pub(in crate::verify) fn without_programs(&self) -> Self {
        Self { program_folders: Vec::new(), ..self.for_checkout(&self.root) }
    }

    /// Returns the guarded files, by their names.
    pub(in crate::verify) fn list_guarded_files(&self) -> Result<Vec<String>, SealError> {
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
            if is_cancelled() {
                return Err(unreadable_error(&path, io::Error::other("the run was stopped")));
            }
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

/// Computes the digest of a seal.
fn with_digest(seal: Seal) -> Result<Seal, SealError> {
    let mut all = Sha256::new();
    all.update(&seal.criteria_digest);
    for file in seal.files.iter().chain(&seal.folders) {
        all.update(serde_json::to_vec(file).map_err(SealError::SerializeCriteria)?);
    }
    all.update(seal.absent.join("\0"));
    for setting in &seal.git {
        all.update(serde_json::to_vec(setting).map_err(SealError::SerializeCriteria)?);
    }
    Ok(Seal { digest: finish_hex(all), ..seal })
}

/// Returns the names that the ignore rules of a checkout cover.
fn list_ignored_names(checkout: &Path, files: &[SealedFile]) -> BTreeSet<String> {
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).filter(|name| !name.starts_with('/')).collect();
    let mut ignored = BTreeSet::new();
    for some in names.chunks(MAX_NAMES_PER_CALL) {
        let args = [&["-c", "core.quotePath=off", "check-ignore", "--no-index", "--"], some].concat();
        // The exit code is 1 if none is ignored.
        let listed = git::run_git(checkout, &args).unwrap_or_default();
        ignored.extend(listed.lines().map(str::to_owned));
    }
    ignored
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
