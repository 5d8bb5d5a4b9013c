//! Work that was left out on purpose or by necessity, neglected work, and defects.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

macro_rules! verbs {
    ($($before:expr),*) => { concat!($($before,)* "implement/do/port/migrate/write/finish/complete/fix/\
        test/cover/support/handle/wire/\
run/translate/build/address/tackle/verify/update/include/convert/document/pursue/attempt/integrate/\
        deploy/solve") };
}

/// Parts that the speaker decided to leave out.
pub(crate) const DECLINED_PARTS: &[WordPattern] = patterns![
    verbs!("decided/chose/opted/elected/preferred not to "),
    "decided/chose/opted/elected/had/preferred to skip/leave/drop/defer/postpone/omit/cut/punt/descope/\
        park",
    "ended/wound up not",
    "ended/wound up skipping/dropping/leaving/deferring/omitting",
    "i/we have/had/also/just? forgot/neglected/failed/omitted to",
    "i/we have/had/also/just? forgot/neglected/overlooked about/the/a/that",
    "had/has/have to be cut/dropped/left/skipped/deferred/postponed/abandoned/descoped/removed/disabled",
    "has/have/was/were been? descoped/de-scoped/postponed/deferred/punted/parked/abandoned/shelved",
    "i/we .. cut/dropped/skipped/left/deferred/postponed/punted .. for/due/because/owing/given .. time/\
        budget/tokens/context/\
        reasons/constraints",
    "for lack/want of",
    "for/given time/budget/scope/brevity reasons/constraints",
    "i/we was/were/got interrupted/cut/stopped",
    "before i/we could/managed/got/finished/had/was/were",
    "did/does/will not make it into/in/to",
    "did not wait",
    "never got to/around/past/it",
    "never made it",
];

/// Work that was neglected.
pub(crate) const NEGLECTED_WORK: &[WordPattern] = patterns![
    "nobody/noone has/have/had proofread/reviewed/checked/tested/looked/verified/tried/run/read",
    "no one has/have/had proofread/reviewed/checked/tested/looked/verified/tried/run/read",
    "no test/tests/spec/specs/unit/integration test/tests? .. cover/covers/exercise/exercises/exist/\
        exists/yet/written",
    "there is/are no unit/integration/automated/end-to-end/regression? test/tests/coverage/\
        documentation/docs/validation/handling .. \
        for/of/yet/in/around",
    "without any? tests/test/coverage/validation/documentation $",
    "coverage ... is/at 0%",
    "nothing has/have/was/is been/being? done/implemented/tested/verified/started/run/checked/written",
    "no progress",
    "currently/still/yet/button/flag/option/clicking/click/setting/link/which .. has/have no effect",
    "currently/still/yet/but/button/flag/option/clicking/click/setting/link/which .. does/do nothing",
    "does/do nothing yet",
    "is/are not imported/used/called/referenced/registered/mounted/scheduled/linked/exported/\
        loaded .. anywhere/yet/by/from",
    "is/are never called/imported/invoked/registered/triggered/used/reached",
];

/// Things that do not work at all.
pub(crate) const INABILITIES: &[WordPattern] = patterns![
    "the/this/our/my/it/`/login/app/server/page/ui/search/upload/which ... does/do/can/will/would/is/\
        are not able/yet/currently/to? to? start/boot/\
        launch/handle/compile/load/render/parse/merge/respond/terminate/converge/recover/resume/install/\
        open/\
        save/finish/understand/cope/scale/behave/connect/come/fit/validate/typecheck/link/deploy",
    "not .. so far",
    "not clear/obvious/known to? me/us? why/whether/how/if/what",
];

/// Things that work incorrectly.
pub(crate) const WRONG_BEHAVIOUR: &[WordPattern] = patterns![
    "refuses/refuse/fails/fail to start/boot/build/compile/load/render/parse/connect/install/launch/\
        open/save/merge/run/\
        respond/initialise/initialize/link/resolve/terminate/converge",
    "chokes/trips/stumbles/bails/barfs/dies/croaks/breaks on/over/for/at",
    "loop/loops/spin/spins/hang/hangs/runs/recurses/recurse forever/endlessly/infinitely/indefinitely",
    "make/makes the/it/our/a * crash/panic/hang/fail/loop/overflow/break/segfault/freeze",
    "come/comes/comes/is/are/looks/appears .. out? wrong/incorrect/inaccurate/garbled/misaligned/\
        truncated/corrupted/off/blank $",
    "come/comes out wrong/incorrect/empty/garbled",
    "results/result in a/an/the blank/empty/white/error/crash/exception/500/timeout/failure/deadlock",
    "is/are off by a/an/one/two/three/#/some/up",
    "gives/give/produces/produce/returns/return/computes/shows/show/yields/renders/calculates the/a/an/\
        some? wrong/incorrect/\
        bogus/stale/inconsistent/invalid/garbage",
    "exits/quits/dies/stops/terminates immediately/right/at/prematurely/unexpectedly .. with/after/on",
    "is/are/seems/feels slow/sluggish/unusable/unreliable/buggy/janky/brittle",
    "only work/works/runs/run/builds/passes/compiles in/on/with/for/under/when/if/locally",
    "still use/uses/used/rely/relies/depend/depends/refer/refers/call/calls/contain/contains/import/\
        imports/point/points",
    "ci/build/suite/pipeline/job/jobs/tests/deploy/deployment/migration/run/import/indexing/it/they is/\
        are still/currently \
        running/queued/building/waiting/processing",
    "cause/reason/origin/source still? unknown/unclear/undetermined",
];

/// Work that is waiting, and checks that were removed.
pub(crate) const WAITING_WORK: &[WordPattern] = patterns![
    "has/have only been? been/exercised/tested/run/tried/verified/checked/used/done/implemented",
    "is/are/remains/was/been blocked/stuck until we/i/you",
    "< awaiting/pending a/an/the/your/their/some/further? decision/approval/review/input/answer/\
        confirmation/credentials/access/\
        clarification/feedback/sign-off",
    "is/are/am awaiting/pending a/an/the/your/their/some/further? decision/approval/review/input/answer/\
        confirmation/credentials/\
        access/clarification/feedback/sign-off",
    "this/that/it/which/they/and must/should/needs/has to? be confirmed/verified/double-checked/\
        reviewed/validated/decided/tested/\
        clarified/checked",
    "i/we/and removed/deleted/dropped/cut .. failing/broken/flaky/red test/tests/assertion/assertions/\
        check/checks/case/cases/spec/specs",
    "has/have/had unresolved? merge? conflicts $",
    "has/have/had unresolved? merge? conflicts that/which/in/with",
    "conflicts left/remaining/remain/that/which need/must/in?",
];
