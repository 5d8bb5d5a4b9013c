//! Statements that something was not achieved: not done, not tested, could not be run.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

pub(crate) const DENIALS: &[WordPattern] = patterns![
    "could not be/fully/yet/even/actually/really? push/commit/merge/deploy/publish/upload/download/open/\
        create/update/generate/log",
    "could only",
    "not functional/operational/usable/sufficient",
    "am/are/is not sure/certain",
    "can not guarantee/confirm",
    "never .. written/implemented/tested/verified/run/finished/completed/started/executed/merged/built/\
        checked/migrated",
    "has/have/was/were/is/are not .. reached/achieved/hit/satisfied/delivered/included/met",
    "did not update",
    "i/we did not .. update/write/add/touch .. tests/docs/test",
    ": not .. run/done/started/tested/verified/implemented/finished/executed/complete/available",
    "not yet",
    "not ... yet",
    "not all",
    "not every",
    "not everything",
    "not fully",
    "not completely",
    "not entirely",
    "not finished",
    "not complete",
    "not completed",
    "has/have/had not .. implemented/written/done/finished/completed/fixed/tested/verified/covered/wired/\
        handled/migrated/started/addressed/resolved/integrated/connected/hooked/updated/translated/ported/\
        merged/deployed/looked/tried/run/checked/reviewed/built/added/created/documented/validated/\
        exercised/planned/enabled/attempted/confirmed",
    "is/are/was/were not .. implemented/written/done/finished/complete/completed/tested/covered/verified/\
        wired/working/fixed/translated/ported/integrated/passing/green/addressed/migrated/enforced/hooked/\
        connected/there/ready/started/met/validated/built/solved/resolved",
    "did not fix/test/implement/verify/finish/complete/manage/cover/port/migrate/translate/wire/address/\
        resolve/check/try/start/succeed/pass",
    "did not get to/around/it/the",
    "have not found out/the/a/any .. cause/reason/why/fix/solution/way",
    "has/have not happened/landed/shipped/begun/materialised",
    "has/have not got/gotten/gone/been got/gotten? around/to/it/through/past",
    "has/have not been looked/touched/tackled/considered/attempted/investigated/exercised/started/dealt/\
        hooked",
    "was/were/has/have not been? run/executed/exercised/attempted/investigated/updated/included/touched/\
        possible/\
        feasible/successful",
    "is/are not .. handled/clean/happy/stable/reliable/correct/correctly/properly/production-ready/\
        optimal/right/\
        respected/honoured/honored/invalidated/enough",
    "no longer work/pass/passes/passing/works/working/compile/compiles/build/builds/run/runs/green/\
        start/starts",
    "not part of what",
    "none of this/it/that/these/them has/have/was/were been? tested/verified/run/checked/reviewed/executed",
    "no .. has/have been written/implemented/done/built/ported/run/executed/tested/deployed/merged",
    "but/yet not yet? done/finished/implemented/tested/ready/complete/verified/there/working",
    "could get/run/do/finish/test/port only",
    ": not met/ok/working/passing/satisfied/ready",
    "not what the/your spec/ticket/story/task/issue/prd asks/asked/says/wants/requires/demands",
    ", not eliminated/fixed/solved/resolved/gone/removed/cured/finished/complete",
    "is/are not published/mergeable/deployable/shippable/released/pushed/deployed/merged/uploaded/\
        committed/usable/installed/\
        loaded/shipped/signed on/in/yet/because/since/,/./;/$",
    "not supported , contrary/although/though/but",
    "contrary to the/what",
    "does/do not line/add up",
    "test/tests .. do/does not exist",
    "none of ... work/pass/passes/passed/green/run/works/done/implemented/executed/finished/succeed/\
        succeeds/builds",
    "no ... test/tests/job/jobs/check/checks/runner/runners/suite .. pass/passes/passed/has/have/was/\
        were been? run/executed/pass/passes",
    "not a single/one ... pass/passes/passed/works/succeeds",
    "nothing has/have/was/is been? pushed/committed/deployed/merged/published/saved/shipped/released",
    "contain/contains/has/have/with no assertions/tests/assertion",
    "what/things i/we could/did/have not",
    "did not run the/any/all/them/it/e2e/integration",
    "do/does not work/compile/build/pass/typecheck",
    "do/does not .. pass/compile/build",
    "never tested/verified/ran/run/finished/completed",
    "nothing/none has/have/is/are/was/were .. verified/tested/checked/run/implemented",
    "unable to",
    "not able to",
    "not manage to",
    "not possible to run/test/verify/build/finish",
    "could not be/fully/yet/even/actually/really? run/verify/test/build/fix/confirm/check/validate/execute/\
        install/finish/complete/reach/get/start/connect/implement/resolve/solve/access",
    "could not be *",
    "can not be/fully/yet/even/actually/really? complete/finish/proceed/verify/continue/completed/verified/\
        tested/finished/build/run/fix/test/compile/done/validated",
    "i/we/and failed to",
    "impossible to verify/test/run/build",
    "not been able to",
    "no tests were/have .. run/executed",
    "not wired",
    "not hooked",
    "not implemented",
    "not supported yet",
    "not part of the build yet",
    "i/we do not know why/whether/if",
    "i/we lack/lacked",
    "i/we had no credentials/access/time/way/permission",
];
