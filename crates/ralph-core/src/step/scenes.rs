//! Builders for the tests of the machine: a loop is played event by event, as a driver would.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::step;
use crate::attempt::{Afterlife, AttemptReport, Ending, ErrorKind, Leftovers, Spend, Stream, Trouble};
use crate::baseline::{Lack, Trial};
use crate::budget::Used;
use crate::claim::{Claim, Contradiction, NoClaim, Reading};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Ground, Millis, StopSignal, Timer};
use crate::evidence::{CheckEvidence, Evidence, Kind, Verdict};
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::{Policy, Proof};
use crate::prompt::PromptPlan;
use crate::seal::{Seal, Sealing};
use crate::state::{Loop, Phase, Session};

pub(super) fn key(iteration: u32, attempt: u32) -> AttemptKey {
    AttemptKey { iteration, attempt }
}

pub(super) fn with_checks(max_iterations: u32) -> Policy {
    Policy { proof: Proof::Checks, ..Policy::new(max_iterations) }
}

/// An attempt that exited with 0 and said nothing of completion.
pub(crate) fn quiet() -> AttemptReport {
    AttemptReport {
        ending: Ending::Exited { code: 0 },
        stream: Stream::Understood,
        unknown_records: 0,
        stray_line: String::new(),
        lived_ms: 60_000,
        trouble: None,
        repeating: None,
        reading: Reading {
            claim: Claim::None { why: NoClaim::NoTag },
            blocked: None,
            reject: None,
            final_text: "working on it".to_string(),
        },
        spend: Spend::default(),
        session: None,
        afterlife: Afterlife::None,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: Leftovers::default(),
        has_moved: None,
    }
}

pub(super) fn claims() -> AttemptReport {
    let mut report = quiet();
    report.reading.claim = Claim::Made { text: "DONE".to_string(), line: 1, contradiction: None };
    report
}

pub(super) fn claims_but_contradicts() -> AttemptReport {
    let mut report = quiet();
    let contradiction =
        Some(Contradiction { phrase: "tests fail".to_string(), sentence: "2 tests fail.".to_string() });
    report.reading.claim = Claim::Made { text: "DONE".to_string(), line: 1, contradiction };
    report
}

pub(super) fn says_blocked(reason: &str) -> AttemptReport {
    let mut report = quiet();
    report.reading.blocked = Some(reason.to_string());
    report
}

pub(super) fn ends(ending: Ending) -> AttemptReport {
    AttemptReport { ending, ..quiet() }
}

pub(super) fn crashes() -> AttemptReport {
    ends(Ending::Exited { code: 1 })
}

pub(super) fn troubled(kind: ErrorKind) -> AttemptReport {
    AttemptReport { trouble: Some(trouble(kind, None)), ..claims() }
}

fn trouble(kind: ErrorKind, reset_at: Option<Millis>) -> Trouble {
    Trouble { kind, message: "API error".to_string(), reset_at }
}

/// An attempt that a provider refused until a moment, if it told one.
pub(super) fn refused(reset_at: Option<i64>) -> AttemptReport {
    let trouble = trouble(ErrorKind::RateLimit, reset_at.map(Millis));
    AttemptReport { trouble: Some(trouble), ..crashes() }
}

/// An attempt that ralph ended while the agent repeated requests over this error.
pub(super) fn repeating(kind: ErrorKind) -> AttemptReport {
    AttemptReport { repeating: Some(trouble(kind, None)), ..ends(Ending::Signalled { signal: 15 }) }
}

/// The same with a session that can be resumed.
pub(super) fn in_session(id: &str, report: AttemptReport) -> AttemptReport {
    AttemptReport { session: Some(id.to_string()), afterlife: Afterlife::Resumable, ..report }
}

pub(super) fn lost_session() -> AttemptReport {
    AttemptReport { afterlife: Afterlife::Lost, ..crashes() }
}

pub(super) fn evidence(verdict: Verdict) -> Evidence {
    let reason = match verdict {
        Verdict::Accepted => "External verification passed",
        Verdict::Rejected => "Command exited with 1, expected 0",
        Verdict::CouldNotEvaluate => "Command could not run: exit code 127",
    };
    let check = CheckEvidence {
        exit_code: Some(0),
        duration_ms: 5,
        tail: "1 failed".to_string(),
        log: "check.log".to_string(),
        ..CheckEvidence::plain(Kind::External, "make test".to_string(), verdict, reason.to_string())
    };
    Evidence { checks: [check].into() }
}

pub(super) fn prepared(verdict: Verdict) -> EventKind {
    let trials = evidence(verdict).checks.into_iter();
    let trials = trials.map(|evidence| Trial { evidence, lack: Lack::Else });
    EventKind::Prepared { sealing: Sealing::Done { seal: seal() }, baseline: trials.collect() }
}

pub(crate) fn seal() -> Seal {
    Seal {
        digest: "d".to_string(),
        criteria_digest: "c".to_string(),
        base: Some("b".to_string()),
        files: Vec::new(),
        git: Vec::new(),
        allowed: crate::seal::Allowed::default(),
        uncommitted: Vec::new(),
        notes: Vec::new(),
    }
}

/// A loop being played, with every effect so far.
pub(super) struct Scene {
    pub(super) state: Loop,
    pub(super) effects: Vec<Effect>,
    now: i64,
    wall: i64,
    ground: Ground,
    others: Vec<Used>,
}

impl Scene {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            state: Loop::new(policy),
            effects: Vec::new(),
            now: 0,
            wall: 0,
            ground: Ground::Firm,
            others: Vec::new(),
        }
    }

    /// Begins with the first iteration, after a preparation in which nothing stood in the way.
    pub(super) fn started(policy: Policy) -> Self {
        let scene = Self::new(policy).on(EventKind::Started);
        match scene.state.phase {
            Phase::Preparing { .. } => scene.prepared(Verdict::Rejected),
            _ => scene,
        }
    }

    /// The run is sealed, and its check says this before any work.
    pub(super) fn prepared(self, verdict: Verdict) -> Self {
        self.on(prepared(verdict))
    }

    /// Plays one event and forgets the effects of earlier ones.
    pub(super) fn on(mut self, kind: EventKind) -> Self {
        self.now += 1_000;
        self.wall += 1_000;
        let event = Event {
            at: Millis(self.now),
            wall: Millis(self.wall),
            dice: u32::MAX,
            ground: self.ground,
            others: self.others.clone(),
            kind,
        };
        let (state, effects) = step(self.state.clone(), event);
        Self { state, effects, ..self }
    }

    /// From now on the implementation plan is not there.
    pub(super) fn without_plan(mut self) -> Self {
        self.ground = Ground::NoPlan;
        self
    }

    /// From now on others have used so much of the budgets that the run shares.
    pub(super) fn beside(mut self, others: &[Used]) -> Self {
        self.others = others.to_vec();
        self
    }

    /// Lets the next event happen at that time, by both clocks.
    pub(super) fn at(mut self, now: i64) -> Self {
        self.now = now - 1_000;
        self.wall_at(now)
    }

    /// Sets only the clock on the wall.
    pub(super) fn wall_at(mut self, now: i64) -> Self {
        self.wall = now - 1_000;
        self
    }

    pub(super) fn ended(self, iteration: u32, attempt: u32, report: AttemptReport) -> Self {
        self.on(EventKind::AttemptEnded { key: key(iteration, attempt), report: report.into() })
    }

    pub(super) fn verified(self, iteration: u32, attempt: u32, verdict: Verdict) -> Self {
        self.on(EventKind::Verified { key: key(iteration, attempt), evidence: evidence(verdict) })
    }

    pub(super) fn fires(self, timer: Timer) -> Self {
        self.on(EventKind::TimerFired { timer })
    }

    pub(super) fn signal(self, signal: StopSignal) -> Self {
        self.on(EventKind::Interrupted { signal })
    }

    /// The driver ends somehow, and another one takes the loop up.
    pub(super) fn recovers(self) -> Self {
        self.on(EventKind::Recovered { changed: Vec::new(), orders: Vec::new() })
    }

    pub(super) fn starts(&self) -> Option<AttemptKey> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent { key, .. } => Some(*key),
            _ => None,
        })
    }

    /// Returns the plan, the session and the agent of the start.
    pub(super) fn started_with(&self) -> Option<(PromptPlan, Option<&str>, u32)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent { plan, session, agent, .. } => {
                Some((plan.clone(), session.as_ref().map(|session| session.id.as_str()), *agent))
            }
            _ => None,
        })
    }

    pub(super) fn resumed_session(&self) -> Option<&Session> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent { session, .. } => session.as_ref(),
            _ => None,
        })
    }

    pub(super) fn does(&self, wanted: &Effect) -> bool {
        self.effects.contains(wanted)
    }

    pub(super) fn facts(&self) -> Vec<&Fact> {
        let facts = self.effects.iter().filter_map(|effect| match effect {
            Effect::Record { fact } => Some(fact),
            _ => None,
        });
        facts.collect()
    }

    pub(super) fn fact_names(&self) -> Vec<&'static str> {
        self.facts().into_iter().map(Fact::name).collect()
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.state.ended().map(|ended| ended.outcome)
    }

    pub(super) fn reason(&self) -> &str {
        self.state.ended().map_or("", |ended| ended.reason.as_str())
    }

    pub(super) fn exit_code(&self) -> Option<u8> {
        self.state.ended().map(|ended| ended.exit_code)
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.state.phase
    }
}
