//! `cargo xtask bench`: compares ralph with its alternatives on the same machine at the same time. Only ratios have
//! limits, so that a slow or busy machine gives the same result. A benchmark is a file and an entry in [`BENCHMARKS`].
mod ageing;
mod board;
mod hook;
mod many;
mod memory;
mod options;
mod overhead;
mod protected;
mod reading;
mod report;
mod round_times;
mod server;
mod start;
mod tasks;
mod transcript;
mod workflows;
mod workspace;

use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};
use crate::out;

use options::BenchOptions;
use report::BenchReport;
pub(crate) use server::ServerProcess;
use workspace::BenchWorkspace;

struct BenchmarkEntry {
    name: &'static str,
    about: &'static str,
    run: fn(&BenchWorkspace) -> Result<BenchReport>,
}

const BENCHMARKS: &[BenchmarkEntry] = &[
    BenchmarkEntry { name: "overhead", about: "one iteration against a bare shell loop", run: overhead::run },
    BenchmarkEntry { name: "reading", about: "a long output against a shell loop and against jq", run: reading::run },
    BenchmarkEntry { name: "memory", about: "peak memory for long outputs", run: memory::run },
    BenchmarkEntry { name: "start", about: "startup time", run: start::run },
    BenchmarkEntry { name: "ageing", about: "late iterations against early ones", run: ageing::run },
    BenchmarkEntry { name: "many", about: "many loops in one process", run: many::run },
    BenchmarkEntry { name: "hook", about: "answer time of the Stop hook", run: hook::run },
    BenchmarkEntry { name: "tasks", about: "commands with ten thousand tasks", run: tasks::run },
    BenchmarkEntry { name: "board", about: "redraws of the board, and its idle time", run: board::run },
    BenchmarkEntry { name: "protected", about: "ten thousand protected tests at a claim", run: protected::run },
    BenchmarkEntry { name: "server", about: "lists with much data, and a run that is watched", run: server::run },
    BenchmarkEntry { name: "workflows", about: "nodes, files and graphs of workflows", run: workflows::run },
];

pub(crate) fn main(args: &[String]) -> Result<()> {
    let options = BenchOptions::parse(args)?;
    let chosen = select_benchmarks(&options.names)?;
    build_release()?;
    let workspace = BenchWorkspace::new(&options)?;
    let mut exceeded = Vec::new();
    for bench in chosen {
        out::print_line(&format!("{}: {}", bench.name, bench.about));
        let report = (bench.run)(&workspace)?;
        out::print_line(&report.to_table());
        exceeded.extend(report.titles_over_limit().map(str::to_owned));
    }
    if exceeded.is_empty() { Ok(()) } else { Err(XtaskError::new(format!("over the limit: {}", exceeded.join("; ")))) }
}

fn select_benchmarks(names: &[String]) -> Result<Vec<&'static BenchmarkEntry>> {
    if names.is_empty() {
        return Ok(BENCHMARKS.iter().collect());
    }
    let known: Vec<_> = BENCHMARKS.iter().map(|bench| bench.name).collect();
    let find = |name: &String| {
        let unknown = || {
            XtaskError::new(format!("there is no benchmark {name:?}"))
                .with_hint(format!("choose from {}", known.join(", ")))
        };
        BENCHMARKS.iter().find(|bench| bench.name == name).ok_or_else(unknown)
    };
    names.iter().map(find).collect()
}

fn build_release() -> Result<()> {
    out::print_line("building release binaries of ralph and the scripted agent");
    CommandLine::parse("cargo build --release --quiet --package ralph --features testing --bins").run_quietly()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let message = select_benchmarks(&["speed".to_owned()]).err().unwrap().to_string();
        assert!(
            message.ends_with(
                "hint: choose from overhead, reading, memory, start, ageing, many, hook, tasks, board, protected, server, workflows"
            ),
            "{message}"
        );
        assert_eq!(select_benchmarks(&[]).unwrap().len(), BENCHMARKS.len());
    }
}
