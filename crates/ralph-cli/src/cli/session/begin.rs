//! `ralph loop start`, which slash commands call too.
use std::path::{Path, PathBuf};

use ralph_core::outcome::exit_code;
use ralph_core::policy::{Policy, Proof};
use ralph_core::seal::Sealing;
use ralph_core::session::{Notice, Plan, begin};
use serde_json::json;

use super::book;
use super::start_args::{StartArgs, promise};
use crate::cli::around::refuse_recursion;
use crate::cli::usual_plan::acceptance;
use crate::cli::{demand, out, trust};
use crate::error::Failure;
use ralph_app::config::{Part, Settings, Use};
use ralph_engine::project::Project;
use ralph_engine::session::{Book, Entry, Key, end_forsaken, now, sealer, standing};

pub fn run(args: &StartArgs) -> Result<u8, Failure> {
    let whole = args.whole()?;
    let args = whole.as_ref().unwrap_or(args);
    let folder = std::env::current_dir().map_err(|error| Failure::new(exit_code::PREFLIGHT, &error))?;
    let started = start(args, &folder)?;
    if args.json {
        out::line(&started.json().to_string());
    } else {
        started.notices.iter().for_each(|notice| out::say(&notice.line()));
        out::say(&format!("\n{}", started.entry.state.first_prompt()));
    }
    Ok(exit_code::COMPLETED)
}

/// A loop that has begun.
pub struct Started {
    pub entry: Entry,
    pub notices: Vec<Notice>,
}

impl Started {
    fn json(&self) -> serde_json::Value {
        let mut object = self.entry.json();
        object["notices"] = json!(self.notices);
        object["first_prompt"] = self.entry.state.first_prompt().into();
        object
    }
}

/// Begins a loop for a session that works in this folder.
pub fn start(args: &StartArgs, folder: &Path) -> Result<Started, Failure> {
    let key = args.session.key()?;
    let project = project(args, folder)?;
    let mut settings = args.config.settings(project.as_ref())?;
    args.apply(&mut settings);
    if !settings.session.enabled.value {
        return Err(Failure::preflight("loops in sessions are switched off").hint(
            "set session.enabled to true in the configuration: `ralph config show` tells where it is set",
        ));
    }
    if let Some(project) = &project {
        let criteria = args.criteria()?;
        let used = Use {
            agents: Vec::new(),
            permission: Part::Left,
            checks: Part::Left,
            criteria: &criteria,
            templates: &[],
        };
        trust::ensure_use(project, &settings, &used)?;
    }
    let root = project.map_or_else(|| folder.to_path_buf(), |project| project.root);
    let entry = entry(args, &settings, (&key, root))?;
    keep(&book()?, &key, entry)
}

/// What is to be proven needs a repository; what is not may be anywhere.
fn project(args: &StartArgs, folder: &Path) -> Result<Option<Project>, Failure> {
    match Project::around(folder) {
        Ok(project) => refuse_recursion(&project).map(|()| Some(project)),
        Err(error) if args.criteria()?.is_empty() => {
            drop(error);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn entry(args: &StartArgs, settings: &Settings, (key, root): (&Key, PathBuf)) -> Result<Entry, Failure> {
    let criteria = args.criteria()?;
    demand::ensure(settings, &criteria)?;
    let acceptance = acceptance(settings)?;
    let sealing = (!criteria.is_empty()).then(|| {
        let sealed = sealer(&root, &acceptance, &criteria);
        let sealed = sealed.and_then(|sealer| sealer.seal().map_err(|error| error.to_string()));
        sealed.map_or_else(|why| Sealing::Impossible { why }, |seal| Sealing::Done { seal })
    });
    let proof = if criteria.is_empty() { Proof::ClaimAlone } else { Proof::Checks };
    let policy = settings.policy(settings.session.max_iterations.value, proof);
    let plan = Plan {
        prompt: args.task()?,
        rules: settings.claim_rules(promise(&settings.session.promise.value)?),
        criteria,
        policy: Policy { stall_after: settings.classic_stall(), ..policy },
        sealing,
    };
    let state = begin(plan, &now());
    if let Some(ended) = state.machine.ended() {
        return Err(Failure::preflight(&ended.reason));
    }
    let delay_ms = u64::try_from(settings.session.continuation_delay.value.as_millis()).unwrap_or(u64::MAX);
    let description = args.description.clone();
    let entry = Entry::new((key.host.clone(), key.session.clone()), root, state);
    let entry = Entry { description, acceptance, delay_ms, ..entry };
    Ok(Entry { standing: standing(&entry), ..entry })
}

/// Puts the loop in the place of the one that the session has, unless it is that one, heard of again.
fn keep(book: &Book, key: &Key, entry: Entry) -> Result<Started, Failure> {
    end_forsaken(book);
    book.tidy();
    let is_active = |entry: &Entry| entry.state.is_active();
    let elsewhere = book.known(key).ok().flatten().filter(|(other, entry)| other != key && is_active(entry));
    if let Some((other, _)) = &elsewhere {
        // The same session under a less exact name: one session has one loop.
        super::cancel::cancel(book, other)?;
    }
    let (entry, here) = book.change(key, |there| match there {
        Some(there) if there.state.is_echoed_by(&entry.state) => (None, (there, None)),
        there => (Some(entry.clone()), (entry, there.filter(is_active))),
    })?;
    let before = here.or(elsewhere.map(|(_, old)| old));
    let replaced = before.map(|old| Notice::replaced(old.state.iteration(), old.state.max_iterations()));
    let state = &entry.state;
    let started =
        Notice::started(state.max_iterations(), state.rules.promise.as_str()).checked_by(&state.criteria);
    let notices = replaced.into_iter().chain([started]).collect();
    Ok(Started { entry, notices })
}
