//! The origin of a setting. A higher layer replaces the value of a lower one.
use std::fmt;
use std::path::PathBuf;

/// A value with its origin.
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

/// The layer of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayer {
    /// The user's file, for all projects.
    User,
    /// The project's file. It is untrusted: another person may have written it.
    Project,
    /// The file named by `--config`, which replaces the project's.
    Named,
}

impl<T> Setting<T> {
    pub fn built_in(value: T) -> Self {
        Self { value, origin: SettingOrigin::BuiltIn }
    }

    /// Replaces the value with that of a flag, if the flag is set.
    pub fn set_from_flag(&mut self, value: Option<T>, name: &'static str) {
        if let Some(value) = value {
            *self = Self { value, origin: SettingOrigin::Flag { name } };
        }
    }

    pub(in crate::config) fn set(&mut self, value: T, origin: SettingOrigin) {
        *self = Self { value, origin };
    }
}

impl<T: Default> Default for Setting<T> {
    fn default() -> Self {
        Self::built_in(T::default())
    }
}

impl SettingOrigin {
    /// Returns the rank of the layer: the highest rank wins.
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

    /// Returns whether the value comes from the project's file, which another person may have written.
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

/// The source that is being read.
#[derive(Debug, Clone)]
pub(in crate::config) enum SettingSource {
    File { layer: FileLayer, path: PathBuf },
    Environment { variable: String },
}

impl SettingSource {
    pub(in crate::config) fn origin_at(&self, line: u64) -> SettingOrigin {
        match self {
            Self::File { layer, path } => SettingOrigin::File { layer: *layer, path: path.clone(), line },
            Self::Environment { variable } => SettingOrigin::Environment { variable: variable.clone() },
        }
    }

    /// Returns a position in the source, for error messages.
    pub(in crate::config) fn format_place(&self, line: u64, column: Option<u64>) -> String {
        match (self, column) {
            (Self::File { path, .. }, Some(column)) => format!("{}:{line}:{column}", path.display()),
            (Self::File { path, .. }, None) => format!("{}:{line}", path.display()),
            (Self::Environment { variable }, _) => variable.clone(),
        }
    }
}
