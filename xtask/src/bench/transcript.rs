//! Writes long outputs in Claude's format: text, tool calls, tool results of 2 to 10 KB, and finally the promise.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Result, XtaskError};

pub(super) const MEGABYTE: usize = 1 << 20;

const SESSION: &str = r#""session_id":"5b1f0c2e-0000-4000-8000-000000000000","parent_tool_use_id":null"#;
const SOURCE_LINE: &str = r#"    let value = table.get(\"name\").copied().unwrap_or_default(); // as before\n"#;

/// Writes an output of about `bytes` bytes, in records of a few kilobytes.
pub(super) fn write_transcript(path: &Path, bytes: usize) -> Result<()> {
    write_session(path, |file| {
        let mut written = 0;
        for turn in 0.. {
            if written >= bytes {
                break;
            }
            // Between 2 and 10 KB, never the same twice in a row.
            let lines = (2048 + turn * 7919 % 8192) / SOURCE_LINE.len();
            let records = [
                assistant_text_record(&format!("Turn {turn}: I look at the next file.")),
                tool_call_record(turn),
                tool_result_record(turn, lines),
            ];
            for record in records {
                file.write_all(record.as_bytes())?;
                written += record.len();
            }
        }
        Ok(())
    })
}

/// Writes an output with one tool result of about `bytes` bytes in a single line.
pub(super) fn write_long_line(path: &Path, bytes: usize) -> Result<()> {
    write_session(path, |file| file.write_all(tool_result_record(1, bytes / SOURCE_LINE.len()).as_bytes()))
}

fn write_session(path: &Path, write_records: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    let write = || {
        let mut file = BufWriter::with_capacity(MEGABYTE, File::create(path)?);
        writeln!(file, r#"{{"type":"system","subtype":"init","model":"claude","tools":["Bash"],{SESSION}}}"#)?;
        write_records(&mut file)?;
        let last = r"All stories pass.\n\n<promise>DONE</promise>";
        file.write_all(assistant_text_record(last).as_bytes())?;
        writeln!(
            file,
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{last}","total_cost_usd":0.5,"usage":{{"input_tokens":9000,"output_tokens":700}},{SESSION}}}"#
        )?;
        file.flush()?;
        // Flush to disk now, so that writeback does not disturb the measurement.
        file.get_ref().sync_all()
    };
    write().map_err(|error| XtaskError::with_cause(path.display(), error))
}

fn message_record(role: &str, content: &str) -> String {
    format!(r#"{{"type":"{role}","message":{{"role":"{role}","content":[{content}]}},{SESSION}}}"#) + "\n"
}

fn assistant_text_record(text: &str) -> String {
    message_record("assistant", &format!(r#"{{"type":"text","text":"{text}"}}"#))
}

fn tool_call_record(turn: usize) -> String {
    let input = format!(r#"{{"command":"cat src/part_{turn}.rs","description":"read"}}"#);
    message_record("assistant", &format!(r#"{{"type":"tool_use","id":"toolu_{turn}","name":"Bash","input":{input}}}"#))
}

fn tool_result_record(turn: usize, lines: usize) -> String {
    let output = SOURCE_LINE.repeat(lines);
    let result =
        format!(r#"{{"type":"tool_result","tool_use_id":"toolu_{turn}","content":"{output}","is_error":false}}"#);
    message_record("user", &result)
}
