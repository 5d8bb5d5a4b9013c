//! The scripted agent of the tests.
fn main() {}
