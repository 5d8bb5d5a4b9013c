//! The stories of the process room, told with real programs.
//! The keeper must be forked before the first thread, so this file has its own small `main` instead of the harness.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test runner reports on stdout")]

#[path = "process_room/deaths.rs"]
mod deaths;
#[path = "process_room/disasters.rs"]
mod disasters;
#[path = "process_room/endings.rs"]
mod endings;
#[path = "process_room/errors.rs"]
mod errors;
#[path = "process_room/helper.rs"]
mod helper;
#[path = "process_room/library.rs"]
mod library;
#[path = "process_room/memory.rs"]
mod memory;
#[path = "process_room/scene.rs"]
mod scene;
#[path = "process_room/stopping.rs"]
mod stopping;
#[path = "process_room/surroundings.rs"]
mod surroundings;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::time::Duration;

use ralph_process::Keeper;

use scene::Scene;

type Telling = Pin<Box<dyn Future<Output = ()>>>;

/// One test: its name is a sentence.
struct Story {
    name: &'static str,
    tell: fn(Scene) -> Telling,
}

/// Lists the stories of a file.
macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        pub(crate) const STORIES: &[crate::Story] =
            &[$(crate::Story { name: stringify!($name), tell: |scene| Box::pin($name(scene)) }),*];
    };
}
pub(crate) use stories;

const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == helper::FLAG
    {
        return helper::act(rest);
    }
    let chosen = choose(&arguments);
    if arguments.iter().any(|argument| argument == "--list") {
        return list(&arguments, &chosen);
    }
    run(&chosen)
}

fn choose(arguments: &[String]) -> Vec<&'static Story> {
    let all = [
        deaths::STORIES,
        disasters::STORIES,
        endings::STORIES,
        errors::STORIES,
        library::STORIES,
        memory::STORIES,
        stopping::STORIES,
        surroundings::STORIES,
    ];
    let filter = arguments.iter().find(|argument| !argument.starts_with('-') && *argument != "terse");
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let fits = |story: &&Story| match filter {
        Some(filter) if exact => story.name == filter,
        Some(filter) => story.name.contains(filter.as_str()),
        None => true,
    };
    all.into_iter().flatten().filter(fits).collect()
}

fn list(arguments: &[String], chosen: &[&Story]) -> ExitCode {
    // No story is ever ignored, and a runner asks for those separately.
    if !arguments.iter().any(|argument| argument == "--ignored") {
        chosen.iter().for_each(|story| println!("{}: test", story.name));
    }
    ExitCode::SUCCESS
}

/// Tells each story in a process of its own, so that none can disturb another.
fn run(chosen: &[&Story]) -> ExitCode {
    if let [story] = chosen {
        return tell(story);
    }
    let own = std::env::current_exe().unwrap();
    let told = |story: &&&Story| Command::new(&own).args([story.name, "--exact"]).status().unwrap().success();
    let passed = chosen.iter().filter(told).count();
    let failed = chosen.len() - passed;
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(story: &Story) -> ExitCode {
    // Stands for a descriptor that ralph inherited: it must not reach a job.
    let _inherited = rustix::io::dup(std::io::stdout()).unwrap();
    let keeper = Keeper::start().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let scene = Scene::new(&keeper);
    let run_id = scene.run_id.clone();
    let telling = (story.tell)(scene);
    let told =
        catch_unwind(AssertUnwindSafe(|| runtime.block_on(async { tokio::time::timeout(PATIENCE, telling).await })));
    let ok = matches!(told, Ok(Ok(())));
    if !ok {
        // A story that failed leaves nothing behind either.
        drop(ralph_process::kill_run_processes(&run_id));
    }
    println!("test {} ... {}", story.name, if ok { "ok" } else { "FAILED" });
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
