//! The parts of each kind of manifest that decide what a test command runs, as data.
use super::build_files::XmlMarks;
use super::sections::DecidingKeys;

pub(super) const JSON_KEYS: &[&str] = &[
    "scripts",
    "jest",
    "mocha",
    "ava",
    "vitest",
    "nyc",
    "c8",
    "tap",
    "config",
    "workspaces",
    "tasks",
    "test",
    "babel",
    "cypress",
    "playwright",
    "autoload",
    "autoload-dev",
    "imports",
    "overrides",
    "resolutions",
    "pnpm",
    "wireit",
    "nx",
    "eslintConfig",
    "eslintIgnore",
    "xo",
];

pub(super) const TSCONFIG_KEYS: &[&str] = &["include", "exclude", "files", "extends", "references"];

pub(super) const TSCONFIG_OPTIONS: &[&str] = &[
    "allowUnreachableCode",
    "checkJs",
    "noEmit",
    "noFallthroughCasesInSwitch",
    "noImplicitAny",
    "noImplicitReturns",
    "noUnusedLocals",
    "noUnusedParameters",
    "skipLibCheck",
    "strict",
    "strictNullChecks",
];

pub(super) const CARGO_KEYS: &[DecidingKeys] = &[
    DecidingKeys::all("test"),
    DecidingKeys::all("bench"),
    DecidingKeys::some("lib", &["test", "doctest", "bench", "harness", "path", "required-features"]),
    DecidingKeys::some("bin", &["test", "harness", "required-features"]),
    DecidingKeys::some("example", &["test", "harness", "required-features"]),
    DecidingKeys::some("package", &["autotests", "autobenches", "autobins", "autoexamples", "autolib"]),
    DecidingKeys::some("workspace", &["members", "exclude", "default-members"]),
    DecidingKeys::all("profile"),
    DecidingKeys::all("lints"),
    DecidingKeys::all("workspace.lints"),
    DecidingKeys::all("package.metadata.nextest"),
    DecidingKeys::all("patch"),
    DecidingKeys::all("replace"),
];

pub(super) const PYPROJECT_KEYS: &[DecidingKeys] = &[
    DecidingKeys::all("tool.pytest"),
    DecidingKeys::all("tool.tox"),
    DecidingKeys::all("tool.nox"),
    DecidingKeys::all("tool.coverage"),
    DecidingKeys::all("tool.hatch.envs"),
    DecidingKeys::all("tool.poe"),
    DecidingKeys::all("tool.taskipy"),
    DecidingKeys::all("tool.pdm.scripts"),
    DecidingKeys::all("project.entry-points.pytest11"),
    DecidingKeys::all("tool.pixi.tasks"),
    DecidingKeys::all("tool.rye.scripts"),
    DecidingKeys::all("tool.hatch.scripts"),
    DecidingKeys::all("tool.doit"),
    DecidingKeys::all("tool.invoke"),
    DecidingKeys::all("tool.ward"),
    DecidingKeys::all("tool.ruff"),
    DecidingKeys::all("tool.mypy"),
    DecidingKeys::all("tool.pyright"),
    DecidingKeys::all("tool.pylint"),
    DecidingKeys::all("tool.flake8"),
    DecidingKeys::all("tool.bandit"),
];

pub(super) const SETUP_CFG_KEYS: &[DecidingKeys] = &[
    DecidingKeys::all("tool:pytest"),
    DecidingKeys::all("pytest"),
    DecidingKeys::all("unittest"),
    DecidingKeys::all("nosetests"),
    DecidingKeys::all("coverage:run"),
    DecidingKeys::all("tox"),
    DecidingKeys::all("aliases"),
    DecidingKeys::all("test"),
    DecidingKeys::all("mypy"),
    DecidingKeys::all("flake8"),
    DecidingKeys::all("pylint"),
];

pub(super) const POM: XmlMarks = XmlMarks {
    marks: &[
        "surefire",
        "failsafe",
        "skiptests",
        "skipits",
        "maven.test",
        "testfailureignore",
        "<test>",
        "testsource",
        "testresource",
        "testexclude",
        "<module>",
        "<exclude>",
        "<include>",
        "<profile>",
        "<skip>",
        "<groups>",
        "argline",
        "<packaging>",
        "<parent>",
        "<extension>",
        "<phase>none",
        "<sourcedirectory>",
        "<outputdirectory>",
        "<testoutputdirectory>",
        "antrun",
        "exec-maven",
        "gmaven",
    ],
    whole_element: "plugin",
};

pub(super) const DOTNET: XmlMarks = XmlMarks {
    marks: &[
        "istestproject",
        "<compile",
        "runsettings",
        "vstest",
        "<import",
        "<target ",
        "<target>",
        "testing",
        "defaultitemexcludes",
        "enabledefault",
        "defineconstants",
        "<usingtask",
        "<choose",
        "<project ",
        "condition=",
        "nowarn",
        "warningsaserrors",
    ],
    whole_element: "Target",
};

pub(super) const MESON_MARKS: &[&str] = &["test(", "benchmark(", "should_fail"];

pub(super) const TEST_LINE_MARKS: &[&str] = &["test", "manual", "tags", "skip"];

pub(super) const GO_MODULE_MARKS: &[&str] = &["=>", "toolchain", "godebug"];
