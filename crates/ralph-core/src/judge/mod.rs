//! What a judge is asked, and what its answer is worth. A judge is a model: it reads words that the judged agent wrote,
//! so nothing that it says counts unless it has the one form that was asked for and quotes what it was shown.
mod answer;
mod api;
mod diff;
mod material;
mod on_error;
mod question;
mod trouble;
mod verdict;

pub use answer::{Answer, Doubt, Lack, Unusable, read_answer};
pub use api::{Api, Endpoint, Told, complaint};
pub use diff::DiffKeeper;
pub use material::{DIFF_BYTES, Fence, Material};
pub use on_error::OnError;
pub use question::{SYSTEM, question};
pub use trouble::{Next, Trouble};
pub use verdict::{found_negative, weigh};

#[cfg(test)]
mod api_tests;
#[cfg(test)]
mod tests;
