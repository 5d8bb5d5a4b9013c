//! One event of a session in, the next state and the answer out. Time and dice come in; nothing here waits.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::answer::{Act, Answer};
use super::notice::Notice;
use super::state::{SessionLoop, event};
use crate::attempt::{Afterlife, AttemptReport, Ending, Leftovers, Spend, Stream};
use crate::claim::{ClaimRules, Finder, Heard};
use crate::effect::Effect;
use crate::event::{EventKind, Millis};
use crate::evidence::{CheckEvidence, Evidence, Kind, Verdict};
use crate::fact::Fact;
use crate::prompt::{PromptPlan, tag};
use crate::state::Phase;
use crate::step::step;

/// After an error the session may recover by itself; so long it is left alone.
pub const RECOVERY_MS: u64 = 5_000;

/// When something happens, and the randomness for it.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub at: Millis,
    pub dice: u32,
}

/// What can happen to a session.
#[derive(Debug, Clone)]
pub enum Happening {
    /// The agent has ended its turn.
    Idle(Idle),
    /// The session met an error, by its name.
    Error { name: String },
    /// The session is gone.
    Deleted,
    /// Somebody wants the loop no more.
    Cancelled,
    /// The checks of the last claim have run.
    Verified(Evidence),
    /// The checks of the last claim are not through, and the host waits no longer.
    StillChecking { done: usize, of: usize },
}

/// The end of a turn, as the host told it.
#[derive(Debug, Clone, Default)]
pub struct Idle {
    /// The agent's last message; nothing where it said nothing, or nobody can tell.
    pub message: Option<String>,
    pub session: String,
    /// What the turn used, as far as that is known.
    pub spend: Spend,
    /// Whether files or the commit changed since the last stop; `None` where nobody looked.
    pub has_moved: Option<bool>,
    /// Names this stop, where one can be told from another.
    pub stop: Option<String>,
    /// Whether the turn was itself a continuation.
    pub is_continued: bool,
    pub cap: Option<Cap>,
    /// Whether the agent used a tool in this turn; `None` where nobody can tell.
    pub has_worked: Option<bool>,
}

/// How often in a row a program lets a session be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    pub most: u32,
    pub counting: Counting,
}

/// When a program begins to count anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// When the agent uses a tool, or the user speaks.
    UntilTool,
    /// When the user speaks.
    UntilUser,
}

/// Tells whether an error means that the user wants no more.
#[must_use]
pub fn is_abort(name: &str) -> bool {
    matches!(name, "MessageAbortedError" | "AbortError")
}

/// Decides. A loop that is over answers nothing but leave to stop.
#[must_use]
pub fn decide(state: SessionLoop, happening: Happening, moment: &Moment) -> (SessionLoop, Answer) {
    if !state.is_active() {
        return (state, Answer::silent());
    }
    match happening {
        Happening::Idle(idle) => on_idle(state, idle, moment),
        Happening::Error { name } if is_abort(&name) => cleared(state, moment),
        Happening::Error { .. } => {
            let recovering_until = Some(moment.at.plus(RECOVERY_MS));
            (SessionLoop { recovering_until, ..state }, Answer::silent())
        }
        Happening::Deleted => cleared(state, moment),
        Happening::Cancelled => cancelled(state, moment),
        Happening::Verified(evidence) => verified(state, evidence, moment),
        Happening::StillChecking { done, of } => still_checking(state, (done, of), moment),
    }
}

fn on_idle(state: SessionLoop, idle: Idle, moment: &Moment) -> (SessionLoop, Answer) {
    let is_same = idle.stop.is_some() && idle.stop == state.last_stop;
    // A clock that went back must not leave a session alone for ever.
    let left_ms = state.recovering_until.map_or(0, |until| until.since(moment.at));
    let is_recovering = (1..=RECOVERY_MS).contains(&left_ms);
    if is_same || is_recovering {
        let notice = if is_same { Notice::answered } else { Notice::recovering };
        let notices = vec![notice(state.iteration(), state.max_iterations())];
        return (state, Answer { notices, ..Answer::silent() });
    }
    let (state, answer) = match turn_over(noted(state, &idle), idle) {
        (state, Some(kind)) => advance(state, kind, moment),
        (state, None) => (state, Answer::silent()),
    };
    // Only rounds of one claim add up.
    let unfinished = if answer.act == Act::Verify { state.unfinished } else { 0 };
    (SessionLoop { unfinished, ..state }, answer)
}

/// Remembers the stop, and how often the session was continued before it. A session that is still continued after as
/// many times as its program allows has made a tool call in between.
fn noted(state: SessionLoop, idle: &Idle) -> SessionLoop {
    let is_over_cap = idle.cap.is_some_and(|cap| state.blocks >= cap.most);
    let lasting = idle.cap.is_some_and(|cap| cap.counting == Counting::UntilUser);
    let begins_anew = !idle.is_continued || is_over_cap || (!lasting && idle.has_worked == Some(true));
    let blocks = if begins_anew { 0 } else { state.blocks };
    let cap = idle.cap.map(|cap| cap.most);
    SessionLoop { blocks, cap, lasting, last_stop: idle.stop.clone(), recovering_until: None, ..state }
}

/// Returns the end of the turn as the machine knows it: the end of an attempt in a session that goes on. Checks that were
/// cut short are forgotten: the newest message is the one that counts.
fn turn_over(mut state: SessionLoop, idle: Idle) -> (SessionLoop, Option<EventKind>) {
    if let Phase::Verifying { iteration, attempt } = state.machine.phase {
        state.machine.phase = Phase::Working { iteration, attempt };
    }
    let Phase::Working { iteration, attempt } = &state.machine.phase else { return (state, None) };
    let key = iteration.key(*attempt);
    let rules = ClaimRules { nonce: iteration.nonce.clone(), ..state.rules.clone() };
    let prompt = state.render(&iteration.plan);
    let report = Box::new(report(rules, &prompt, idle));
    (state, Some(EventKind::AttemptEnded { key, report }))
}

fn report(rules: ClaimRules, prompt: &str, idle: Idle) -> AttemptReport {
    let mut finder = Finder::new(rules, prompt);
    if let Some(text) = &idle.message {
        finder.hear(Heard::Own { message: 1, text });
    }
    AttemptReport {
        ending: Ending::Exited { code: 0 },
        stream: Stream::Understood,
        unknown_records: 0,
        stray_line: String::new(),
        lived_ms: 0,
        trouble: None,
        repeating: None,
        reading: finder.finish(),
        spend: idle.spend,
        session: Some(idle.session),
        afterlife: Afterlife::Resumable,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: Leftovers::default(),
        has_moved: idle.has_moved,
    }
}

fn verified(state: SessionLoop, evidence: Evidence, moment: &Moment) -> (SessionLoop, Answer) {
    let Phase::Verifying { iteration, attempt } = &state.machine.phase else {
        return (state, Answer::silent());
    };
    let kind = EventKind::Verified { key: iteration.key(*attempt), evidence };
    advance(SessionLoop { unfinished: 0, ..state }, kind, moment)
}

/// Lets the machine decide, and reads its answer from what it wants done.
fn advance(state: SessionLoop, kind: EventKind, moment: &Moment) -> (SessionLoop, Answer) {
    let (machine, effects) = step(state.machine, event(moment, kind));
    let mut state = SessionLoop { machine, ..state };
    let (facts, wanted) = parted(effects);
    let (act, notices) = match wanted {
        Wanted::Nothing => (Act::Allow, Vec::new()),
        Wanted::Checks => (Act::Verify, Vec::new()),
        Wanted::Agent { plan } => go_on(&mut state, &plan, moment.at),
        Wanted::End => (Act::Allow, end_notice(&state).into_iter().collect()),
    };
    (state, Answer { act, notices, facts })
}

enum Wanted {
    Nothing,
    Checks,
    Agent { plan: PromptPlan },
    End,
}

/// Parts what is to be kept from what is to be done. Timers mean nothing here: nobody but the host waits.
fn parted(effects: Vec<Effect>) -> (Vec<Fact>, Wanted) {
    let (mut facts, mut wanted) = (Vec::new(), Wanted::Nothing);
    for effect in effects {
        match effect {
            Effect::Record { fact } => facts.push(fact),
            Effect::RunChecks { .. } => wanted = Wanted::Checks,
            Effect::StartAgent { plan, .. } => wanted = Wanted::Agent { plan },
            Effect::Finish => wanted = Wanted::End,
            Effect::Prepare { .. }
            | Effect::StopAgent { .. }
            | Effect::KillAgent { .. }
            | Effect::StopChecks { .. }
            | Effect::StartTimer { .. }
            | Effect::CancelTimer { .. } => {}
        }
    }
    (facts, wanted)
}

fn go_on(state: &mut SessionLoop, plan: &PromptPlan, at: Millis) -> (Act, Vec<Notice>) {
    state.last_iteration = Some(at);
    state.blocks = state.blocks.saturating_add(1);
    let mut notices = vec![Notice::iteration(state.iteration(), state.max_iterations())];
    let mut prompt = state.render(plan);
    if let Some(cap) = state.cap.filter(|cap| state.blocks >= *cap) {
        notices.push(Notice::host_cap(cap, state.lasting));
        prompt.push_str(if state.lasting { LAST_ANSWER } else { LAST_BLOCK });
    }
    (Act::Continue { prompt }, notices)
}

/// Only work with tools makes the host let the session go on.
const LAST_BLOCK: &str = "\n\nThis session ends with your next message unless you use a tool before it: go on with the \
                          work itself now, with tools, and do not answer with words alone.";

/// Nothing makes the host let the session go on but the user.
const LAST_ANSWER: &str = "\n\nThis session may end with your next message: do as much of the work as you can before it, and say \
                           honestly what is still open.";

fn end_notice(state: &SessionLoop) -> Option<Notice> {
    let ended = state.machine.ended()?;
    Some(Notice::ended(ended, state.iteration(), state.max_iterations()))
}

/// Ends the loop without a word: whoever ended it knows.
fn cleared(state: SessionLoop, moment: &Moment) -> (SessionLoop, Answer) {
    let (state, answer) = cancelled(state, moment);
    (state, Answer { notices: Vec::new(), ..answer })
}

fn cancelled(state: SessionLoop, moment: &Moment) -> (SessionLoop, Answer) {
    let iteration = state.iteration();
    let (machine, effects) = step(state.machine, event(moment, EventKind::Abandoned));
    let (facts, _) = parted(effects);
    let notices = vec![Notice::cancelled(iteration)];
    (SessionLoop { machine, ..state }, Answer { act: Act::Allow, notices, facts })
}

/// The claim stands, and the session must keep still until the checks are through. That is no new iteration, so it happens
/// only as often as there are checks: each time one more of them must have passed.
fn still_checking(
    mut state: SessionLoop,
    (done, of): (usize, usize),
    moment: &Moment,
) -> (SessionLoop, Answer) {
    let Phase::Verifying { iteration, .. } = &state.machine.phase else {
        return (state, Answer::silent());
    };
    let mark = tag(&state.rules.promise, iteration.nonce.as_ref());
    if usize::try_from(state.unfinished).is_ok_and(|rounds| rounds >= of) {
        return verified(state, too_slow(done, of), moment);
    }
    state.unfinished += 1;
    state.blocks = state.blocks.saturating_add(1);
    let prompt = format!(
        "[RALPH LOOP - STILL CHECKING]\n\nYour claim is being checked: {done} of {of} checks have passed, and the others \
         need more time than one answer has. Change no file and do nothing else. Answer with this on a line of its own, \
         and the remaining checks run:\n\n{mark}\n"
    );
    let message = format!("Still checking: {done} of {of} checks have passed");
    let notice = Notice { message, ..Notice::iteration(state.iteration(), state.max_iterations()) };
    (state, Answer { act: Act::Continue { prompt }, notices: vec![notice], facts: Vec::new() })
}

fn too_slow(done: usize, of: usize) -> Evidence {
    let reason = format!(
        "{done} of {of} checks have passed, the others need more time than one answer has, and what has passed does not hold \
         until the next one: the files change meanwhile, or nothing may be reused"
    );
    let check = CheckEvidence::plain(Kind::External, "the checks".into(), Verdict::CouldNotEvaluate, reason);
    Evidence { checks: vec![check] }
}
