//! `ralph diff`.
use clap::Args;
use ralph_core::outcome::exit_code;

use super::{block_on, out, pick};
use crate::error::Failure;
use crate::report::{Paint, Tone};
use ralph_app::view::short_id;
use ralph_engine::engine::RunSettings;
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::tree::{self, Site, Span, TreeError};
use ralph_store::RunRow;

/// Shows what a run changed: the files before it, and after it
///
/// Without RUN, the newest. RUN is the beginning or the end of an id. Files that were not committed are shown too, ignored
/// ones are not. What a run changed is known if it had checks or a work tree of its own, for the newest 50 of them.
#[derive(Debug, Args)]
#[command(after_help = "Where a run was cut short, or goes on, its work is compared as it is now.")]
pub struct DiffArgs {
    run: Option<String>,
    /// Shows only which files changed, and how much
    #[arg(long)]
    stat: bool,
}

pub fn run(args: &DiffArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    let run = block_on(async {
        let (store, run) = pick::run(args.run.as_deref()).await?;
        store.close().await;
        Ok(run)
    })?;
    let root = root_of(&project, &run)?;
    let span = tree::span(&root, &run.id)?;
    let Span { before, after } =
        span.ok_or(TreeError::NotRemembered { run: short_id(&run.id).to_owned() })?;
    let after = match after {
        Some(after) => after,
        None => {
            out::note("the run was cut short or goes on: this is what the files are now");
            git::keep_files(&root).map_err(TreeError::Git)?
        }
    };
    let options: &[&str] = if args.stat { &["--stat=100"] } else { &[] };
    let text = git::difference(&root, &before, &after, options).map_err(TreeError::Git)?;
    show(&String::from_utf8_lossy(&text), Paint::for_stream(&std::io::stdout()));
    Ok(exit_code::COMPLETED)
}

/// Returns the work tree that a run worked in: the user's, or one of its own.
pub fn root_of(project: &Project, run: &RunRow) -> Result<std::path::PathBuf, Failure> {
    let settings = RunSettings::parse(&run.settings).ok();
    let Some(name) = settings.as_ref().and_then(RunSettings::tree) else { return Ok(project.root.clone()) };
    let site = Site::of(project)?;
    // The references are the repository's; without its tree, the run can still be looked at.
    Ok(tree::find(&site, name)?.map_or_else(|| project.root.clone(), |tree| tree.path))
}

/// Colours are for people; programs get what git said.
fn show(text: &str, paint: Paint) {
    match paint {
        Paint::Plain => out::data(text),
        Paint::Colour => text.lines().for_each(|line| out::line(&coloured(line, paint))),
    }
}

fn coloured(line: &str, paint: Paint) -> String {
    let line = ralph_util::sanitize::visible(line);
    let tone = match line.as_bytes() {
        [b'+', b'+', ..] | [b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => Tone::Bold,
        [b'+', ..] => Tone::Good,
        [b'-', ..] => Tone::Bad,
        [b'@', ..] => Tone::Dim,
        _ => return line,
    };
    paint.paint(tone, &line)
}
