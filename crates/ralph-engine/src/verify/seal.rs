//! What must not change before a claim is looked at: hashed when the run starts, and again with every claim. What was
//! sealed is never read back from the work tree.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::criterion::{Criterion, externals};
use ralph_core::evidence::CheckEvidence;
use ralph_core::seal::{Allowed, FileKind, Seal, SealedFile, SealedSetting, changes, judge, setting_changes};
use sha2::{Digest, Sha256};

use super::Ground;
use super::acceptance::{Acceptance, PatternError, Patterns};
use super::named::Named;
use crate::git::{self, GitError};
use crate::project::Project;
use ralph_util::digest::{hex, sha256};

/// More files than this are a pattern that nobody meant.
const MOST_FILES: usize = 50_000;

/// The files of ralph's own that decide what is run and believed. Prompts are not among them: they are words to the agent,
/// and in classic mode it may improve them.
const OWN_FILES: &[&str] = &["config.yaml", "config"];
const OWN_FOLDERS: &[&str] = &["workflows", "commands"];

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the guard covers more than {MOST_FILES} files: say more closely which ones must not change")]
    TooMany,
    #[error("the criteria cannot be written down: {0}")]
    Criteria(serde_json::Error),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Knows which files of a run are sealed.
pub struct Sealer {
    root: PathBuf,
    own_files: Vec<PathBuf>,
    own_folders: Vec<PathBuf>,
    /// Folders that change with every run.
    moving: Vec<PathBuf>,
    guard: Patterns,
    allowed: Patterns,
    by_products: Patterns,
    /// Folders of the work tree from which checks start programs by their names.
    programs: Vec<PathBuf>,
    /// The scripts and programs that checks name.
    named: Vec<PathBuf>,
    /// What people should know of it.
    notes: Vec<String>,
    criteria: Vec<Criterion>,
}

impl Sealer {
    /// The ground is where the checks run, with the environment in which they look for programs.
    pub fn new(
        project: &Project,
        acceptance: &Acceptance,
        criteria: &[Criterion],
        ground: &Ground,
    ) -> Result<Self, SealError> {
        let checks = externals(criteria);
        let found: Vec<Named> = checks.iter().map(|found| Named::of(ground, found.check)).collect();
        let notes = project.notes("");
        let moving = [project.state(), project.session_logs()];
        Ok(Self {
            moving: moving.into_iter().chain(notes.parent().map(Path::to_path_buf)).collect(),
            own_files: OWN_FILES.iter().map(|name| project.home.join(name)).collect(),
            own_folders: own_folders(project),
            guard: Patterns::compile(&acceptance.guard)?,
            allowed: Patterns::compile(&acceptance.allow_changes)?,
            by_products: Patterns::by_products_beside(&acceptance.guard)?,
            programs: found.iter().flat_map(|named| named.folders.clone()).collect(),
            named: found.iter().flat_map(Named::files).collect(),
            notes: found.into_iter().flat_map(|named| named.notes).collect(),
            criteria: criteria.to_vec(),
            root: project.root.clone(),
        })
    }

    /// Hashes what must not change.
    pub fn seal(&self) -> Result<Seal, SealError> {
        let base = git::head(&self.root)?;
        let settings = self.settings()?;
        let Found { files, allowed, too_many } = self.found(&self.named)?;
        let (files, allowed) = (values(files), values(allowed));
        let git = settings.git;
        let criteria = serde_json::to_vec(&self.criteria).map_err(SealError::Criteria)?;
        let criteria_digest = sha256(&criteria);
        let mut all = Sha256::new();
        all.update(&criteria_digest);
        for file in &files {
            all.update(serde_json::to_vec(file).map_err(SealError::Criteria)?);
        }
        for setting in &git {
            all.update(serde_json::to_vec(setting).map_err(SealError::Criteria)?);
        }
        let digest = hex(all);
        let idle = if too_many { Vec::new() } else { self.idle_guards((&files, &allowed)) };
        let notes = self.notes.iter().cloned().chain(idle).collect();
        let allowed = Allowed { files: allowed, too_many, git: settings.allowed };
        Ok(Seal { digest, criteria_digest, base, files, git, allowed, uncommitted: Vec::new(), notes })
    }

    /// Names what is guarded, and not there.
    fn idle_guards(&self, (files, allowed): (&[SealedFile], &[SealedFile])) -> Vec<String> {
        let paths: Vec<&str> = files.iter().chain(allowed).map(|file| file.path.as_str()).collect();
        let idle = self.guard.idle(&paths).into_iter();
        idle.map(|pattern| format!("the guard {pattern} covers no file: is it written as it was meant?"))
            .collect()
    }

    /// Hashes the files that must not change.
    pub(super) fn files(&self) -> Result<Vec<SealedFile>, SealError> {
        Ok(values(self.found(&self.named)?.files))
    }

    /// Hashes what stands there by itself, and these files.
    fn found(&self, named: &[PathBuf]) -> Result<Found, SealError> {
        let mut found = self.standing()?;
        for path in named {
            // A folder is run by nobody.
            if !path.is_dir() && !found.has(&self.name_of(path)) {
                self.take(path, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Looks whether everything is as it was sealed. A script that was not there then may have been written since. Git is asked
    /// last: where files were changed, it could be another program.
    #[must_use]
    pub fn look(&self, seal: &Seal) -> CheckEvidence {
        judge(&self.changes(seal))
    }

    /// Returns what is not as it was sealed.
    pub(super) fn changes(&self, seal: &Seal) -> Vec<String> {
        let files = self.changes_of(&seal.files);
        if !files.is_empty() {
            return files;
        }
        match self.settings() {
            Ok(settings) => setting_changes(&seal.git, &settings.git),
            Err(error) => vec![error.to_string()],
        }
    }

    /// The same of files alone.
    pub(super) fn changes_of(&self, sealed: &[SealedFile]) -> Vec<String> {
        match self.now(sealed) {
            Ok(now) => changes(sealed, &values(now.files)),
            Err(error) => vec![error.to_string()],
        }
    }

    /// Returns what has changed of all that may.
    pub(super) fn allowed_changes(&self, seal: &Seal) -> Vec<String> {
        if self.allowed.is_empty() {
            return Vec::new();
        }
        let now = self.now(&seal.allowed.files).and_then(|Found { allowed, too_many, .. }| {
            Ok(Allowed { files: values(allowed), too_many, git: self.settings()?.allowed })
        });
        now.map_or_else(|error| vec![error.to_string()], |now| seal.allowed.changes(&now))
    }

    /// Returns the settings with which git would start programs or look elsewhere.
    fn settings(&self) -> Result<FoundSettings, SealError> {
        let settings = git::deciding_settings(&self.root)?.into_iter();
        let sealed = settings.map(|(name, value)| SealedSetting { name, sha256: sha256(&value) });
        let (allowed, git) = sealed.partition(|setting| self.allowed.cover(&setting.name));
        Ok(FoundSettings { git, allowed })
    }

    /// Knows the same of another checkout. What lies elsewhere is not there.
    pub(super) fn at(&self, root: &Path) -> Self {
        let there = |paths: &[PathBuf]| {
            paths.iter().filter_map(|path| Some(root.join(path.strip_prefix(&self.root).ok()?))).collect()
        };
        Self {
            root: root.to_path_buf(),
            own_files: there(&self.own_files),
            own_folders: there(&self.own_folders),
            moving: there(&self.moving),
            programs: there(&self.programs),
            named: there(&self.named),
            notes: Vec::new(),
            criteria: Vec::new(),
            guard: self.guard.clone(),
            allowed: self.allowed.clone(),
            by_products: self.by_products.clone(),
        }
    }

    /// Knows the same but for programs, which may be installed anew.
    pub(super) fn without_programs(&self) -> Self {
        Self { programs: Vec::new(), ..self.at(&self.root) }
    }

    /// Returns the guarded files, by their names.
    pub(super) fn guarded(&self) -> Result<Vec<String>, SealError> {
        let mut found = Found::default();
        self.walk(&self.root, &|path| self.guard.cover(path), &mut found)?;
        Ok(found.files.into_keys().collect())
    }

    /// What was sealed is looked for under its name, whatever lies there now.
    fn now(&self, sealed: &[SealedFile]) -> Result<Found, SealError> {
        let mut found = self.standing()?;
        for file in sealed {
            if !found.has(&file.path) {
                self.take(&self.root.join(&file.path), &mut found)?;
            }
        }
        Ok(found)
    }

    /// Returns what is sealed wherever it comes from: guarded files, ralph's own, and programs in the work tree.
    fn standing(&self) -> Result<Found, SealError> {
        let mut found = Found::default();
        if !self.guard.is_empty() {
            self.walk(&self.root, &|path| self.guard.cover(path), &mut found)?;
        }
        for path in &self.own_files {
            self.take(path, &mut found)?;
        }
        for folder in &self.own_folders {
            self.walk(folder, &|_| true, &mut found)?;
        }
        for folder in &self.programs {
            for path in entries(folder)? {
                if self.is_program(folder, &path) {
                    self.take(&path, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    /// Everything in a folder of programs is one. In the root of the work tree, which is full of other files, it can be run.
    fn is_program(&self, folder: &Path, path: &Path) -> bool {
        let is_run = || path.metadata().is_ok_and(|about| is_executable(&about));
        !path.is_dir() && (folder != self.root || is_run())
    }

    fn walk(
        &self,
        folder: &Path,
        is_wanted: &dyn Fn(&str) -> bool,
        found: &mut Found,
    ) -> Result<(), SealError> {
        for path in entries(folder)? {
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            if is_git || self.moving.contains(&path) || self.by_products.cover(&self.name_of(&path)) {
                continue;
            }
            let name = self.name_of(&path);
            let kind = path.symlink_metadata().map_err(|error| unreadable(&path, error))?.file_type();
            // A link in the place of a folder is a change of all that is in it.
            let is_wanted_link = || kind.is_symlink() && is_wanted(&format!("{name}/_"));
            if kind.is_dir() {
                self.walk(&path, is_wanted, found)?;
            } else if is_wanted(&name) || is_wanted_link() {
                self.take(&path, found)?;
            }
        }
        Ok(())
    }

    /// Hashes a file, if it is there.
    fn take(&self, path: &Path, found: &mut Found) -> Result<(), SealError> {
        let name = self.name_of(path);
        let is_allowed = self.allowed.cover(&name);
        if is_allowed && found.is_full() {
            return Ok(());
        }
        let among = if is_allowed { &mut found.allowed } else { &mut found.files };
        if let Some((kind, sha256)) = hash(path).map_err(|source| unreadable(path, source))? {
            among.insert(name.clone(), SealedFile { path: name, kind, sha256 });
        }
        if found.files.len() > MOST_FILES { Err(SealError::TooMany) } else { Ok(()) }
    }

    /// Returns the path from the root. Two files never have the same name.
    fn name_of(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        match inside.to_str() {
            Some(name) => name.to_owned(),
            None => format!("{} ({})", inside.to_string_lossy(), sha256(inside.as_os_str().as_bytes())),
        }
    }
}

/// Files by their names: those that must not change, and those that may.
#[derive(Default)]
struct Found {
    files: BTreeMap<String, SealedFile>,
    allowed: BTreeMap<String, SealedFile>,
    /// There are so many of these that none is kept.
    too_many: bool,
}

impl Found {
    /// Tells whether there is no room for another file that may change.
    fn is_full(&mut self) -> bool {
        if self.allowed.len() >= Allowed::MOST {
            self.too_many = true;
            self.allowed.clear();
        }
        self.too_many
    }

    fn has(&self, name: &str) -> bool {
        self.files.contains_key(name) || self.allowed.contains_key(name)
    }
}

/// The same of settings.
struct FoundSettings {
    git: Vec<SealedSetting>,
    allowed: Vec<SealedSetting>,
}

fn values(files: BTreeMap<String, SealedFile>) -> Vec<SealedFile> {
    files.into_values().collect()
}

/// Where the home is the root of the project, folders with common names are the project's own.
fn own_folders(project: &Project) -> Vec<PathBuf> {
    let named = OWN_FOLDERS.iter().map(|name| project.home.join(name));
    let named = named.filter(|_| !project.is_own_home());
    [project.verifiers(), project.templates()].into_iter().chain(named).collect()
}

fn unreadable(path: &Path, source: io::Error) -> SealError {
    SealError::Unreadable { path: path.to_path_buf(), source }
}

/// Returns what lies in a folder; nothing where there is none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, SealError> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable(folder, error)),
    };
    listed.map(|entry| entry.map(|entry| entry.path()).map_err(|error| unreadable(folder, error))).collect()
}

fn hash(path: &Path) -> io::Result<Option<(FileKind, String)>> {
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
            read_into(path, &mut all)?;
        }
        return Ok(Some((FileKind::Link, hex(all))));
    }
    if !about.is_file() {
        return Ok(Some((FileKind::Other, sha256(b""))));
    }
    let mut all = Sha256::new();
    read_into(path, &mut all)?;
    let kind = if is_executable(&about) { FileKind::Executable } else { FileKind::File };
    Ok(Some((kind, hex(all))))
}

fn is_executable(about: &fs::Metadata) -> bool {
    about.permissions().mode() & 0o111 != 0
}

fn read_into(path: &Path, all: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            count => all.update(piece.get(..count).unwrap_or_default()),
        }
    }
}
