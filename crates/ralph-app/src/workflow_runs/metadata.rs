//! The metadata of a workflow run: the progress of its newest loop, and its last output. New values are merged into those of
//! an earlier process.
use ralph_core::receipt::ProofLevel;
use serde_json::{Map, Value, json};

/// A longer output is cut at its beginning here; the node has all of it.
const MAX_OUTPUT_BYTES: usize = 4 * 1024;

/// A JSON object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunMetadata {
    fields: Map<String, Value>,
}

impl RunMetadata {
    /// Reads the metadata that is stored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self { fields: serde_json::from_str(text).unwrap_or_default() }
    }

    pub fn set_iteration(&mut self, iteration: u32, max_iterations: u32) {
        self.fields.insert("iteration_count".to_owned(), json!(iteration));
        self.fields.insert("max_iterations".to_owned(), json!(max_iterations));
    }

    /// Keeps the lowest proof level among the nodes of a run, if any of them has one.
    pub fn set_proof(&mut self, proof: Option<ProofLevel>) {
        match proof {
            Some(level) => drop(self.fields.insert("proof".to_owned(), json!(level))),
            None => drop(self.fields.remove("proof")),
        }
    }

    #[must_use]
    pub fn proof(&self) -> Option<ProofLevel> {
        serde_json::from_value(self.fields.get("proof")?.clone()).ok()
    }

    /// Keeps the end of an output. Nodes without output change nothing.
    pub fn set_last_output(&mut self, output: &str) {
        let output = output.trim();
        if output.is_empty() {
            return;
        }
        let mut start = output.len().saturating_sub(MAX_OUTPUT_BYTES);
        while !output.is_char_boundary(start) {
            start += 1;
        }
        self.fields.insert("last_output".to_owned(), json!(output.get(start..).unwrap_or_default()));
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        Value::Object(self.fields.clone()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W7
    #[test]
    fn new_values_are_merged_into_those_of_an_earlier_process() {
        let mut metadata = RunMetadata::parse(r#"{"iteration_count":2,"max_iterations":9,"other":true}"#);
        metadata.set_last_output("  done\n");
        metadata.set_last_output("");
        let expected = json!({"iteration_count": 2, "max_iterations": 9, "other": true, "last_output": "done"});
        assert_eq!(serde_json::from_str::<Value>(&metadata.to_json()).unwrap(), expected);
        metadata.set_iteration(3, 9);
        assert_eq!(metadata.fields["iteration_count"], 3);
    }

    // spec: W7
    #[test]
    fn of_a_long_output_the_end_is_kept() {
        let mut metadata = RunMetadata::default();
        metadata.set_last_output(&format!("{}ä the end", "ä".repeat(9_000)));
        let kept = metadata.fields["last_output"].as_str().unwrap().to_owned();
        assert!(kept.ends_with("ä the end"), "{kept}");
        assert!((4_000..=MAX_OUTPUT_BYTES).contains(&kept.len()), "{}", kept.len());
    }
}
