//! `cargo xtask bench`: ralph beside what it replaces, on the same machine in the same minutes. Only ratios and
//! differences are judged, so that a slow or busy machine gives the same answer. A benchmark is a file and a line in
//! [`BENCHES`]; none of them is a test.
mod ageing;
mod hook;
mod many;
mod memory;
mod options;
mod overhead;
mod reading;
mod rounds;
mod stage;
mod start;
mod table;
mod tasks;
mod transcript;

use crate::failure::{Failure, Result};
use crate::out;
use crate::shell::Line;

use options::Options;
use stage::Stage;
use table::Report;

struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Stage) -> Result<Report>,
}

const BENCHES: &[Bench] = &[
    Bench { name: "overhead", about: "one iteration against a bare shell loop", run: overhead::run },
    Bench {
        name: "reading",
        about: "a long output against the shell loop and against jq",
        run: reading::run,
    },
    Bench { name: "memory", about: "peak memory at any length of output", run: memory::run },
    Bench { name: "start", about: "how long until something happens", run: start::run },
    Bench { name: "ageing", about: "late iterations against early ones", run: ageing::run },
    Bench { name: "many", about: "many loops in one process", run: many::run },
    Bench { name: "hook", about: "the answer to a stop of a session", run: hook::run },
    Bench { name: "tasks", about: "ten thousand tasks", run: tasks::run },
];

pub(crate) fn main(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let chosen = choose(&options.names)?;
    build()?;
    let stage = Stage::new(&options)?;
    let mut over = Vec::new();
    for bench in chosen {
        out::line(&format!("{}: {}", bench.name, bench.about));
        let report = (bench.run)(&stage)?;
        out::line(&report.shown());
        over.extend(report.over().map(str::to_owned));
    }
    if over.is_empty() { Ok(()) } else { Err(Failure::new(format!("over the limit: {}", over.join("; ")))) }
}

fn choose(names: &[String]) -> Result<Vec<&'static Bench>> {
    if names.is_empty() {
        return Ok(BENCHES.iter().collect());
    }
    let known: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
    let find = |name: &String| {
        let unknown = || {
            Failure::new(format!("there is no benchmark {name:?}"))
                .hint(format!("choose from {}", known.join(", ")))
        };
        BENCHES.iter().find(|bench| bench.name == name).ok_or_else(unknown)
    };
    names.iter().map(find).collect()
}

fn build() -> Result<()> {
    out::line("building ralph and the scripted agent for release");
    Line::of("cargo build --release --quiet --package ralph --features testing --bins").quietly()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let said = choose(&["speed".to_owned()]).err().unwrap().to_string();
        assert!(
            said.ends_with("hint: choose from overhead, reading, memory, start, ageing, many, hook, tasks"),
            "{said}"
        );
        assert_eq!(choose(&[]).unwrap().len(), BENCHES.len());
    }
}
