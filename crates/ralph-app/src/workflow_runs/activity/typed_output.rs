//! The output of a node: checked against its `output_format`, and written to its artifact files.
use std::io::Write;

use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{ActivityResult, NodeSuccess};
use ralph_core::workflow::output_schema::{OutputFormatError, read_typed_output};
use ralph_core::workflow::{NodeOutput, TypedOutput};
use ralph_util::private_files;
use serde_json::json;

use super::shell_node::file_name;
use super::{ActivityRunner, ReadyActivity, failed};

impl ActivityRunner {
    /// Checks an output and returns the result of the node.
    pub(super) fn finish_output(
        &self,
        ready: &ReadyActivity,
        output: String,
        proof: Option<ProofLevel>,
    ) -> ActivityResult {
        let output = match read_node_output(ready, output) {
            Ok(output) => output,
            Err(problem) => return failed(problem.to_string()),
        };
        if let NodeOutput::Completed { text, .. } = &output
            && let Err(error) = self.write_artifact(ready, text)
        {
            return failed(format!("cannot write the artifact of the node: {error}"));
        }
        ActivityResult::Completed(NodeSuccess { output: output.into(), proof })
    }

    fn write_artifact(&self, ready: &ReadyActivity, output: &str) -> std::io::Result<()> {
        let Some(output_type) = &ready.definition.output_type else { return Ok(()) };
        let folder = private_files::ensure_folder(&self.services.artifacts_folder().join("nodes"))?;
        let name = file_name(&ready.node);
        let about = json!({ "type": output_type, "node": ready.node, "run": self.services.run });
        for (file, text) in
            [(format!("{name}.md"), output.to_owned()), (format!("{name}.meta.json"), about.to_string())]
        {
            let path = folder.path().join(file);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            private_files::open_for_append(&path)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// Returns the output of a node. With an `output_format` it is a value that fits it.
pub(super) fn read_node_output(ready: &ReadyActivity, text: String) -> Result<NodeOutput, OutputFormatError> {
    match &ready.definition.output_format {
        None => Ok(NodeOutput::text(text)),
        Some(schema) => read_typed_output(&text, schema).map(TypedOutput::into_output),
    }
}
