//! `ralph rewind`.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::pipeline::Progress;
use ralph_core::task::{Role, Status};
use serde_json::json;

use super::around::refuse_recursion;
use super::cancel::{buried, left_of};
use super::resume::refuse_tracked;
use super::task::opened;
use super::tree_hold::{TreeHold, Whose};
use super::{block_on, out};
use crate::error::Failure;
use ralph_engine::engine::Clock;
use ralph_engine::project::Project;
use ralph_engine::tree::{self, Mark, Rewound, Site, Snapshot, Tree, TreeError};
use ralph_store::{Claim, Store, TaskHead};

/// Puts the work tree of a task back to what it held after an earlier attempt
///
/// Without an iteration, lists the attempts. HEAD and files go back; what was not committed then is not committed again.
/// What the tree holds now is kept first, under a reference that is printed. Files that git ignores stay as they are.
/// The task goes back too: `ralph work` goes on with that stage.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rewind TASK-001                  lists the attempts that are kept
  ralph rewind TASK-001 2                the last attempt of iteration 2 of the newest stage
  ralph rewind TASK-001 coder 2")]
pub struct RewindArgs {
    task: String,
    /// The stage (the newest one unless you say), and the iteration
    #[arg(value_name = "[STAGE] ITERATION", num_args = 0..=2)]
    to: Vec<String>,
    /// Of a stage that was gone through several times, an earlier round, as the list names it
    #[arg(long, value_name = "N", requires = "to")]
    earlier: Option<u32>,
    /// Prints one object a line: task, stage, iteration, attempt, earlier, commit, at; after rewinding also kept
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RewindArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    let wanted = args.wanted()?;
    let site = Site::of(&project)?;
    let all = tree::snapshots(&site, &args.task)?;
    let Some(wanted) = wanted else {
        if all.is_empty() {
            block_on(known(&args.task))?;
        }
        return list(args, &all);
    };
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    block_on(async {
        let store = opened().await?;
        let gone = back(args, (&project, &store), (&site, &wanted, &all)).await;
        store.close().await;
        gone
    })
}

/// Refuses a name that means nothing here.
async fn known(name: &str) -> Result<(), Failure> {
    let store = opened().await?;
    let found = Whose::find(&store, name).await;
    store.close().await;
    found.map(drop)
}

async fn back(
    args: &RewindArgs,
    (project, store): (&Project, &Store),
    (site, wanted, all): (&Site, &Wanted, &[Snapshot]),
) -> Result<u8, Failure> {
    let name = &args.task;
    let whose = Whose::find(store, name).await?;
    may_go_back(&whose)?;
    let hold = whose.hold(store, project).await?;
    let gone = held((project, store), (&whose, &hold), (site, wanted, all)).await;
    hold.release(store).await?;
    let (tree, to, rewound) = gone?;
    tell(args, &tree, to, &rewound);
    Ok(exit_code::COMPLETED)
}

/// Goes back while everybody else is kept away.
async fn held<'a>(
    (project, store): (&Project, &Store),
    (whose, hold): (&Whose, &TreeHold),
    (site, wanted, all): (&Site, &Wanted, &'a [Snapshot]),
) -> Result<(Tree, &'a Snapshot, Rewound), Failure> {
    let name = whose.tree_name();
    let tree = tree::find(site, &name)?.ok_or_else(|| TreeError::None { name: name.clone() })?;
    let to = wanted
        .among(all)
        .ok_or_else(|| TreeError::NoSnapshot { name: name.clone(), wanted: wanted.shown() })?;
    let (Whose::Task(head), TreeHold::Task(claim)) = (whose, hold) else {
        let rewound = tree::rewind(site, &tree, to)?;
        return Ok((tree, to, rewound));
    };
    let stage = Role::parse(&to.mark.stage).map_err(Failure::usage)?;
    let before = Before::of(store, head).await?;
    before.begin_again(store, claim, stage).await?;
    // What could still be gone on with would be what comes after the snapshot.
    if let Some(row) = left_of(store, &name).await? {
        buried((project, store), &row).await?;
    }
    let rewound = tree::rewind(site, &tree, to);
    if rewound.is_err() {
        before.restore(store, claim).await?;
    }
    Ok((tree, to, rewound?))
}

/// How far the work on a task was.
struct Before {
    progress: Option<Progress>,
    status: Status,
}

impl Before {
    async fn of(store: &Store, head: &TaskHead) -> Result<Self, Failure> {
        Ok(Self { progress: store.progress(&head.id).await?, status: head.status })
    }

    /// Lets the stage be the next one. It is stored before anything is touched: whoever comes after a crash does too much of
    /// the work again, and never too little.
    async fn begin_again(&self, store: &Store, claim: &Claim, stage: Role) -> Result<(), Failure> {
        let status = match self.status {
            Status::Coding | Status::Reviewing | Status::Testing | Status::Qa => {
                Status::during(&stage).unwrap_or(self.status)
            }
            Status::Todo | Status::Blocked | Status::Done | Status::Cancelled => self.status,
        };
        let progress = self.progress.clone().map(|progress| progress.back_to(stage));
        Ok(store.go_back(claim, (progress.as_ref(), status), Clock::wall()).await?)
    }

    async fn restore(&self, store: &Store, claim: &Claim) -> Result<(), Failure> {
        Ok(store.go_back(claim, (self.progress.as_ref(), self.status), Clock::wall()).await?)
    }
}

/// The iteration that is asked for.
struct Wanted {
    stage: Option<String>,
    iteration: u32,
    earlier: Option<u32>,
}

impl Wanted {
    /// Returns its last attempt. Without a stage the newest one is meant.
    fn among<'a>(&self, all: &'a [Snapshot]) -> Option<&'a Snapshot> {
        let stage = self.stage.as_ref().or(all.last().map(|newest| &newest.mark.stage))?;
        let is_meant = |one: &&Snapshot| {
            let Mark { stage: of, iteration, .. } = &one.mark;
            of == stage && *iteration == self.iteration && one.earlier == self.earlier
        };
        let of_it = all.iter().filter(is_meant);
        of_it.max_by_key(|one| one.mark.attempt)
    }

    fn shown(&self) -> String {
        match &self.stage {
            Some(stage) => format!("of iteration {} of {stage}", self.iteration),
            None => format!("of iteration {}", self.iteration),
        }
    }
}

impl RewindArgs {
    fn wanted(&self) -> Result<Option<Wanted>, Failure> {
        let (stage, iteration) = match self.to.as_slice() {
            [] => return Ok(None),
            [iteration] => (None, iteration),
            [stage, iteration, ..] => (Some(stage), iteration),
        };
        let stage = stage.map(|stage| Role::parse(stage).map_err(Failure::usage)).transpose()?;
        let number = iteration.parse().ok().filter(|number| *number > 0);
        let iteration = number.ok_or_else(|| {
            Failure::usage(format!("{iteration:?} is no iteration"))
                .hint("iterations are counted from 1, and come last: ralph rewind TASK-001 coder 2")
        })?;
        Ok(Some(Wanted { stage: stage.map(|role| role.to_string()), iteration, earlier: self.earlier }))
    }
}

/// Refuses a task that is over: its work may be landed already.
fn may_go_back(whose: &Whose) -> Result<(), Failure> {
    let Whose::Task(head) = whose else { return Ok(()) };
    if let Status::Done | Status::Cancelled = head.status {
        let id = &head.id;
        return Err(Failure::preflight(format!("task {id} is {}", head.status.as_str()))
            .hint(format!("open it again first: ralph task edit {id} --status todo")));
    }
    Ok(())
}

fn list(args: &RewindArgs, all: &[Snapshot]) -> Result<u8, Failure> {
    if all.is_empty() {
        out::note(&format!("no attempt of {} is kept", args.task));
    }
    for one in all {
        if args.json {
            out::line(&args.object(one).to_string());
        } else {
            let mark = &one.mark;
            let (short, at) = (one.commit.get(..12).unwrap_or(&one.commit), at(one));
            let earlier = one.earlier.map_or_else(String::new, |number| format!("  --earlier {number}"));
            out::line(&format!(
                "{:<10} {:>4} {:>3}  {short}  {at}{earlier}",
                mark.stage, mark.iteration, mark.attempt
            ));
        }
    }
    Ok(exit_code::COMPLETED)
}

fn at(one: &Snapshot) -> String {
    jiff::Timestamp::from_second(one.made_at).map(|at| at.to_string()).unwrap_or_default()
}

impl RewindArgs {
    fn object(&self, one: &Snapshot) -> serde_json::Value {
        let mark = &one.mark;
        json!({
            "task": self.task,
            "stage": mark.stage,
            "iteration": mark.iteration,
            "attempt": mark.attempt,
            "earlier": one.earlier,
            "commit": one.commit,
            "at": at(one),
        })
    }
}

fn tell(args: &RewindArgs, tree: &Tree, to: &Snapshot, rewound: &Rewound) {
    if args.json {
        let mut object = args.object(to);
        if let Some(fields) = object.as_object_mut() {
            fields.insert("kept".to_owned(), rewound.kept.clone().into());
        }
        out::line(&object.to_string());
        return;
    }
    let mark = &to.mark;
    out::line(&format!(
        "{} holds what it held after attempt {} of iteration {} of {}",
        tree.path.display(),
        mark.attempt,
        mark.iteration,
        mark.stage
    ));
    out::line(&format!("what lay there is kept: {}", rewound.kept));
    if let Some(accepted) = &rewound.accepted {
        out::line(&format!("what was accepted after that is kept too: {accepted}"));
    }
}
