//! Reported defects of the program, and stand-ins for a real implementation.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

macro_rules! problem {
    () => {
        "race/regression/regressions/leak/leaks/bug/bugs/deadlock/failure/failures/error/errors/\
        crash/problem/\
problems/issue/issues/mismatch/inconsistency/discrepancy/conflict/conflicts/condition/gaps/gap/hole/\
        glitch"
    };
}

/// Reported problems.
pub(crate) const REPORTED_PROBLEMS: &[WordPattern] = patterns![
    concat!(
        "there is/are/remain/remains/exists/seems/appears/may/might ... ",
        problem!(),
        " in/with/on/at/when/that/which/left/where/if/around/under/during/between/after/since/,/./;/:/-/\
        (/i/we"
    ),
    concat!("there is/are ... ", problem!(), " $"),
    concat!(problem!(), "/it/problem/this/that persist/persists"),
    "is/are still there/present/around/visible/possible/unclear/unsolved/unstable/wrong/slow/buggy",
    "still exists/exist/occurs/occur/happens/happen/appears/appear/reproduces/present/errors/panics/\
        complains/complain/\
        emits/reports/report/shows .. error/errors/warning/warnings/$",
    concat!(
        "i/we have/had/also/just? noticed/found/saw/discovered/spotted/introduced a/an/one/another/two ",
        problem!()
    ),
    "crashes/hangs/segfaults/deadlocks/diverges/freezes/stalls/explodes on/with/for/in/at/after/under/\
        sometimes/randomly/\
        intermittently/occasionally",
    "crashes/hangs/segfaults/deadlocks/diverges/freezes/stalls $",
    "but/however/unfortunately/sadly/though/although/yet ... gives/returns/throws/yields/produces/\
        raises/results/ends/shows/\
        answers .. 500/502/503/504/error/errors/exception/wrong/nothing/nan/garbage",
    "but/however/unfortunately/sadly/though/although/yet ... breaks/crashes/fails/hangs/panics/leaks/\
        ignores/times/stalls/\
        misbehaves/loses/drops/flickers",
    "budget/limit/quota/threshold/target/maximum .. is/was/are exceeded/missed",
    "instead of the required/requested/expected/promised/demanded",
    "unfortunately",
    "regrettably",
    "sadly",
    "alas",
    "which/it .. returns/gives/shows .. empty/wrong/nothing/stale .. list/result/results/data/value/values",
    "violate/violates .. rule/rules/lint/gate/spec/requirement/contract",
    "was/were/got/is rejected $",
    "was/were/got/is rejected by/with/because",
    "` was/were rejected/refused/denied/killed/aborted/cancelled",
    "push/publish/upload/release/deploy/deployment/merge was/were/got rejected/refused/denied/aborted/\
        declined",
    "script/command/job/it/`/which errors/dies/stops/aborts/quits on/with/out/after",
    "keeps/keep growing/climbing/leaking/increasing/drifting",
    "grows/grow/increases without/unbounded/forever/indefinitely",
    "produces/creates/leaves/inserts/yields duplicates/duplicate/orphans/orphaned/garbage",
    "although/though/but/whereas/while the? spec/task/ticket/prd/story/issue/criteria/criterion/plan/brief/\
        requirement/issue .. demands/requires/asks/wants/calls/expects/specifies/says/needs",
    "not/absent/missing/without/lacks/lack ... although/though/which/but/, .. required/requires/asks/\
        demands/wants",
    "absent/lacking from/in",
    "lack/lacks/lacking tests/docs/pagination/validation/error/support/a/an/any/documentation/coverage",
    "the/a/an/it/exporter/importer/`/ui/api/page/module/endpoint/parser/service/client/server/cli lacks",
    "only/one/main/sole/last thing/part/piece/bit/item/step missing/left/open/outstanding/remaining",
    "thing/part/piece/bit that is/are? still? missing/left/open/absent",
];

/// Stand-ins for a real implementation.
pub(crate) const STAND_INS: &[WordPattern] = patterns![
    "returns/return/shows/show/uses/use/serves/displays/contains/with/has/on/returning/using a/an/some/\
        the/only? \
        dummy/mock/mocked/fake/faked/placeholder/hard-coded/hardcoded/canned/bogus value/values/data/\
        response/responses/result/results/token/credentials/implementation/numbers/string/strings/list",
    "currently/presently/temporarily/now/is/are/still hard-coded/hardcoded/faked/dummied",
    "currently/presently/still throws/raises/panics/fails/errors/crashes",
    "just/simply/only throws/raises/panics",
    "notimplementederror/notimplementedexception/notimplemented",
    "i/we .. put/added/inserted/left/used/wrote/have/dropped a/an/some/the/two/several? simple/small/\
        temporary? placeholder/placeholders/\
        stub/stubs/dummy/mock/todo/todos/fixme",
    "for the time being",
    "for the moment",
    "at the moment/present .. fails/fail/broken/red/not/hard-coded/hardcoded/stubbed/mocked/disabled",
    "fails/fail/broken/red/hard-coded/hardcoded/stubbed/mocked/disabled/no-op/failing/wrong/empty ... \
        at the? moment/present",
    "sketched/outlined/scaffolded/prototyped but/only/and",
    "has/have/is/are been? only? sketched/outlined/scaffolded/prototyped",
    "copies/copy of the old/previous/existing",
];
