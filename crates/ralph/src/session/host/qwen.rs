//! Qwen Code: Claude Code's events and answers. What it hands over as the last message repeats everything that was said
//! since the user spoke.
use std::ffi::OsString;

use super::{Facts, Incoming, Line, Payload, Protocol, Reply, Said, Words, cap_of, claude, common};

pub struct Qwen;

const BLOCK_CAP: u32 = 8;

impl Protocol for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn facts(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
        let block_cap = Some(cap_of(variable, "QWEN_CODE_STOP_HOOK_BLOCK_CAP", BLOCK_CAP));
        Facts { block_cap, words: Words::InEvent, is_cumulative: true }
    }

    fn hear(&self, payload: Payload) -> Incoming {
        claude::hear(payload)
    }

    fn say(&self, reply: &Reply) -> Said {
        common(reply, ("block", "UserPromptSubmit"))
    }

    fn line(&self, line: &[u8]) -> Line {
        claude::line_of(line)
    }
}
