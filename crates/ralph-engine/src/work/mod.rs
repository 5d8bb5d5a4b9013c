//! The worker: takes tasks that are ready, and drives each through its stages, several at a time. What the end of a stage makes
//! of a task is decided in `ralph_core::pipeline`; what a stage is made of, its shop knows.
mod desk;
mod fit;
mod named;
mod pausing;
mod purse;
mod shop;
mod stage;
mod task;
mod worker;

pub use fit::Fitting;
pub use shop::{Done, News, Workshop};
pub use task::TaskEnd;
pub use worker::{Assignment, Finish, Until, work};
