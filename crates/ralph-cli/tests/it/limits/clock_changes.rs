//! The wall clock changes during a run. A preloaded library adds the offset in a file to the time of day; the monotonic
//! clock is unchanged.
use std::path::PathBuf;
use std::process::Command;

use crate::harness::Project;

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    const char *path = getenv("CLOCK_SHIFT");
    if (result == 0 && clock == CLOCK_REALTIME && path) {
        char text[32] = {0};
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0 && read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
        if (file >= 0) close(file);
    }
    return result;
}
"#;

/// Builds the library, with the compiler that Rust links with.
pub fn library(project: &Project) -> PathBuf {
    let (source, library) = (project.outside("clock.c"), project.outside("clock.so"));
    std::fs::write(&source, LIBRARY).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").status();
    assert!(built.is_ok_and(|status| status.success()), "this test needs a C compiler, as Rust does");
    library
}

// fault: 68
// spec: L7
#[test]
fn a_clock_change_during_a_run_neither_ends_it_nor_reverses_its_time() {
    let project = Project::new();
    let library = library(&project);
    let shift = project.outside("shift");
    let set = |seconds: &str| {
        std::fs::write(project.outside("shift.new"), seconds).unwrap();
        std::fs::rename(project.outside("shift.new"), &shift).unwrap();
    };
    set("0");
    let script = project.script(&format!(
        "touch {0}\nwait {1}\ntext more\n---\ntouch {2}\nwait {3}\ntext {{promise}}\n",
        project.outside("one").display(),
        project.outside("go-one").display(),
        project.outside("two").display(),
        project.outside("go-two").display(),
    ));
    let call = project.run(&["script", &script]).args(["--timeout", "30m", "--idle-timeout", "30m", "--check", "true"]);
    let run = call.env("LD_PRELOAD", &library).env("CLOCK_SHIFT", &shift).start();
    project.wait_for("one");
    set("3600");
    std::fs::write(project.outside("go-one"), "").unwrap();
    project.wait_for("two");
    set("-1800000000");
    std::fs::write(project.outside("go-two"), "").unwrap();
    let answer = run.wait().expect(0);
    let at = |event: &serde_json::Value| event["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let times: Vec<_> = answer.events().iter().map(at).collect();
    assert!(times.is_sorted(), "{times:?}");
    let took = times.last().unwrap().duration_since(times[0]).as_secs();
    assert!(took < 600, "an hour more or fifty years less are in no record: {took} s");
    for ended in answer.events_named("iteration.ended") {
        let ms = ended["duration_ms"].as_i64().unwrap();
        assert!((0..600_000).contains(&ms), "{ms}");
    }
    let shifted = project.ralph(["runs", "--json"]).env("LD_PRELOAD", &library).env("CLOCK_SHIFT", &shift);
    shifted.output().expect(0);
}
