//! Questions to judge models, and the validation of their answers. A judge reads text that the judged agent wrote and
//! can be misled by it. An answer counts only if it has the requested format and quotes the material that the judge was
//! shown.
mod answer_verdict;
mod diff_truncator;
mod judge_answer;
mod judge_api;
mod judge_error_policy;
mod judge_failure;
mod judge_material;
mod judge_question;

pub use answer_verdict::{decide_verdict, find_negative_pattern};
pub use diff_truncator::DiffTruncator;
pub use judge_answer::{DoubtedFinding, JudgeAnswer, JudgeAnswerError, QuotationProblem, read_answer};
pub use judge_api::{JudgeApi, JudgeApiReply, JudgeEndpoint, error_message};
pub use judge_error_policy::JudgeErrorPolicy;
pub use judge_failure::{JudgeFailure, JudgeRetryDecision};
pub use judge_material::{JudgeMaterial, MAX_DIFF_BYTES, MaterialBoundary};
pub use judge_question::{JUDGE_SYSTEM_PROMPT, build_question};

#[cfg(test)]
mod api_tests;
#[cfg(test)]
mod tests;
