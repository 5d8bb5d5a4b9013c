//! Processes that a dead driver of a run left running.
use ralph_process as process;

use crate::interaction::Interaction;
use crate::view::format_process_count;

/// Kills the leftover processes of a run, so that none of them runs in parallel with the new ones.
pub fn kill_leftover_processes(run: &str, person: &dyn Interaction) {
    let swept = process::kill_run_processes(run);
    if swept.killed > 0 {
        let count = format_process_count(u64::from(swept.killed));
        person.show_note(&format!("killed leftover processes of the run: {count}"));
    }
    for leaked in swept.leaked {
        person.show_note(&format!("warning: {} ({}) could not be killed", leaked.name, leaked.pid));
    }
}
