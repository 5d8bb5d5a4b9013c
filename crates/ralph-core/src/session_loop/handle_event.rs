//! Handles one event of a session: returns the next state and the decision. Pure: time and randomness are parameters.
use crate::outcome::CancelCause;
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
use crate::claim::{ClaimFinder, ClaimReading, ClaimRules, TranscriptEvent};
use crate::effect::{AgentStart, Effect};
use crate::event::{EventKind, LifecycleEvent, UnixMillis, WorkEvent};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::fact::Fact;
use crate::loop_state::LoopPhase;
use crate::prompt::{PromptPlan, promise_tag};
use crate::receipt::Proof;
use crate::step::step;

/// How long a session may recover by itself after an error.
pub const ERROR_RECOVERY_MS: u64 = 5_000;

/// The time of an event, and a random number for the decision.
#[derive(Debug, Clone, Copy)]
pub struct DecisionMoment {
    pub at: UnixMillis,
    pub random: u32,
}

/// An event of a session.
#[derive(Debug, Clone)]
pub enum SessionLoopEvent {
    /// The agent has ended its turn.
    TurnEnded(TurnEnd),
    /// The session had an error with this name.
    SessionError {
        name: String,
    },
    SessionDeleted,
    /// The user cancelled the loop.
    Cancelled,
    /// The checks of the last claim have run.
    Verified(Evidence),
    /// The checks of the last claim have not finished, and the host does not wait longer.
    StillChecking {
        done: usize,
        total: usize,
    },
}

/// The end of a turn, as the host reports it.
#[derive(Debug, Clone, Default)]
pub struct TurnEnd {
    /// The agent's last message, if there is one and the host reports it.
    pub message: Option<String>,
    pub session: String,
    /// The usage of the turn, as far as known.
    pub spend: ModelSpend,
    /// Whether files or the commit changed since the last stop; `None` if unknown.
    pub has_changes: Option<bool>,
    /// The id of this stop, if the host has one.
    pub stop_id: Option<String>,
    /// Whether the turn was itself a continuation.
    pub is_continuation: bool,
    pub cap: Option<ContinuationCap>,
    /// Whether the agent used a tool in this turn; `None` if unknown.
    pub has_used_tools: Option<bool>,
}

/// The limit of a host for continuations of a session in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContinuationCap {
    pub max_continuations: u32,
    pub reset_rule: CapResetRule,
}

/// The event that resets the count of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapResetRule {
    /// A tool call of the agent, or a message of the user.
    OnToolUse,
    /// Only a message of the user.
    OnUserMessage,
}

/// Returns whether an error means that the user aborted the session.
#[must_use]
pub fn is_user_abort(name: &str) -> bool {
    matches!(name, "MessageAbortedError" | "AbortError")
}

/// Handles an event. A finished loop always lets the session stop.
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
        SessionLoopEvent::TurnEnded(turn_end) => on_turn_end(state, turn_end, moment),
        SessionLoopEvent::SessionError { name } if is_user_abort(&name) => {
            end_silently(state, CancelCause::SessionAborted, moment)
        }
        SessionLoopEvent::SessionError { .. } => {
            let recovering_until = Some(moment.at.add_millis(ERROR_RECOVERY_MS));
            (SessionLoop { recovering_until, ..state }, SessionDecision::allow_silently())
        }
        SessionLoopEvent::SessionDeleted => end_silently(state, CancelCause::SessionDeleted, moment),
        SessionLoopEvent::Cancelled => cancel_loop(state, CancelCause::Command, moment),
        SessionLoopEvent::Verified(evidence) => apply_evidence(state, evidence, moment),
        SessionLoopEvent::StillChecking { done, total } => ask_to_wait(state, done, total, moment),
    }
}

fn on_turn_end(state: SessionLoop, turn_end: TurnEnd, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let is_same = turn_end.stop_id.is_some() && turn_end.stop_id == state.last_stop;
    // If the clock was set back, the session must not be left alone forever.
    let left_ms = state.recovering_until.map_or(0, |until| until.elapsed_since(moment.at));
    let is_recovering = (1..=ERROR_RECOVERY_MS).contains(&left_ms);
    if is_same || is_recovering {
        let notice = if is_same { SessionNotice::already_answered } else { SessionNotice::recovering_from_error };
        let notices = vec![notice(state.current_iteration(), state.max_iterations())];
        return (state, SessionDecision { notices, ..SessionDecision::allow_silently() });
    }
    let (state, decision) = match attempt_ended_event(remember_stop(state, &turn_end), turn_end) {
        (state, Some(kind)) => advance_loop(state, kind, moment),
        (state, None) => (state, SessionDecision::allow_silently()),
    };
    // Unfinished rounds are counted for each claim separately.
    let unfinished = if decision.action == SessionAction::RunChecks { state.unfinished } else { 0 };
    (SessionLoop { unfinished, ..state }, decision)
}

/// Records the stop and the number of continuations before it. If a session continues beyond the limit of its host, it
/// has made a tool call in between.
fn remember_stop(state: SessionLoop, turn_end: &TurnEnd) -> SessionLoop {
    let is_over_cap = turn_end.cap.is_some_and(|cap| state.blocks >= cap.max_continuations);
    let lasting = turn_end.cap.is_some_and(|cap| cap.reset_rule == CapResetRule::OnUserMessage);
    let is_reset = !turn_end.is_continuation || is_over_cap || (!lasting && turn_end.has_used_tools == Some(true));
    let blocks = if is_reset { 0 } else { state.blocks };
    let cap = turn_end.cap.map(|cap| cap.max_continuations);
    SessionLoop { blocks, cap, lasting, last_stop: turn_end.stop_id.clone(), recovering_until: None, ..state }
}

/// Converts the end of a turn to an event of the state machine: the end of an attempt in a resumable session.
/// Interrupted checks are discarded, because the newest message counts.
fn attempt_ended_event(mut state: SessionLoop, turn_end: TurnEnd) -> (SessionLoop, Option<EventKind>) {
    if let LoopPhase::Verifying { iteration, attempt } = state.machine.phase {
        state.machine.phase = LoopPhase::Working { iteration, attempt };
    }
    let LoopPhase::Working { iteration, attempt } = &state.machine.phase else { return (state, None) };
    let key = iteration.attempt_key(*attempt);
    let rules = ClaimRules { nonce: iteration.nonce.clone(), ..state.rules.clone() };
    let prompt = state.render_plan(&iteration.plan);
    let report = Box::new(build_report(rules, &prompt, turn_end));
    (state, Some(EventKind::attempt_ended(key, report)))
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
        // The host drives the turns, so a session cannot sleep: the loop continues.
        reading: ClaimReading { wait: None, ..finder.finish() },
        spend: turn_end.spend,
        session: Some(turn_end.session),
        resumability: SessionResumability::Resumable,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: LeftoverProcesses::default(),
        denied_actions: Vec::new(),
        has_changed_files: turn_end.has_changes,
    }
}

fn apply_evidence(state: SessionLoop, evidence: Evidence, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let LoopPhase::Verifying { iteration, attempt } = &state.machine.phase else {
        return (state, SessionDecision::allow_silently());
    };
    let key = iteration.attempt_key(*attempt);
    let kind = EventKind::Work(WorkEvent::Verified { key, evidence, snapshot: None, tree_after_checks: None });
    advance_loop(SessionLoop { unfinished: 0, ..state }, kind, moment)
}

/// Passes an event to the state machine and converts its effects to a decision.
fn advance_loop(state: SessionLoop, kind: EventKind, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let (machine, effects) = step(state.machine, build_event(moment, kind));
    let mut state = SessionLoop { machine, ..state };
    let SplitEffects { facts, requested } = split_effects(effects);
    let (action, notices) = match requested {
        RequestedWork::Nothing => (SessionAction::AllowStop, Vec::new()),
        RequestedWork::Checks => (SessionAction::RunChecks, Vec::new()),
        RequestedWork::Agent { plan } => continue_session(&mut state, &plan, moment.at),
        RequestedWork::Finish => (SessionAction::AllowStop, end_notice(&state, &facts).into_iter().collect()),
    };
    (state, SessionDecision { action, notices, facts })
}

/// The effects of a step: the facts to store, and the requested work.
pub(super) struct SplitEffects {
    pub(super) facts: Vec<Fact>,
    requested: RequestedWork,
}

enum RequestedWork {
    Nothing,
    Checks,
    Agent { plan: PromptPlan },
    Finish,
}

/// Separates the facts to store from the requested work. Timers are ignored, because only the host waits. A session
/// gets no receipt.
pub(super) fn split_effects(effects: Vec<Effect>) -> SplitEffects {
    let (mut facts, mut requested) = (Vec::new(), RequestedWork::Nothing);
    for effect in effects {
        match effect {
            Effect::Record { fact } => facts.push(fact),
            Effect::RunChecks { .. } => requested = RequestedWork::Checks,
            Effect::StartAgent(AgentStart { plan, .. }) => requested = RequestedWork::Agent { plan },
            Effect::Finish => requested = RequestedWork::Finish,
            Effect::RecordReceipt { .. }
            | Effect::Prepare { .. }
            | Effect::StopAgent { .. }
            | Effect::KillAgent { .. }
            | Effect::StopChecks { .. }
            | Effect::StartTimer { .. }
            | Effect::CancelTimer { .. } => {}
        }
    }
    SplitEffects { facts, requested }
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

/// For hosts that continue the session only after a tool call.
const TOOL_CAP_WARNING: &str = "\n\nThis session ends with your next message unless you use a tool before it: go on with the \
                          work itself now, with tools, and do not answer with words alone.";

/// For hosts that continue the session only after a message of the user.
const USER_CAP_WARNING: &str = "\n\nThis session may end with your next message: do as much of the work as you can before it, and say \
                           honestly what is still open.";

fn end_notice(state: &SessionLoop, facts: &[Fact]) -> Option<SessionNotice> {
    let ended = state.machine.run_end()?;
    let proof = facts.iter().find_map(recorded_proof);
    Some(SessionNotice::loop_ended(ended, state.current_iteration(), state.max_iterations(), proof))
}

fn recorded_proof(fact: &Fact) -> Option<&Proof> {
    if let Fact::RunFinished { proof, .. } = fact { proof.as_ref() } else { None }
}

/// Ends the loop without a notice, because the user ended it.
fn end_silently(state: SessionLoop, cause: CancelCause, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let (state, decision) = cancel_loop(state, cause, moment);
    (state, SessionDecision { notices: Vec::new(), ..decision })
}

fn cancel_loop(state: SessionLoop, cause: CancelCause, moment: &DecisionMoment) -> (SessionLoop, SessionDecision) {
    let iteration = state.current_iteration();
    let abandoned = EventKind::Lifecycle(LifecycleEvent::Abandoned { cause });
    let (machine, effects) = step(state.machine, build_event(moment, abandoned));
    let facts = split_effects(effects).facts;
    let notices = vec![SessionNotice::loop_cancelled(iteration)];
    (SessionLoop { machine, ..state }, SessionDecision { action: SessionAction::AllowStop, notices, facts })
}

/// Asks the session to repeat its claim while the checks run. This is not a new iteration, so it is limited to the
/// number of checks: in each round, at least one more of them must pass.
fn ask_to_wait(
    mut state: SessionLoop,
    done: usize,
    total: usize,
    moment: &DecisionMoment,
) -> (SessionLoop, SessionDecision) {
    let LoopPhase::Verifying { iteration, .. } = &state.machine.phase else {
        return (state, SessionDecision::allow_silently());
    };
    let promise = promise_tag(&state.rules.promise, iteration.nonce.as_ref());
    if usize::try_from(state.unfinished).is_ok_and(|rounds| rounds >= total) {
        return apply_evidence(state, unfinished_checks_evidence(done, total), moment);
    }
    state.unfinished += 1;
    state.blocks = state.blocks.saturating_add(1);
    let prompt = format!(
        "[RALPH LOOP - STILL CHECKING]\n\nYour claim is being checked: {done} of {total} checks have passed, and the others \
         do not fit into the time limit of one hook. Change no file and do nothing else. Answer with this on a separate \
         line, and the remaining checks run:\n\n{promise}\n"
    );
    let message = format!("Still checking: {done} of {total} checks have passed");
    let notice = SessionNotice {
        message,
        ..SessionNotice::iteration_started(state.current_iteration(), state.max_iterations())
    };
    (state, SessionDecision { action: SessionAction::Continue { prompt }, notices: vec![notice], facts: Vec::new() })
}

fn unfinished_checks_evidence(done: usize, total: usize) -> Evidence {
    let reason = format!(
        "{done} of {total} checks have passed; the others do not fit into the time limit of the hook, and earlier \
         results cannot be reused: the files change meanwhile, or reuse is disabled"
    );
    let check =
        CheckEvidence::without_output(EvidenceKind::External, "the checks".into(), Verdict::CouldNotEvaluate, reason);
    Evidence { checks: vec![check] }
}
