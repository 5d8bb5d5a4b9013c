//! Outputs of nodes, and the items of a fan-out. They are shared, because facts, state and prompts all hold them whole.
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::workflow::NodeOutput;

/// The whole output of a node. A clone shares it.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedOutput(Arc<NodeOutput>);

impl SharedOutput {
    #[must_use]
    pub fn text(&self) -> &str {
        match self.0.as_ref() {
            NodeOutput::Completed { text, typed: _ } => text,
            NodeOutput::Failed | NodeOutput::Skipped | NodeOutput::NotRun => "",
        }
    }

    #[must_use]
    pub fn as_node_output(&self) -> &NodeOutput {
        &self.0
    }
}

impl Default for SharedOutput {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<NodeOutput> for SharedOutput {
    fn from(output: NodeOutput) -> Self {
        Self(Arc::new(output))
    }
}

impl From<&str> for SharedOutput {
    fn from(text: &str) -> Self {
        Self::from(NodeOutput::text(text))
    }
}

impl From<String> for SharedOutput {
    fn from(text: String) -> Self {
        Self::from(NodeOutput::text(text))
    }
}

impl Serialize for SharedOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NodeOutput::deserialize(deserializer).map(Self::from)
    }
}

/// The items of a fan-out, in the order of the list. A clone shares them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FanOutItems(Arc<[Value]>);

impl FanOutItems {
    #[must_use]
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for FanOutItems {
    fn from(items: Vec<Value>) -> Self {
        Self(Arc::from(items))
    }
}

impl Serialize for FanOutItems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

impl<'de> Deserialize<'de> for FanOutItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Value>::deserialize(deserializer).map(Self::from)
    }
}
