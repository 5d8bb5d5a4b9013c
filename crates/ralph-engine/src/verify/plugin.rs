//! Plugins: programs of the user's in the folder of verifiers. One is asked with JSON on standard input and answers with
//! JSON on standard output.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::criterion::{Method, PluginCheck};
use ralph_core::evidence::{CheckEnding, CheckEvidence, Kind, LONGEST_ANSWER, judge_plugin};
use serde_json::{Value, json};

use super::compiled::Compiled;
use super::external::harmless;
use super::orders::Orders;
use super::program::{self, Program, Ran};
use super::{Spot, Verifier};
use ralph_process::{JobSpec, Listener, RawLog, Stdin, Tail, When};

/// The version of the question.
const VERSION: u32 = 1;
/// How much of its complaints goes into the evidence.
const TAIL_BYTES: usize = 8_192;

pub(super) async fn check(
    verifier: &Verifier,
    check: &PluginCheck,
    (spot, name): (&Spot<'_>, Option<&str>),
    orders: &mut Orders,
) -> CheckEvidence {
    let began = Instant::now();
    let log = format!("{}.check-{}.log", verifier.name, spot.place);
    let mut ear = Ear::new(RawLog::new(verifier.folder.join(&log), &verifier.logs));
    let ran = match program(&verifier.verifiers, &check.plugin) {
        Ok(path) => {
            let asked = question(verifier, check, name).to_string();
            let time = Duration::from_millis(check.timeout_ms);
            let (compiled, mut job) = (Compiled::in_folder(&verifier.folder), job(verifier, path));
            compiled.set_in(&mut job.env, &BTreeMap::new());
            let program = Program { job, input: asked.into_bytes(), time };
            program::run(&verifier.keeper, program, &mut ear, orders).await
        }
        Err(why) => Ran::not_started(why),
    };
    // A log that is not whole does not change what was answered.
    let _ = ear.log.finish();
    let (verdict, reason) = judge_plugin(&ran.ending, &ear.answer);
    CheckEvidence {
        exit_code: match ran.ending {
            CheckEnding::Exited { code } => Some(code),
            CheckEnding::Signalled { .. } | CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => None,
        },
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        tail: harmless(&ear.complaints.finish()),
        log,
        leftovers: ran.leftovers,
        ..CheckEvidence::plain(
            Kind::Plugin,
            Method::Plugin(check.clone()).shown(),
            verdict,
            harmless(&reason),
        )
    }
}

/// Returns the program of that name, which lies in the folder also by its links.
fn program(folder: &Path, name: &str) -> Result<PathBuf, String> {
    if !PluginCheck::is_name(name) {
        return Err(format!("{name:?} is no name of a plugin"));
    }
    let missing = |error| format!("there is no plugin {name} in {}: {error}", folder.display());
    let real = folder.join(name).canonicalize().map_err(missing)?;
    let folder = folder.canonicalize().map_err(missing)?;
    if real.starts_with(&folder) {
        Ok(real)
    } else {
        Err(format!("the plugin {name} leads out of its folder"))
    }
}

fn question(verifier: &Verifier, check: &PluginCheck, name: Option<&str>) -> Value {
    let claim = &verifier.claim;
    let config: Value = serde_json::from_str(&check.config).unwrap_or(Value::Null);
    json!({
        "version": VERSION,
        "run": verifier.ground.run_id,
        "criterion": { "name": name, "plugin": check.plugin, "config": config },
        "work_tree": verifier.ground.root,
        "claim": { "promise": claim.promise, "report": claim.report },
        "output_file": claim.output,
    })
}

fn job(verifier: &Verifier, program: PathBuf) -> JobSpec {
    JobSpec {
        program,
        args: Vec::<OsString>::new(),
        env: verifier.ground.env.clone(),
        cwd: verifier.ground.root.clone(),
        run_id: verifier.ground.run_id.clone(),
        stdin: Stdin::Pipe,
        linger: JobSpec::LINGER,
        memory: None,
    }
}

/// Keeps the answer, one byte more than it may have, and the end of what stands on stderr.
struct Ear {
    answer: Vec<u8>,
    complaints: Tail,
    log: RawLog,
}

impl Ear {
    /// The log is there even if nothing is printed.
    fn new(mut log: RawLog) -> Self {
        log.write(&mut Vec::new());
        Self { answer: Vec::new(), complaints: Tail::new(TAIL_BYTES), log }
    }
}

impl Listener for Ear {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        let room = (LONGEST_ANSWER + 1).saturating_sub(self.answer.len()).min(piece.len());
        self.answer.extend_from_slice(piece.get(..room).unwrap_or_default());
        self.log.write(piece);
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.complaints.push(piece);
        self.log.write(piece);
    }
}
