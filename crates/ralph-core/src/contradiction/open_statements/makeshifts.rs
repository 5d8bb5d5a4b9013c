//! Makeshift work: placeholders, hacks, forced passes, and results that were not verified.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

/// Content or code that is only a placeholder.
pub(crate) const PLACEHOLDERS: &[WordPattern] = patterns![
    "is/are made up",
    "is/are all/just/only/pure/mere/purely? invented/fake/faked/fictional/fabricated/bogus/guesses/\
        guesswork/arbitrary/lorem",
    "i/we have/had/also/just? made up/invented/fabricated/guessed the/some/a/these/all",
    "i/we have/had/also/just? invented/fabricated/guessed",
    "lorem ipsum",
    "is/are copies/duplicates of",
    "is/are/remains/stay still in english",
    "i/we? would? consider/call/treat/see/regard/think this/it/that as/of? as? a/an/only/more? rough/\
        first/working? prototype/proof/draft/sketch/hack/poc/\
        starting/spike/experiment",
    "is/are a/an quick/dirty/temporary/ugly/nasty/crude/provisional/interim? and/,? dirty? hack/\
        workaround/stopgap/kludge/\
        band-aid/spike",
    "is/are not the final/real/proper/actual",
    "symptom/symptoms .. but not",
    "but not the .. cause/root/problem/underlying",
    "i/we have/had/also/just? treated/hid/masked/papered .. symptom/symptoms/over/problem",
];

/// Checks that were forced to pass, stopped or restricted.
pub(crate) const FORCED_PASSES: &[WordPattern] = patterns![
    "i/we .. increased/raised/relaxed/widened/loosened/weakened/lowered/reduced/bumped .. tolerance/\
        error/threshold/timeout/limit/\
        assertion ... to make/get/let/keep",
    "i/we .. marked/annotated/tagged/silenced/suppressed .. findings/warnings/errors/violations/\
        tests with/as/using/by",
    "i/we .. killed/aborted/cancelled/interrupted the/that test/suite/run/job/build",
    "test/tests/run/suite/job/build/benchmark/deploy was/were aborted/killed/cancelled/interrupted/\
        terminated/stopped",
    "tests/test/specs/checks is/are/were/was/had/got/have .. quarantined/muted/parked",
    "never completes/finishes/ends/returns/terminates/passes/converges",
    "status/result/results/outcome/state still/is/are/currently? unknown/unavailable/unclear",
    "results is/are not available/there/in/known",
    "i/we have no/neither test/tests/benchmark? result/results/numbers/access/credentials/permission/\
        proof/key",
    "i/we do not have the/any/a/write/enough? permission/permissions/access/credentials/rights/key/keys/\
        token/hardware/license/time",
    "verification/testing/tests/checks/check/checking/review was/were/is/are limited/restricted to",
    "tested/verified/checked/validated .. only/alone/manually ,/;/./$",
    "tested/verified/checked/validated ... only/alone $",
    "manual/visual check/test/inspection/review only",
    "by reading/inspecting/reviewing/eyeballing the/code .. only/alone/rather",
];

/// Results that the speaker only hopes for.
pub(crate) const UNVERIFIED_HOPES: &[WordPattern] = patterns![
    "should/ought to? work/pass/compile/build/hold/do/fix/be ... i/we/hopefully think/hope/believe/\
        guess/presume",
    "should/ought to? work/pass/compile/build/hold , i/we/though/although/but/hopefully",
    "ought to work/pass/compile/be",
    "probably/presumably/hopefully/supposedly work/works/passes/fixed/fixes/fine/correct/ok/compiles",
    "this/it/that should probably/hopefully? fix/solve/resolve/help",
    "i/we hope/trust/believe/assume/think this/it/that/they .. work/works/fixes/passes/is/are/helps but",
    "i/we hope/trust that/it/this/they .. works/holds/passes/fixes/solves",
];

/// Chores that remain.
pub(crate) const REMAINING_CHORES: &[WordPattern] = patterns![
    "before it/this/that/we/they can/could/may/is/are be? merged/shipped/released/deployed/used/ready/\
        published/go",
    "in its/their/the current/present form/state/shape",
    "and/it/this/that/which/they/code/hack should/must/needs/ought to? be replaced/removed/reworked/\
        cleaned/rewritten/refactored/undone/reverted",
    "has/have to go $",
    "has/have to wait",
    "is/are planned $",
    "is/are planned for/as/next/later/but",
    "is/are coming in/next/later/soon/up",
    "is/are up? next $",
    "is/are up? next on/,/;",
    "for/until another day/time/run/round/session/iteration",
    "something i/we would/will/want/plan/need/should",
    "work/phase/step/part/stage/milestone/rest ... will start/begin/follow/continue",
    "working tree/copy is/remains dirty",
    "is/are/remain/remains/left uncommitted/unpushed/unmerged/unpublished",
    "rejects/rejected/refuses/refused/blocks/blocked my/this commit/push/change/branch/merge/pr/changes",
    "dirty : .. rejects/refuses",
    "this/it/which/change/that introduces/introduced/causes/creates/adds a/an/one/two/some/new new/\
        small/slight? \
        regression/regressions/bug/bugs/failure/failures/warning/conflict/leak",
    "is/are not in the bundle/build/release/package/image/repo/branch/pr/commit/index",
    "was/were/had rolled/backed back/out because/since/as/due",
];
