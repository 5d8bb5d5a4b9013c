//! The errors of programs that cannot be started.

use std::path::Path;

use ralph_process::SpawnError;

use crate::fixture::{Fixture, file, text};

crate::test_cases![
    a_missing_program_is_not_found,
    a_file_without_permission_is_not_executable,
    a_folder_is_not_executable,
    a_missing_interpreter_is_named_instead_of_the_program,
    a_file_that_is_not_a_program_has_the_wrong_format,
    a_missing_working_directory_is_named,
    a_nul_byte_in_an_argument_is_refused,
];

async fn spawn_error(fixture: &Fixture, program: &str) -> SpawnError {
    let error = fixture.keeper.spawn(fixture.spec(program, &[])).await.err().unwrap();
    fixture.assert_nothing_is_left();
    error
}

async fn a_missing_program_is_not_found(fixture: Fixture) {
    for program in ["/nowhere/agent", "no-such-agent", "/etc/passwd/agent"] {
        let error = spawn_error(&fixture, program).await;
        assert!(matches!(error, SpawnError::NotFound { .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("{program} was not found"));
    }
}

async fn a_file_without_permission_is_not_executable(fixture: Fixture) {
    let (_folder, path) = file(b"#!/bin/sh\n", 0o644);
    let error = spawn_error(&fixture, text(&path)).await;
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error:?}");
}

async fn a_folder_is_not_executable(fixture: Fixture) {
    let error = spawn_error(&fixture, "/tmp/").await;
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error:?}");
}

async fn a_missing_interpreter_is_named_instead_of_the_program(fixture: Fixture) {
    let (_folder, path) = file(b"#! /nowhere/node --flag\n", 0o755);
    let error = spawn_error(&fixture, text(&path)).await;
    let SpawnError::MissingInterpreter { interpreter, .. } = error else { unreachable!("{error:?}") };
    assert_eq!(interpreter, Path::new("/nowhere/node"));
}

async fn a_file_that_is_not_a_program_has_the_wrong_format(fixture: Fixture) {
    for content in [&b"\x7fELF rubbish"[..], b"echo hello\n", b""] {
        let (_folder, path) = file(content, 0o755);
        let error = spawn_error(&fixture, text(&path)).await;
        assert!(matches!(error, SpawnError::WrongFormat { .. }), "{error:?}");
    }
}

async fn a_missing_working_directory_is_named(fixture: Fixture) {
    let mut spec = fixture.spec("/bin/true", &[]);
    spec.cwd = "/nowhere/work".into();
    let error = fixture.keeper.spawn(spec).await.err().unwrap();
    assert_eq!(error.to_string(), "the working directory /nowhere/work does not exist");
    fixture.assert_nothing_is_left();
}

async fn a_nul_byte_in_an_argument_is_refused(fixture: Fixture) {
    let error = fixture.keeper.spawn(fixture.spec("/bin/true", &["a\0b"])).await.err().unwrap();
    assert!(matches!(error, SpawnError::Other { .. }), "{error:?}");
    fixture.assert_nothing_is_left();
}
