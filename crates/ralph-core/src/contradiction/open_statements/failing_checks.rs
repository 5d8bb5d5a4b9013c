//! Statements about tests, builds and other checks that do not pass, and counts of failures.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

macro_rules! tests {
    ($($around:expr),*) => { concat!($($around,)* "test/tests/suite/suites/check/checks/build/builds/ci/\
        pipeline/\
lint/linter/linting/job/jobs/e2e/spec/specs/compilation/typecheck/type-check/checking/typing/formatting/\
clippy/mypy/eslint/tsc/scenario/scenarios/assertion/assertions/case/cases/workflow/integration/regression/\
benchmark/benchmarks/smoke/acceptance/deploy/deployment/rollout/migration/migrations/compile/typescript/\
release/checker/compiler/hook/hooks/typechecker/upload/packaging/bundler/bundle/snapshot/snapshots") };
}
macro_rules! work {
    ($($around:expr),*) => { concat!($($around,)* "work/step/steps/task/tasks/item/items/story/stories/\
        issue/\
issues/failure/failures/problem/problems/point/points/todo/todos/fixme/fixmes/question/questions/bug/bugs/\
error/errors/ticket/tickets/criterion/criteria/requirement/requirements/feature/features/part/parts/piece/\
pieces/checkbox/checkboxes/box/boxes/thing/things/gap/gaps/screen/screens/page/pages/endpoint/endpoints/\
test/tests/file/files/module/modules/phase/phases/warning/warnings/finding/findings/violation/\
        violations/conflict/conflicts/\
site/sites/place/places/string/strings/locale/locales/handler/handlers/route/routes/component/\
        components/widget/widgets/\
case/cases/spec/specs/check/checks/section/sections/chapter/chapters") };
}
macro_rules! some {
    ($($around:expr),*) => { concat!("#/some/several/many/few/other ... ", $($around),*) };
}
macro_rules! most {
    ($($around:expr),*) => { concat!("#/some/several/many/few/most/other/one ... ", $($around),*) };
}

/// Statements such as "the tests in the payment module still fail".
pub(crate) const FAILING_CHECKS: &[WordPattern] = patterns![
    concat!(
        tests!(),
        " ... fail/fails/failing/failed/red/broken/crash/crashes/flaky/unstable/timeout/segfaults/hang/\
        hangs"
    ),
    concat!(tests!(), " ... times/timed/time out"),
    concat!(tests!(), "/`/image breaks/panics/aborts/segfaults/explodes"),
    concat!(tests!(), "/` .. errors/error out"),
    concat!(tests!(), "/` .. does/do/did not go/come/get through"),
    concat!(tests!(), "/` .. treated/warnings as errors"),
    concat!(tests!(), "/`/it .. started/began/starts failing/to fail"),
    "` .. %exit/%end/%return/%finish .. non-zero/nonzero",
    "` .. %exit/%end/%return/%finish with/code/status/exit/an? an/exit/code/status/error? code/status/\
        exit? code/status? #",
    concat!(
        tests!(),
        "/command/script .. %exit/%end/%finish with/code/status/exit? an/exit/code/status? code/\
        status? #/non-zero"
    ),
    "` still/currently/now/just? fails/errors/crashes/breaks/hangs/panics/complains/aborts on/with/in/\
        for/at/because/due/when/,/;/and/out",
    concat!(
        tests!(),
        "/` still/currently/now? emits/reports/prints/shows/gives/yields a/some/several/many/few/two/\
        three? .. warnings/errors/failures/error"
    ),
    concat!(tests!(), "/` .. complain/complains/unhappy"),
    concat!(tests!(), " ... %exit/%end with/in an? errors/error"),
    tests!("failing/broken/red/flaky "),
    most!(work!(), " remain/remains/left/open/outstanding/missing/pending/unfinished"),
    most!(work!(), " is/are still? left/open/outstanding/missing/pending/unfinished/remaining"),
    concat!(work!(), " remain/remains"),
    some!(work!(), " to go"),
    concat!(work!(), " .. is/are .. open/missing/outstanding/unfinished/incomplete/pending"),
];

/// Counts of failures above zero.
pub(crate) const FAILURE_COUNTS: &[WordPattern] = patterns![
    "` reports/prints/shows/gives/has/finds/lists/returns .. # .. errors/error/failures/problems/\
        violations",
    ": # .. errors/failures/problems/violations",
    "# .. failed/failing/failures/failure",
    "# fail",
    "# .. tests/checks/specs/jobs fail",
    "failed/failures/failing/errors :/- #",
    "lint/linter/clippy/eslint/mypy/tsc/build/types : # .. errors/error/problems/warnings",
    "errors/error/warnings : #",
    "# .. errors .. remain/remains/left",
    "linter/lint/clippy/eslint/mypy/tsc/compiler/typecheck/build/check/typescript/ruff/\
        pylint ... # .. errors/error/problems/violations",
    "checker/compiler/linter/lint/suite/build/check/ci/run/it/`/output/job/hook still/currently/\
        now? reports/gives/shows/finds/lists/yields/\
        emits/flags/prints/produces/has .. # .. errors/error/failures/problems/violations/warnings/\
        failing/findings",
    "there are/remain still? # .. errors/failures/problems",
    "still .. # .. errors/failures/problems/violations",
    "there remain/remains #",
    "there are # .. violations/issues/bugs/warnings/conflicts/findings/failures",
    "reports/finds/flags # .. errors/error/violations/problems/failures/issues/warnings",
    "# type/lint/compile/compiler/clippy/typescript errors",
    "# .. tests/checks/specs/jobs/suites .. red/broken/flaky",
];
