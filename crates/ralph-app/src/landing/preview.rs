//! Shows what a landing would merge. Branch and files of the user do not change, and no check runs.
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, PreparedLanding, WorktreeLayout};
use ralph_process::Keeper;

use super::{LandingContext, LandingSubject, collect_landing_criteria, run_git_blocking};
use crate::error::AppResult;
use crate::interaction::Interaction;
use crate::run::refuse_recursion;
use crate::task_files::open_task_store;

/// The effects that a landing would have.
#[derive(Debug)]
pub struct LandingPreview {
    pub landing: PreparedLanding,
    /// The proof level of the accepted work.
    pub proof: Option<String>,
    /// The changed files, as git prints them.
    pub diff_stat: String,
    /// The checks that would run on the merged result.
    pub checks: Vec<String>,
}

/// Previews the landing of these tasks, each onto the result of the one before. `show` gets each preview. Fails at the first
/// task that cannot be landed.
pub async fn preview_landings(
    project: &Project,
    tasks: &[String],
    keeper: &Keeper,
    person: &dyn Interaction,
    mut show: impl FnMut(&LandingPreview),
) -> AppResult<()> {
    refuse_recursion(project)?;
    let store = open_task_store(project).await?;
    let context = LandingContext { store: &store, project, keeper, person };
    let mut previous = None;
    for id in tasks {
        let preview = context.preview_landing(id, previous.take()).await?;
        show(&preview);
        previous = Some(preview.landing);
    }
    Ok(())
}

impl LandingContext<'_> {
    async fn preview_landing(&self, id: &str, previous: Option<PreparedLanding>) -> AppResult<LandingPreview> {
        let subject = self.find_finished_work(id).await?;
        let layout = WorktreeLayout::for_project(self.project)?;
        let (task_id, root) = (id.to_owned(), self.project.root.clone());
        let (landing, diff_stat) = run_git_blocking(layout, move |layout| {
            let landing = worktree::prepare_landing_onto(layout, &task_id, previous.as_ref())?;
            let stat = git::render_diff(&root, &landing.target.tip, &landing.merged, &["--stat=78"])?;
            Ok((landing, String::from_utf8_lossy(&stat).into_owned()))
        })
        .await?;
        if let LandingSubject::Task(row) = &subject {
            self.ensure_landing_matches_record(&row.task.id, &landing).await?;
        }
        let criteria = collect_landing_criteria(self, &subject).await?.criteria;
        let checks = criteria.iter().map(|criterion| criterion.method.summary_line()).collect();
        let proof = match subject {
            LandingSubject::Task(row) => row.proof,
            LandingSubject::Run(run) => run.proof,
        };
        Ok(LandingPreview { landing, proof, diff_stat, checks })
    }
}
