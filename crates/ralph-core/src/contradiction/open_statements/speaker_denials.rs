//! Work that the speaker says was not done. Any verb counts, except verbs whose negation is harmless ("I did not change
//! the schema", "I could not find any problem").

use crate::claim::pattern::{MaskedSentence, WordPattern, pattern};
use crate::claim::prose_words::{ProseWord, has_match};

use super::{OpenWorkHit, StatementKind};

/// Verbs that are not work, or whose negation is harmless.
const HARMLESS_VERBS: &str = "change/changed/touch/touched/modify/modified/alter/altered/need/needed/have/\
        break/broken/\
    introduce/introduced/remove/removed/rename/renamed/want/wanted/see/seen/find/found/notice/noticed/\
        observe/\
    observed/encounter/encountered/hit/use/used/leave/left/skip/skipped/miss/missed/forget/forgotten/\
        mean/bump/\
    bumped/edit/edited/drop/dropped/lose/lost/let/require/required/expect/expected/spot/spotted/disable/\
        disabled/\
    ignore/ignored/delete/deleted/mock/mocked/stub/stubbed/weaken/weakened/rely/relied/rewrite/refactor/\
        move/moved/\
    reformat/duplicate/make/made/trust/like/believe/think/resist/help/detect/reproduce/reproduced/care/\
        mind/\
    hesitate/rush/cheat/guess/assume/know/known/realise/realize/add/take/taken/keep/kept/start/stop/\
        stopped/be/\
    bother/do/apply/copy/hide/alone/only/just/merely/simply/wish/dare/go/gone/commit/committed/regress/\
        cause/caused/\
    fail/suppress/suppressed/bypass/bypassed/loosen/hardcode/hard-code/invent/override/reduce/spend/\
        store/log/expose/\
    rebase/squash/force/downgrade/upgrade/vendor/ask/agree";

/// Problems: not finding one is good.
const PROBLEM_NOUNS: &str = "error/errors/problem/problems/issue/issues/failure/failures/regression/\
        regressions/warning/\
    warnings/conflict/conflicts/trouble/surprise/surprises/difference/differences/flake/flakes/\
        complaint/complaints";

/// Verbs whose negation in the simple past means undone work. With other verbs it only describes how the work was done.
const WORK_VERBS: &str = "fix/test/implement/verify/finish/complete/manage/cover/port/migrate/translate/wire/\
        address/\
    resolve/check/try/succeed/pass/get/run/write/update/look/investigate/handle/build/deploy/document/\
        include/reach/\
    solve/validate/confirm/review/execute/tackle/attempt/hook/convert/figure/dig/achieve/clean/\
        integrate/connect/apply/push/publish/release/merge";

/// Returns the words with which the speaker says that work was not done.
pub(crate) fn find_speaker_denial(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const DENIED_VERB: WordPattern = pattern!(
        "i/we have/had/did/could/was/were still/also/only/just/actually/deliberately? not \
        actually/really/fully/even/quite/been/currently/manually/personally/yet/properly? *"
    );
    let sentence = marked.words;
    (0..sentence.len()).find_map(|at| {
        let range = DENIED_VERB.match_at(marked, at)?;
        let denied = sentence.get(range.clone())?;
        let later = sentence.get(range.end..).unwrap_or(&[]);
        is_denied_work(denied, later).then_some(OpenWorkHit { range, kind: StatementKind::Denial })
    })
}

fn is_denied_work(denied: &[ProseWord], later: &[ProseWord]) -> bool {
    let verb = denied.last().map_or("", |word| word.text.as_str());
    let is_in = |list: &str| list.split('/').any(|known| known == verb);
    let near = later.get(..later.len().min(6)).unwrap_or(later);
    let no_problem = has_match(near, &[PROBLEM_NOUNS]) && has_match(near, &["any/a/single/further/more/other"]);
    let lacked_means =
        has_match(later, &["< the/a/enough/any? time/chance/opportunity/access/means/way to/for/left/yet"]);
    let work = if has_match(denied, &["did"]) { is_in(WORK_VERBS) } else { !is_in(HARMLESS_VERBS) };
    (work && !no_problem) || (matches!(verb, "have" | "had" | "get") && lacked_means)
}
