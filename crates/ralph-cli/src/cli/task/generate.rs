//! `ralph task generate`: a run whose agent writes tasks into a file, and whose check is the import of that file.
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::criterion::{CheckCommand, Criterion, ExternalCheck};
use ralph_core::outcome::exit_code;
use ralph_core::policy::{Baseline, Policy};
use ralph_core::task::GeneratePrompt;

use super::field_args::text_of;
use super::generate_args::GenerateArgs;
use super::take_in::finish;
use crate::cli::around::refuse_recursion;
use crate::cli::resume::refuse_tracked;
use crate::cli::run::{drive, preflight, with_keeper};
use crate::cli::usual_plan::{Wanted, usual_plan};
use crate::cli::{out, trust};
use crate::error::Failure;
use ralph_app::config::{Part, Settings};
use ralph_engine::engine::{KIND_GENERATE, PromptSource, RunPlan, new_run_id};
use ralph_engine::project::Project;
use ralph_engine::verify::Acceptance;

/// Longer specs are mistakes, and no agent reads them.
const LONGEST: usize = 1 << 20;

pub fn run(args: &GenerateArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    let settings = args.settings(&project)?;
    let id = new_run_id();
    let prompt = prompt(args, &project, &id)?;
    if args.dry_run {
        out::data(&prompt.render());
        return Ok(0);
    }
    let plan = plan(args, (&settings, project.clone()), (id.clone(), prompt))?;
    preflight(&plan)?;
    trust::ensure_with(&plan, &settings, Part::Left, &[])?;
    with_keeper(async |keeper| {
        let show = args.output.show(&plan);
        let code = drive(plan, keeper, show).await?;
        finish(&project, &id, (code, args.output.audience())).await
    })
}

fn prompt(args: &GenerateArgs, project: &Project, id: &str) -> Result<GeneratePrompt, Failure> {
    let (spec_text, name) = text_of(&args.file)?;
    let refused = |what: &str| Failure::preflight(format!("the spec {name} {what}"));
    if spec_text.trim().is_empty() {
        return Err(refused("is empty").hint("write down what is to be built"));
    }
    if spec_text.len() > LONGEST {
        return Err(refused("is larger than 1 MB").hint("make several specs of it"));
    }
    let answer = project.answer(id);
    let answer = answer.strip_prefix(&project.root).unwrap_or(&answer).display().to_string();
    Ok(GeneratePrompt { spec_id: args.spec_id()?, spec_text, answer })
}

fn plan(
    args: &GenerateArgs,
    (settings, project): (&Settings, Project),
    (id, prompt): (String, GeneratePrompt),
) -> Result<RunPlan, Failure> {
    let promise = Promise::parse(GeneratePrompt::PROMISE)
        .map_err(|error| Failure::plain(exit_code::INTERNAL, error))?;
    let checks = vec![importable(&project, &id, &prompt.spec_id)?];
    let wanted = Wanted {
        settings,
        agent: &args.agent,
        audience: args.output.audience(),
        promise,
        prompt: PromptSource::Generate(Box::new(prompt)),
        checks,
        max_iterations: args.max_iterations,
    };
    let plan = usual_plan(wanted, project)?;
    Ok(RunPlan {
        id,
        kind: KIND_GENERATE,
        // What the agent wrote lies where git does not look.
        acceptance: Acceptance { is_always_fresh: true, ..Acceptance::default() },
        // There is nothing to import yet.
        policy: Policy { context: settings.context.value, baseline: Baseline::Skip, ..plan.policy },
        ..plan
    })
}

/// The check: this very program would import what the agent wrote.
fn importable(project: &Project, id: &str, spec: &str) -> Result<Criterion, Failure> {
    let no_text = |path: &Path| {
        Failure::preflight(format!("the path {} is no UTF-8 text", path.display()))
            .hint("tasks cannot be generated from there")
    };
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| no_text(path));
    let own = std::env::current_exe().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let (base, answer) = (project.base(), project.answer(id));
    let answer = text(answer.strip_prefix(base).unwrap_or(&answer))?;
    let words = ["task", "import", "--dry-run", "--spec", spec, &answer].map(str::to_owned);
    let command = CheckCommand::Argv([text(&own)?].into_iter().chain(words).collect());
    // From the root another home might be found.
    let folder = base.strip_prefix(&project.root).ok().filter(|folder| !folder.as_os_str().is_empty());
    let check = ExternalCheck { working_dir: folder.map(text).transpose()?, ..ExternalCheck::of(command) };
    Ok(Criterion { name: Some("tasks".to_owned()), ..check.into() })
}
