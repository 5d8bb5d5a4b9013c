//! Admissions of the agent: it ran out of time, bypassed a check, guessed, or deferred a part of the work.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

/// Time, context or budget that ran out.
pub(crate) const EXHAUSTED_RESOURCES: &[WordPattern] = patterns![
    "i/we/session/context/run/agent .. %hit/%reach/%exceed/reached/hit/exhausted .. limit/limits/quota/\
        cap/budget/ceiling",
    "i/we/session/context/it .. ran out of",
    "running/ran out of time/context/tokens/budget/turns/steps/credits/memory?",
    "context/token/tokens/session/my/our window/budget/limit/quota? filled/overflowed/expired/exhausted",
    "context/token/tokens/session/my/our window/budget/limit/quota is/was nearly/almost? full/up/spent/\
        exhausted/over",
    "out of time/context/tokens/budget/turns/credits",
    "i/we have/had/also/just? stopped at/after/before/halfway/short/early/there/midway",
    "i/we had to stop/cut/abort/abandon/defer/postpone/drop",
    "no/little/insufficient/limited time left/for/to",
    "not enough time/context/tokens/budget/information/memory",
    "short on time",
    "as far as i/we got/could/came/managed",
    "all i/we could/managed/got do/to/done/.",
    "time is/was/ran up/out",
    "due/owing to time/budget/context/token constraints/limits/limitations/pressure",
    "i/we/would/will/and need/needs/require/requires more time/information/context/access/input/data",
    "i/we would need",
    "given more time",
];

/// Checks that were bypassed instead of passed.
pub(crate) const CIRCUMVENTED_CHECKS: &[WordPattern] = patterns![
    "i/we .. bypassed/excluded/suppressed/silenced/muted/ignored/deselected/xfailed/skipped/circumvented/\
        sidestepped .. test/tests/check/checks/assertion/assertions/rule/rules/gate/lint/hook/hooks/\
        validation/permission/error/errors/warning/warnings/`",
    "i/we .. loosened/relaxed/weakened/lowered .. test/tests/threshold/coverage/assertion/assertions/gate/\
        check/checks/expectation/expectations",
    "by excluding/skipping/ignoring/disabling/commenting/deselecting/bypassing/suppressing/silencing/\
        deleting \
        .. it/them/test/tests/check/checks/assertion/assertions/rule/hook/`",
    "i/we .. worked around .. test/tests/check/checks/build/failure/failures",
    "is/are/was/were temporarily? marked/tagged/flagged as/with? xfail/skip/ignore/skipped/ignored/flaky",
    "temporarily marked/bypassed/excluded/ignored/removed/hard-coded/hardcoded/relaxed/off",
    "as a/an temporary/interim/stopgap/quick measure/solution/fix/hack/workaround/step",
    "to get/make/keep/turn .. green/pass/passing/through .. i/we .. commented/disabled/skipped/removed/\
        deleted/\
        excluded/ignored",
];

/// Guesses instead of knowledge.
pub(crate) const GUESSES: &[WordPattern] = patterns![
    "is/was only/just/at? best? a/an/my best/educated/blind? guess/speculation/assumption",
    "i/we have/had no way/means/idea/evidence/proof/result/results/confirmation",
    "i/we can not tell/say/judge/know/see if/whether/why/how",
    "i/we can not be sure/certain",
    "unclear/unknown/uncertain/unsure why/whether/if",
    "cause/reason is/remains still? unknown/unclear",
    "i/we suspect",
    "i/we am/are not fully? sure/certain/confident/convinced/happy/satisfied/done/finished/through",
    "without .. access/credentials/network/docker/hardware i/we can not",
    "may/might not work/pass/compile/build/hold",
    "should work/pass/compile/build but",
    "in theory but",
    "assume/assuming it/they/this work/works/passes/pass",
    "hopefully work/works/passes/pass",
];

/// Parts that are left for another person or a later time.
pub(crate) const DEFERRED_PARTS: &[WordPattern] = patterns![
    "whoever .. next/after/over/continues/takes/picks",
    "left/leaving .. to/for whoever/someone/somebody/others",
    "somebody/someone has/needs/must/should/will",
    "which/that i/we have not made/done/written/finished/tested",
    "next person/agent/session/iteration/developer/engineer/run/round/one can/should/will/has/needs/\
        must/could/may/to",
    "in/for/to/until/during a/an/the/another/some later/subsequent/future/following/second/separate \
        session/iteration/pr/change/commit/patch/pass/round/sprint/run/message/turn",
    "will/would/should/must/shall/can/could be implemented/extended/finished/completed/tackled/revised/\
        addressed/fixed/written/wired/ported/migrated/translated/revisited/done/added/handled/\
        cleaned ... later/\
        subsequent/subsequently/afterwards/soon/eventually/separately/next/tomorrow",
    "will/shall be implemented/extended/tackled/revised/addressed/fixed/wired/ported/revisited",
    "should/must be .. replaced/revised/fixed/removed/cleaned/rewritten/implemented/completed/finished/\
        wired/\
        swapped .. by/with/before/at/once/for/in? the/a/an? real/actual/proper/later/merge/release/\
        production",
    "docs/documentation/readme/it/this/they/that ... should/must be revised/updated/fixed/completed/\
        rewritten",
    "is/are to be added/implemented/written/fixed/tested/finished/migrated/ported/translated/wired/decided/\
        defined/determined/discussed/clarified/completed",
    "is/are/remains/would/will be? the/my/our/a next/logical/obvious next? step/steps",
    "next step/steps is/are/would/will be? to",
    "is/are on my/the/our list/todo/plate/roadmap",
    "i/we will/would/am/are/plan/intend/hope .. fix/implement/finish/complete/address/tackle/add/\
        continue/port/\
        migrate/handle/investigate/resume .. later/next/tomorrow/soon/afterwards/then/once/when/in",
    "i/we will continue/resume/finish/complete/tackle/fix/address/implement",
    "to be continued",
    "shall/should/may/can i/we .. continue/go/proceed/fix/finish/complete/port/convert",
    "do you want me/us to fix/finish/continue/complete/proceed/go",
    "should the ... failing/failed/broken/remaining ... be",
    "picking/pick/picked .. up again? later/next/tomorrow/there",
];

/// Work that is still needed.
pub(crate) const NEEDED_WORK: &[WordPattern] = patterns![
    "need/needs/requires/require/wants/deserves a/an/some/your/the? more/further/additional/proper/real/\
        human/manual/actual/deeper/another/\
        extra/separate/second/careful/full/serious? work/implementation/investigation/decision/input/time/\
        testing/tests/fix/polish/polishing/tuning/debugging/iteration/effort/refinement/attention/\
        clarification/\
        rework/refactor/refactoring/cleanup/adjustment/adjustments/changes/credentials/redesign/handling/\
        follow-up/pass/look/round/love",
    "need/needs/requires to be looked/sorted/worked/figured/checked/adjusted/reworked/hooked/supplied/\
        provided/\
        set/created/filled/revisited/tuned/confirmed/validated/defined",
    "more/further/additional/some work/effort/time/investigation/testing/debugging/polish/tests/\
        changes is/are/will/\
        would be? still? needed/required/necessary",
    "before this/it/we can work/ship/merge/land/go/run/deploy/release",
    "waiting/waits for/on you/your/someone/somebody/a/an/the .. decision/answer/input/credentials/\
        access/approval/key/keys/\
        review",
    "has/have to be created/supplied/provided/rebuilt/set/filled/replaced/done/added/written/\
        finished .. by? \
        otherwise/before/manually/someone/somebody/first",
    "index/data/cache/table has/have to be",
];
