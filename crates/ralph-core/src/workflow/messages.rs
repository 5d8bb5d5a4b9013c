//! The messages of workflow runs to conversations and terminals.
use alloc::format;
use alloc::string::String;

/// An iteration of a loop starts.
#[must_use]
pub fn iteration_started(iteration: u32, max_iterations: u32) -> String {
    format!("**Iteration {iteration}/{max_iterations}**")
}

/// A step starts.
#[must_use]
pub fn step_started(number: u32, total: u32) -> String {
    format!("**Step {number}/{total}**")
}

/// A loop has completed. `name` is that of the workflow, or of the node in a graph.
#[must_use]
pub fn loop_completed(name: &str, iterations: u32) -> String {
    format!("**Loop complete**: {name} ({iterations} iterations)")
}

/// An iteration of a loop has failed.
#[must_use]
pub fn loop_failed(iteration: u32, reason: &str) -> String {
    format!("**Loop failed** at iteration {iteration}: {reason}")
}

/// A loop has reached its limit. `reason` is that of [`max_iterations_reached`].
#[must_use]
pub fn loop_incomplete(name: &str, reason: &str) -> String {
    format!("**Loop incomplete**: {name}\n\n{reason}")
}

/// The reason of a loop that has reached its limit. `until` is the signal, if the loop has one.
#[must_use]
pub fn max_iterations_reached(max_iterations: u32, until: Option<&str>) -> String {
    match until {
        Some(until) => format!("Max iterations ({max_iterations}) reached without completion signal \"{until}\""),
        None => format!("Max iterations ({max_iterations}) reached without completion"),
    }
}

/// The stored error of a run whose iteration failed.
#[must_use]
pub fn iteration_error(iteration: u32, reason: &str) -> String {
    format!("Iteration {iteration}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W8
    #[test]
    fn the_messages_of_loops_and_steps_have_the_words_of_the_format() {
        assert_eq!(iteration_started(2, 10), "**Iteration 2/10**");
        assert_eq!(step_started(1, 3), "**Step 1/3**");
        assert_eq!(loop_completed("ralph", 3), "**Loop complete**: ralph (3 iterations)");
        assert_eq!(
            loop_failed(2, "the agent exited with 1"),
            "**Loop failed** at iteration 2: the agent exited with 1"
        );
        assert_eq!(loop_incomplete("ralph", "why"), "**Loop incomplete**: ralph\n\nwhy");
    }

    // spec: W7
    #[test]
    fn an_exhausted_loop_names_its_limit_and_its_signal() {
        let with_signal = "Max iterations (3) reached without completion signal \"COMPLETE\"";
        assert_eq!(max_iterations_reached(3, Some("COMPLETE")), with_signal);
        assert_eq!(max_iterations_reached(3, None), "Max iterations (3) reached without completion");
        assert_eq!(iteration_error(2, "boom"), "Iteration 2: boom");
    }
}
