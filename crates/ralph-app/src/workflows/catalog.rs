//! All workflows that can be started here, by name. Files are found and read at once, and parsed when they are needed.
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_engine::project::Project;
use ralph_util::suggest;
use serde_json::{Value, json};

use super::built_in::BUILT_IN_WORKFLOWS;
use super::commands::CommandLibrary;
use super::discovery::{
    FolderLayout, FoundFile, WorkflowFolder, WorkflowOrigin, find_files_below, find_workflow_files,
    project_workflow_folders,
};
use super::include::IncludeError;
use super::load::{LoadedWorkflow, MAX_FILE_BYTES, WorkflowText, load_text};
use super::name_scan::scan_workflow_name;
use super::problem::WorkflowProblem;
use super::read_file::read_text_file;
use super::triggers::find_triggers;
use crate::config::TemplateLibrary;

/// The workflows of a project, of the user, and of ralph.
#[derive(Debug)]
pub struct WorkflowCatalog {
    entries: Vec<CatalogEntry>,
    /// The entry that each name means.
    by_name: BTreeMap<String, usize>,
    folders: Vec<WorkflowFolder>,
    templates: TemplateLibrary,
    first_requested: usize,
}

/// A workflow file, whether or not it can be loaded.
#[derive(Debug)]
pub struct CatalogEntry {
    /// The name in the file; the file's own name if that cannot be read.
    pub name: String,
    pub origin: WorkflowOrigin,
    /// `None`: it is built in.
    pub path: Option<PathBuf>,
    /// For messages: relative to the current folder where that is shorter.
    pub display_path: String,
    /// The entry that replaces this one.
    pub replaced_by: Option<usize>,
    package: Option<PathBuf>,
    text: Result<String, String>,
}

/// A workflow that can be started.
#[derive(Debug)]
pub struct FoundWorkflow<'c> {
    pub entry: &'c CatalogEntry,
    pub loaded: Arc<LoadedWorkflow>,
}

/// Why a workflow cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error("there is no workflow named {name:?}")]
    Unknown { name: String, hint: String },
    #[error("the workflow {name} has errors")]
    Broken { name: String, problems: Vec<WorkflowProblem> },
}

/// The folders in which workflows are searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkflowFolders {
    pub folders: Vec<WorkflowFolder>,
    /// The root of the repository: files of the repository must lie in it.
    pub root: Option<PathBuf>,
    pub templates: TemplateLibrary,
}

impl WorkflowFolders {
    /// Returns the folders of a project and of the user. `variable` reads an environment variable.
    pub fn find(project: Option<&Project>, variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
        let home = absolute("HOME");
        let config = absolute("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let folder = |origin, path: PathBuf, layout| WorkflowFolder { origin, path, layout };
        let mut folders = Vec::new();
        folders.extend(home.map(|home| folder(WorkflowOrigin::UserArchon, home.join(".archon"), FolderLayout::Archon)));
        folders.extend(config.map(|path| folder(WorkflowOrigin::User, path.join("ralph"), FolderLayout::Ralph)));
        if let Some(project) = project {
            let archon = project.root.join(".archon");
            folders.push(folder(WorkflowOrigin::ProjectArchon, archon, FolderLayout::Archon));
            folders.push(folder(WorkflowOrigin::Project, project.home.clone(), FolderLayout::Ralph));
        }
        let templates = TemplateLibrary { folder: project.map(Project::templates_folder) };
        Self { folders, root: project.map(|project| project.root.clone()), templates }
    }

    /// Adds the folder of a file that is named on the command line, so that its includes and commands are found.
    #[must_use]
    pub fn with_file(mut self, file: &Path) -> Self {
        let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let is_known = |folder: &WorkflowFolder| {
            let workflows = folder.path.join("workflows");
            file.starts_with(workflows.canonicalize().unwrap_or(workflows))
        };
        if self.folders.iter().any(is_known) {
            return self;
        }
        let workflows =
            file.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|name| name == "workflows"));
        if let Some(path) = workflows.and_then(Path::parent) {
            let is_archon = path.file_name().is_some_and(|name| name == ".archon");
            let layout = if is_archon { FolderLayout::Archon } else { FolderLayout::Ralph };
            self.folders.push(WorkflowFolder { origin: WorkflowOrigin::File, path: path.to_path_buf(), layout });
        }
        self
    }
}

impl CatalogEntry {
    /// Returns the object of a workflow in lists.
    #[must_use]
    pub fn to_json(&self, loaded: &LoadResult) -> Value {
        let workflow = loaded.as_ref().ok().map(|loaded| &loaded.workflow);
        json!({
            "name": self.name,
            "description": workflow.map(|workflow| &workflow.description),
            "triggers": workflow.map(|workflow| find_triggers(&workflow.description)),
            "origin": self.origin,
            "file": self.path,
            "nodes": loaded.as_ref().ok().map(|loaded| loaded.node_count),
            "error": loaded.as_ref().err().and_then(|problems| problems.first()).map(ToString::to_string),
        })
    }
}

impl WorkflowCatalog {
    /// Finds all workflows of a project and of the user.
    pub fn open(project: Option<&Project>) -> Self {
        Self::read(WorkflowFolders::find(project, |name| std::env::var_os(name)), None)
    }

    /// The same, with a file or a folder of files that need not be in any of these folders.
    pub fn open_with_path(project: Option<&Project>, path: &Path) -> Self {
        let folders = WorkflowFolders::find(project, |name| std::env::var_os(name));
        let (folders, files) = if path.is_dir() {
            let own = project_workflow_folders(path).chain([path.to_path_buf()]);
            (own.fold(folders, |folders, own| folders.with_file(&own.join("x"))), find_files_below(path))
        } else {
            (folders.with_file(path), vec![FoundFile { path: path.to_path_buf(), package: None }])
        };
        Self::read(folders, Some(files))
    }

    /// Reads the files of the folders, and `requested` ones, which come last.
    pub(super) fn read(folders: WorkflowFolders, requested: Option<Vec<FoundFile>>) -> Self {
        let WorkflowFolders { folders, root, templates } = folders;
        let requests_all = requested.is_none();
        let mut requested: BTreeMap<PathBuf, FoundFile> =
            requested.into_iter().flatten().map(|found| (resolve_path(&found.path), found)).collect();
        let mut entries: Vec<CatalogEntry> = BUILT_IN_WORKFLOWS.iter().map(CatalogEntry::built_in).collect();
        for folder in &folders {
            let root = root.as_deref().filter(|_| folder.origin != WorkflowOrigin::File);
            for found in find_workflow_files(folder) {
                match find_requested(&mut requested, &found.path) {
                    Some(same) => same.package = found.package,
                    None => entries.push(CatalogEntry::read(found, folder.origin, root)),
                }
            }
        }
        let first_requested = if requests_all { 0 } else { entries.len() };
        let requested = requested.into_values().map(|found| CatalogEntry::read(found, WorkflowOrigin::File, None));
        entries.extend(requested);
        let by_name = index_names(&mut entries);
        Self { entries, by_name, folders, templates, first_requested }
    }

    /// Returns the positions of the entries that were asked for: all, or those of the given path.
    #[must_use]
    pub fn requested_entries(&self) -> std::ops::Range<usize> {
        self.first_requested..self.entries.len()
    }

    /// All entries, also those that are broken or replaced.
    #[must_use]
    pub fn entries(&self) -> &[CatalogEntry] {
        &self.entries
    }

    /// The entries that names mean, in the order of the names.
    pub fn active_entries(&self) -> impl Iterator<Item = &CatalogEntry> {
        self.by_name.values().filter_map(|at| self.entries.get(*at))
    }

    /// Returns the commands and scripts that the workflows can name.
    #[must_use]
    pub fn commands(&self) -> CommandLibrary {
        CommandLibrary::new(self.folders.iter().rev().map(|folder| folder.path.clone()).collect())
    }

    /// Loads the workflow with this name.
    pub fn find(&self, name: &str) -> Result<FoundWorkflow<'_>, WorkflowError> {
        let at = self.by_name.get(name).copied();
        let Some((at, entry)) = at.and_then(|at| Some((at, self.entries.get(at)?))) else {
            return Err(WorkflowError::Unknown { name: name.to_owned(), hint: self.unknown_name_hint(name) });
        };
        let loaded = CatalogLoader::new(self).load(at);
        match loaded {
            Ok(loaded) => Ok(FoundWorkflow { entry, loaded }),
            Err(problems) => Err(WorkflowError::Broken { name: name.to_owned(), problems }),
        }
    }

    fn unknown_name_hint(&self, name: &str) -> String {
        let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        if known.is_empty() {
            return "add a YAML file to .ralph/workflows".to_owned();
        }
        suggest::suggestion_hint(name, &known)
    }

    /// Loads entries, in their order.
    #[must_use]
    pub fn load_entries(&self, range: std::ops::Range<usize>) -> Vec<LoadResult> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        if range.len() < MIN_ENTRIES_FOR_THREADS {
            return CatalogLoader::new(self).load_range(range);
        }
        let chunk = range.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let starts = range.clone().step_by(chunk);
            let workers: Vec<_> = starts
                .map(|start| {
                    let end = (start + chunk).min(range.end);
                    scope.spawn(move || CatalogLoader::new(self).load_range(start..end))
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        })
    }

    /// Loads one entry.
    pub fn load_entry(&self, at: usize) -> LoadResult {
        CatalogLoader::new(self).load(at)
    }
}

/// Threads that load files; more would wait for the disk.
const MAX_THREADS: usize = 8;
/// Below this, a thread costs more than it saves.
const MIN_ENTRIES_FOR_THREADS: usize = 16;

/// A loaded workflow, or its errors.
pub type LoadResult = Result<Arc<LoadedWorkflow>, Vec<WorkflowProblem>>;

/// Returns the requested file that is this one. Links are followed only if there are requested files.
fn find_requested<'r>(requested: &'r mut BTreeMap<PathBuf, FoundFile>, path: &Path) -> Option<&'r mut FoundFile> {
    if requested.is_empty() { None } else { requested.get_mut(&resolve_path(path)) }
}

fn resolve_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Decides which entry each name means: the last one of the highest origin wins; within a folder the first.
fn index_names(entries: &mut [CatalogEntry]) -> BTreeMap<String, usize> {
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut replaced = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        match by_name.get(&entry.name).copied() {
            None => drop(by_name.insert(entry.name.clone(), at)),
            Some(before) if entries.get(before).is_some_and(|before| before.origin < entry.origin) => {
                by_name.insert(entry.name.clone(), at);
                replaced.push(before);
            }
            Some(_) => replaced.push(at),
        }
    }
    for at in replaced {
        let winner = entries.get(at).and_then(|entry| by_name.get(&entry.name)).copied();
        if let Some(entry) = entries.get_mut(at) {
            entry.replaced_by = winner;
        }
    }
    by_name
}

impl CatalogEntry {
    fn built_in(file: &super::built_in::BuiltInFile) -> Self {
        Self {
            name: scan_workflow_name(file.text).unwrap_or(file.name).to_owned(),
            origin: WorkflowOrigin::BuiltIn,
            path: None,
            display_path: format!("built-in workflow {}", file.name),
            replaced_by: None,
            package: None,
            text: Ok(file.text.to_owned()),
        }
    }

    fn read(found: FoundFile, origin: WorkflowOrigin, root: Option<&Path>) -> Self {
        let FoundFile { path, package } = found;
        let text = match root.filter(|_| origin.is_project()) {
            Some(root) if !lies_below(&path, root) => Err("the link leads out of the repository".to_owned()),
            Some(_) | None => read_text_file(&path, MAX_FILE_BYTES),
        };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let name = text.as_ref().ok().and_then(|text| find_name(text)).unwrap_or(stem);
        let display_path = display_path(&path);
        Self { name, origin, path: Some(path), display_path, replaced_by: None, package, text }
    }
}

/// Returns whether a file lies in a folder, after links are followed. A file that is not a link does.
fn lies_below(path: &Path, root: &Path) -> bool {
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    !is_link || matches!((path.canonicalize(), root.canonicalize()), (Ok(path), Ok(root)) if path.starts_with(&root))
}

fn display_path(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
    ralph_util::sanitize::sanitize_text(&short.as_deref().unwrap_or(path).display().to_string())
}

fn find_name(text: &str) -> Option<String> {
    if let Some(name) = scan_workflow_name(text) {
        return Some(name.to_owned());
    }
    super::load::parse_name(text)
}

/// Loads entries with their includes, each once.
struct CatalogLoader<'c> {
    catalog: &'c WorkflowCatalog,
    states: RefCell<HashMap<usize, LoadState>>,
}

enum LoadState {
    /// It is being loaded: an include that leads here is circular.
    Active,
    Done(LoadResult),
}

/// How deep includes may be nested.
const MAX_INCLUDE_DEPTH: usize = 16;

impl<'c> CatalogLoader<'c> {
    fn new(catalog: &'c WorkflowCatalog) -> Self {
        Self { catalog, states: RefCell::default() }
    }

    fn load_range(&self, range: std::ops::Range<usize>) -> Vec<LoadResult> {
        range.map(|at| self.load(at)).collect()
    }

    fn load(&self, at: usize) -> LoadResult {
        if let Some(LoadState::Done(result)) = self.states.borrow().get(&at) {
            return result.clone();
        }
        self.states.borrow_mut().insert(at, LoadState::Active);
        let result = self.load_file(at);
        self.states.borrow_mut().insert(at, LoadState::Done(result.clone()));
        result
    }

    fn load_file(&self, at: usize) -> LoadResult {
        let Some(entry) = self.catalog.entries.get(at) else { return Err(Vec::new()) };
        let text = entry.text.clone().map_err(|message| {
            let file = entry.display_path.clone();
            vec![WorkflowProblem { file, line: 1, column: 1, message, hint: None }]
        })?;
        let source = WorkflowText {
            text,
            name: entry.display_path.clone(),
            path: entry.path.as_deref(),
            package: entry.package.as_deref(),
            templates: &self.catalog.templates,
        };
        load_text(source, &mut |name| self.include(name)).map(Arc::new)
    }

    fn include(&self, name: &str) -> Result<Arc<LoadedWorkflow>, IncludeError> {
        let refuse = |message: String, hint: &str| Err(IncludeError { message, hint: hint.to_owned() });
        let Some(at) = self.catalog.by_name.get(name).copied() else {
            let hint = self.catalog.unknown_name_hint(name);
            return refuse(format!("there is no workflow named {name:?}"), &hint);
        };
        if let Some(LoadState::Active) = self.states.borrow().get(&at) {
            return refuse(format!("{name} includes itself"), "use a `workflow:` node to repeat a workflow");
        }
        let active = self.states.borrow().values().filter(|state| matches!(state, LoadState::Active)).count();
        if active > MAX_INCLUDE_DEPTH {
            return refuse("includes are nested too deeply".to_owned(), "include the workflows directly");
        }
        self.load(at).or_else(|problems| {
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            refuse(format!("{name} has errors: {first}"), "correct the included workflow first")
        })
    }
}
