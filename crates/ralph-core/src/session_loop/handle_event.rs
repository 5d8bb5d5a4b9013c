//! One event of a session in, the next state and the answer out. Time and dice come in; nothing here waits.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::decision::{SessionAction, SessionDecision};
use super::notice::SessionNotice;
use super::state::{SessionLoop, build_event};
use crate::attempt::{
    AttemptEnding, AttemptReport, LeftoverProcesses, ModelSpend, OutputParseStatus, SessionResumability,
};
use crate::claim::{ClaimFinder, ClaimRules, TranscriptEvent};
use crate::effect::Effect;
use crate::event::{EventKind, UnixMillis};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::fact::Fact;
use crate::loop_state::LoopPhase;
use crate::prompt::{PromptPlan, promise_tag};
use crate::step::step;

/// After an error the session may recover by itself; so long it is left alone.
pub const ERROR_RECOVERY_MS: u64 = 5_000;

/// When something happens, and the randomness for it.
#[derive(Debug, Clone, Copy)]
pub struct DecisionMoment {
    pub at: UnixMillis,
    pub random: u32,
}

/// What can happen to a session.
#[derive(Debug, Clone)]
pub enum SessionLoopEvent {
    /// The agent has ended its turn.
    TurnEnded(TurnEnd),
    /// The session met an error, by its name.
    SessionError { name: String },
    /// The session is gone.
    SessionDeleted,
    /// Somebody wants the loop no more.
    Cancelled,
    /// The checks of the last claim have run.
    Verified(Evidence),
    /// The checks of the last claim are not through, and the host waits no longer.
    StillChecking { done: usize, total: usize },
}

/// The end of a turn, as the host told it.
#[derive(Debug, Clone, Default)]
pub struct TurnEnd {
    /// The agent's last message; nothing where it said nothing, or nobody can tell.
    pub message: Option<String>,
    pub session: String,
    /// What the turn used, as far as that is known.
    pub spend: ModelSpend,
    /// Whether files or the commit changed since the last stop; `None` where nobody looked.
    pub has_changes: Option<bool>,
    /// Names this stop, where one can be told from another.
    pub stop_id: Option<String>,
    /// Whether the turn was itself a continuation.
    pub is_continuation: bool,
    pub cap: Option<ContinuationCap>,
    /// Whether the agent used a tool in this turn; `None` where nobody can tell.
    pub has_used_tools: Option<bool>,
}

/// How often in a row a program lets a session be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContinuationCap {
    pub max_continuations: u32,
    pub reset_rule: CapResetRule,
}

/// When a program begins to count anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapResetRule {
    /// When the agent uses a tool, or the user speaks.
    OnToolUse,
    /// When the user speaks.
    OnUserMessage,
}

/// Tells whether an error means that the user wants no more.
#[must_use]
pub fn is_user_abort(name: &str) -> bool {
    matches!(name, "MessageAbortedError" | "AbortError")
}

/// Decides. A loop that is over answers nothing but leave to stop.
#[must_use]
pub fn handle_session_event(
    state: SessionLoop,
    event: SessionLoopEvent,
    moment: &DecisionMoment,
) -> (SessionLoop, SessionDecision) {
    if !state.is_active() {
        return (state, SessionDecision::allow_silently());
    }
    match event {
        SessionLoopEvent::TurnEnded(idle) => on_turn_end(state, idle, moment),
        SessionLoopEvent::SessionError { name } if is_user_abort(&name) => end_silently(state, moment),
        SessionLoopEvent::SessionError { .. } => {
            let recovering_until = Some(moment.at.add_millis(ERROR_RECOVERY_MS));
            (SessionLoop { recovering_until, ..state }, SessionDecision::allow_silently())
        }
        SessionLoopEvent::SessionDeleted => end_silently(state, moment),
        SessionLoopEvent::Cancelled => cancel_loop(state, moment),
        SessionLoopEvent::Verified(evidence) => apply_evidence(state, evidence, moment),
        SessionLoopEvent::StillChecking { done, total: of } => ask_to_wait(state, (done, of), moment),
    }
}

fn on_turn_end(state: SessionLoop, turn_end: TurnEnd, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let is_same = turn_end.stop_id.is_some() && turn_end.stop_id == state.last_stop;
    // A clock that went back must not leave a session alone for ever.
    let left_ms = state.recovering_until.map_or(0, |until| until.elapsed_since(moment.at));
    let is_recovering = (1..=ERROR_RECOVERY_MS).contains(&left_ms);
    if is_same || is_recovering {
        let notice = if is_same { SessionNotice::already_answered } else { SessionNotice::recovering_from_error };
        let notices = vec![notice(state.current_iteration(), state.max_iterations())];
        return (state, SessionDecision { notices, ..SessionDecision::allow_silently() });
    }
    let (state, answer) = match attempt_ended_event(remember_stop(state, &turn_end), turn_end) {
        (state, Some(kind)) => advance_loop(state, kind, moment),
        (state, None) => (state, SessionDecision::allow_silently()),
    };
    // Only rounds of one claim add up.
    let unfinished = if answer.action == SessionAction::RunChecks { state.unfinished } else { 0 };
    (SessionLoop { unfinished, ..state }, answer)
}

/// Remembers the stop, and how often the session was continued before it. A session that is still continued after as
/// many times as its program allows has made a tool call in between.
fn remember_stop(state: SessionLoop, turn_end: &TurnEnd) -> SessionLoop {
    let is_over_cap = turn_end.cap.is_some_and(|cap| state.blocks >= cap.max_continuations);
    let lasting = turn_end.cap.is_some_and(|cap| cap.reset_rule == CapResetRule::OnUserMessage);
    let begins_anew = !turn_end.is_continuation || is_over_cap || (!lasting && turn_end.has_used_tools == Some(true));
    let blocks = if begins_anew { 0 } else { state.blocks };
    let cap = turn_end.cap.map(|cap| cap.max_continuations);
    SessionLoop { blocks, cap, lasting, last_stop: turn_end.stop_id.clone(), recovering_until: None, ..state }
}

/// Returns the end of the turn as the machine knows it: the end of an attempt in a session that goes on. Checks that were
/// cut short are forgotten: the newest message is the one that counts.
fn attempt_ended_event(mut state: SessionLoop, turn_end: TurnEnd) -> (SessionLoop, Option<EventKind>) {
    if let LoopPhase::Verifying { iteration, attempt } = state.machine.phase {
        state.machine.phase = LoopPhase::Working { iteration, attempt };
    }
    let LoopPhase::Working { iteration, attempt } = &state.machine.phase else { return (state, None) };
    let key = iteration.attempt_key(*attempt);
    let rules = ClaimRules { nonce: iteration.nonce.clone(), ..state.rules.clone() };
    let prompt = state.render_plan(&iteration.plan);
    let report = Box::new(build_report(rules, &prompt, turn_end));
    (state, Some(EventKind::AttemptEnded { key, report }))
}

fn build_report(rules: ClaimRules, prompt: &str, turn_end: TurnEnd) -> AttemptReport {
    let mut finder = ClaimFinder::new(rules, prompt);
    if let Some(text) = &turn_end.message {
        finder.handle_event(TranscriptEvent::AgentText { message: 1, text });
    }
    AttemptReport {
        ending: AttemptEnding::Exited { code: 0 },
        stream: OutputParseStatus::Understood,
        unknown_records: 0,
        stray_line: String::new(),
        lived_ms: 0,
        error: None,
        repeating: None,
        reading: finder.finish(),
        spend: turn_end.spend,
        session: Some(turn_end.session),
        resumability: SessionResumability::Resumable,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: LeftoverProcesses::default(),
        has_moved: turn_end.has_changes,
    }
}

fn apply_evidence(state: SessionLoop, evidence: Evidence, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let LoopPhase::Verifying { iteration, attempt } = &state.machine.phase else {
        return (state, SessionDecision::allow_silently());
    };
    let kind = EventKind::Verified { key: iteration.attempt_key(*attempt), evidence };
    advance_loop(SessionLoop { unfinished: 0, ..state }, kind, moment)
}

/// Lets the machine decide, and reads its answer from what it wants done.
fn advance_loop(state: SessionLoop, kind: EventKind, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let (machine, effects) = step(state.machine, build_event(moment, kind));
    let mut state = SessionLoop { machine, ..state };
    let (facts, wanted) = split_effects(effects);
    let (act, notices) = match wanted {
        RequestedWork::Nothing => (SessionAction::AllowStop, Vec::new()),
        RequestedWork::Checks => (SessionAction::RunChecks, Vec::new()),
        RequestedWork::Agent { plan } => continue_session(&mut state, &plan, moment.at),
        RequestedWork::Finish => (SessionAction::AllowStop, end_notice(&state).into_iter().collect()),
    };
    (state, SessionDecision { action: act, notices, facts })
}

enum RequestedWork {
    Nothing,
    Checks,
    Agent { plan: PromptPlan },
    Finish,
}

/// Parts what is to be kept from what is to be done. Timers mean nothing here: nobody but the host waits.
fn split_effects(effects: Vec<Effect>) -> (Vec<Fact>, RequestedWork) {
    let (mut facts, mut wanted) = (Vec::new(), RequestedWork::Nothing);
    for effect in effects {
        match effect {
            Effect::Record { fact } => facts.push(fact),
            Effect::RunChecks { .. } => wanted = RequestedWork::Checks,
            Effect::StartAgent { plan, .. } => wanted = RequestedWork::Agent { plan },
            Effect::Finish => wanted = RequestedWork::Finish,
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

fn continue_session(state: &mut SessionLoop, plan: &PromptPlan, at: UnixMillis) -> (SessionAction, Vec<SessionNotice>) {
    state.last_iteration = Some(at);
    state.blocks = state.blocks.saturating_add(1);
    let mut notices = vec![SessionNotice::iteration_started(state.current_iteration(), state.max_iterations())];
    let mut prompt = state.render_plan(plan);
    if let Some(cap) = state.cap.filter(|cap| state.blocks >= *cap) {
        notices.push(SessionNotice::host_cap_reached(cap, state.lasting));
        prompt.push_str(if state.lasting { USER_CAP_WARNING } else { TOOL_CAP_WARNING });
    }
    (SessionAction::Continue { prompt }, notices)
}

/// Only work with tools makes the host let the session go on.
const TOOL_CAP_WARNING: &str = "\n\nThis session ends with your next message unless you use a tool before it: go on with the \
                          work itself now, with tools, and do not answer with words alone.";

/// Nothing makes the host let the session go on but the user.
const USER_CAP_WARNING: &str = "\n\nThis session may end with your next message: do as much of the work as you can before it, and say \
                           honestly what is still open.";

fn end_notice(state: &SessionLoop) -> Option<SessionNotice> {
    let ended = state.machine.run_end()?;
    Some(SessionNotice::loop_ended(ended, state.current_iteration(), state.max_iterations()))
}

/// Ends the loop without a word: whoever ended it knows.
fn end_silently(state: SessionLoop, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let (state, answer) = cancel_loop(state, moment);
    (state, SessionDecision { notices: Vec::new(), ..answer })
}

fn cancel_loop(state: SessionLoop, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let iteration = state.current_iteration();
    let (machine, effects) = step(state.machine, build_event(moment, EventKind::Abandoned));
    let (facts, _) = split_effects(effects);
    let notices = vec![SessionNotice::loop_cancelled(iteration)];
    (SessionLoop { machine, ..state }, SessionDecision { action: SessionAction::AllowStop, notices, facts })
}

/// The claim stands, and the session must keep still until the checks are through. That is no new iteration, so it happens
/// only as often as there are checks: each time one more of them must have passed.
fn ask_to_wait(
    mut state: SessionLoop,
    (done, of): (usize, usize),
    moment: &DecisionMoment,
) -> (SessionLoop, SessionDecision) {
    let LoopPhase::Verifying { iteration, .. } = &state.machine.phase else {
        return (state, SessionDecision::allow_silently());
    };
    let mark = promise_tag(&state.rules.promise, iteration.nonce.as_ref());
    if usize::try_from(state.unfinished).is_ok_and(|rounds| rounds >= of) {
        return apply_evidence(state, unfinished_checks_evidence(done, of), moment);
    }
    state.unfinished += 1;
    state.blocks = state.blocks.saturating_add(1);
    let prompt = format!(
        "[RALPH LOOP - STILL CHECKING]\n\nYour claim is being checked: {done} of {of} checks have passed, and the others \
         need more time than one answer has. Change no file and do nothing else. Answer with this on a line of its own, \
         and the remaining checks run:\n\n{mark}\n"
    );
    let message = format!("Still checking: {done} of {of} checks have passed");
    let notice = SessionNotice {
        message,
        ..SessionNotice::iteration_started(state.current_iteration(), state.max_iterations())
    };
    (state, SessionDecision { action: SessionAction::Continue { prompt }, notices: vec![notice], facts: Vec::new() })
}

fn unfinished_checks_evidence(done: usize, total: usize) -> Evidence {
    let reason = format!(
        "{done} of {total} checks have passed, the others need more time than one answer has, and what has passed does not hold \
         until the next one: the files change meanwhile, or nothing may be reused"
    );
    let check =
        CheckEvidence::without_output(EvidenceKind::External, "the checks".into(), Verdict::CouldNotEvaluate, reason);
    Evidence { checks: vec![check] }
}
