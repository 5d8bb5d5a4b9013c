//! Statements that only a part is done: most, nearly, only, all except.
//! The pattern syntax is described at `claim::prose_words::find_match`.

use crate::claim::pattern::{WordPattern, patterns};

macro_rules! ended {
    ($($before:expr),*) => { concat!($($before,)* "work/pass/passes/passed/passing/green/done/implemented/\
        complete/completed/\
works/working/finished/ported/migrated/translated/converted/covered/fixed/ready/there/succeed/clean/\
        updated") };
}
macro_rules! parts {
    () => {
        "work/test/tests/spec/specs/check/checks/criteria/stories/story/tasks/items/endpoints/features/\
requirements/cases/screens/pages/files/modules/functionality/points/steps/of/scenarios/jobs/suites/\
components/handlers/routes/locales/parts/plan"
    };
}

pub(crate) const PARTIAL_QUANTITIES: &[WordPattern] = patterns![
    concat!("most/majority/much/bulk/half of? the/our/my/these? ", parts!(), ended!(" .. ")),
    concat!("most/half ", parts!(), ended!(" ... ")),
    ended!("nearly/almost/virtually/practically/basically/essentially/mostly/largely "),
    ended!("nearly/almost/virtually/practically all/every/everything/fully ... "),
    "implemented/finished/fixed/done/ported/migrated/converted/covered/completed/translated/addressed/\
        resolved/did/\
        handled/repaired about/roughly/only/just? most/some/half/part/parts/much/almost/nearly/several/\
        many of",
    "implemented/finished/done/ported/migrated/converted/covered/completed only",
    "< so? far? only/just ... is/are/has/have been? so? far? currently? implemented/done/finished/complete/\
        working/ported/migrated/translated/wired/there",
    "< only/just ... was/were/have/has been? run/tested/verified/checked/executed/covered/exercised/\
        reviewed/implemented",
    "but/and/,/;/- only/just ... was/were run/tested/verified/checked/executed/covered/implemented",
    "i/we .. only/just did/ran/tested/covered/got/managed/tried/finished",
    "only? partly/partially fixes/solves/addresses/resolves/works/covers/helps/implements",
    "but/and/, .. still there/present/visible",
    "and/but/,/- unfixed/unresolved/unsolved/unfinished/untested/unimplemented/unaddressed",
    ", .. pending/missing/open/outstanding/todo/unfinished/unmet $",
    "so far only",
    "happy path only",
    "only the/a/one/some happy/basic/first/simple path/case/cases",
    "is/are/was/were a/an/only/just/more? first/rough/early/initial/minimal/bare-bones/bare/mere/empty/\
        thin/quick? \
        draft/sketch/skeleton/prototype/mock-up/mockup/scaffold/stopgap/proof",
    "first draft/sketch of",
    "is/are/remains minimal/rudimentary/sketchy/basic/bare-bones and/,/but/for/;/at",
    "fall/falls/fell/falling/comes/came short",
    "# .. short of",
    "just/still/bit/little/far/well short of",
    "misses/missed/missing .. target/goal/budget/gate/threshold",
    "still .. twice/slower/too/above/over/below/under/short/higher/lower/larger",
    "not quite",
    "not 100%",
    "everything else/other is/works/passes/was",
    "the rest is/works/passes/was/are",
    "went/dropped/down/reduced/cut/shrank ... failing/failures/errors/failed/problems/tests ... to #",
    "down to # .. errors/failures/failing/problems/tests/warnings",
];
