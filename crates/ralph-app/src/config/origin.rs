//! Where a value comes from. A higher layer replaces what a lower one says.
use std::fmt;
use std::path::PathBuf;

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: SettingOrigin,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SettingOrigin {
    #[default]
    BuiltIn,
    File {
        layer: FileLayer,
        path: PathBuf,
        line: u64,
    },
    Environment {
        variable: String,
    },
    Flag {
        name: &'static str,
    },
}

/// Which of the files it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayer {
    /// The user's own, for all projects.
    User,
    /// It came with the project: somebody else may have written it.
    Project,
    /// Named by `--config` in place of the project's.
    Named,
}

impl<T> Setting<T> {
    pub fn built_in(value: T) -> Self {
        Self { value, origin: SettingOrigin::BuiltIn }
    }

    /// Replaces the value by that of a flag, if one was given.
    pub fn set_from_flag(&mut self, value: Option<T>, name: &'static str) {
        if let Some(value) = value {
            *self = Self { value, origin: SettingOrigin::Flag { name } };
        }
    }

    /// Replaces the value.
    pub(super) fn set(&mut self, value: T, origin: SettingOrigin) {
        *self = Self { value, origin };
    }
}

impl<T: Default> Default for Setting<T> {
    fn default() -> Self {
        Self::built_in(T::default())
    }
}

impl SettingOrigin {
    /// Orders the layers: the higher one wins.
    #[must_use]
    pub fn layer_rank(&self) -> u8 {
        match self {
            Self::BuiltIn => 0,
            Self::File { layer: FileLayer::User, .. } => 1,
            Self::File { layer: FileLayer::Project | FileLayer::Named, .. } => 2,
            Self::Environment { .. } => 3,
            Self::Flag { .. } => 4,
        }
    }

    /// Returns the name of the layer, as `ralph config show` prints it.
    #[must_use]
    pub fn layer_name(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::File { layer: FileLayer::User, .. } => "user",
            Self::File { layer: FileLayer::Project, .. } => "project",
            Self::File { layer: FileLayer::Named, .. } => "named",
            Self::Environment { .. } => "environment",
            Self::Flag { .. } => "flag",
        }
    }

    /// Tells whether somebody else than the user may have written it.
    #[must_use]
    pub fn is_from_project(&self) -> bool {
        matches!(self, Self::File { layer: FileLayer::Project, .. })
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { name } => f.write_str(name),
        }
    }
}

/// What is being read just now.
#[derive(Debug, Clone)]
pub(super) enum SettingSource {
    File { layer: FileLayer, path: PathBuf },
    Environment { variable: String },
}

impl SettingSource {
    pub(super) fn origin_at(&self, line: u64) -> SettingOrigin {
        match self {
            Self::File { layer, path } => SettingOrigin::File { layer: *layer, path: path.clone(), line },
            Self::Environment { variable } => SettingOrigin::Environment { variable: variable.clone() },
        }
    }

    /// Names a place in it, for errors.
    pub(super) fn format_place(&self, line: u64, column: Option<u64>) -> String {
        match (self, column) {
            (Self::File { path, .. }, Some(column)) => format!("{}:{line}:{column}", path.display()),
            (Self::File { path, .. }, None) => format!("{}:{line}", path.display()),
            (Self::Environment { variable }, _) => variable.clone(),
        }
    }
}
