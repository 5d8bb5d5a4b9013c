//! Why a program does not start, in words that tell what to mend.

use std::path::Path;

use ralph_process::SpawnError;

use crate::scene::{Scene, file, text};

crate::stories![
    a_missing_program_is_not_found,
    a_file_without_permission_is_not_executable,
    a_folder_is_not_executable,
    a_missing_interpreter_is_named_instead_of_the_program,
    a_file_that_is_no_program_has_the_wrong_format,
    a_missing_working_directory_is_named,
    a_nul_byte_in_an_argument_is_refused,
];

async fn refusal(scene: &Scene, program: &str) -> SpawnError {
    let refused = scene.keeper.spawn(scene.spec(program, &[])).await.err().unwrap();
    scene.assert_nothing_is_left();
    refused
}

async fn a_missing_program_is_not_found(scene: Scene) {
    for program in ["/nowhere/agent", "no-such-agent", "/etc/passwd/agent"] {
        let refused = refusal(&scene, program).await;
        assert!(matches!(refused, SpawnError::NotFound { .. }), "{refused:?}");
        assert_eq!(refused.to_string(), format!("{program} was not found"));
    }
}

async fn a_file_without_permission_is_not_executable(scene: Scene) {
    let (_folder, path) = file(b"#!/bin/sh\n", 0o644);
    let refused = refusal(&scene, text(&path)).await;
    assert!(matches!(refused, SpawnError::NotExecutable { .. }), "{refused:?}");
}

async fn a_folder_is_not_executable(scene: Scene) {
    let refused = refusal(&scene, "/tmp/").await;
    assert!(matches!(refused, SpawnError::NotExecutable { .. }), "{refused:?}");
}

async fn a_missing_interpreter_is_named_instead_of_the_program(scene: Scene) {
    let (_folder, path) = file(b"#! /nowhere/node --flag\n", 0o755);
    let refused = refusal(&scene, text(&path)).await;
    let SpawnError::MissingInterpreter { interpreter, .. } = refused else { unreachable!("{refused:?}") };
    assert_eq!(interpreter, Path::new("/nowhere/node"));
}

async fn a_file_that_is_no_program_has_the_wrong_format(scene: Scene) {
    for content in [&b"\x7fELF rubbish"[..], b"echo hello\n", b""] {
        let (_folder, path) = file(content, 0o755);
        let refused = refusal(&scene, text(&path)).await;
        assert!(matches!(refused, SpawnError::WrongFormat { .. }), "{refused:?}");
    }
}

async fn a_missing_working_directory_is_named(scene: Scene) {
    let mut wanted = scene.spec("/bin/true", &[]);
    wanted.cwd = "/nowhere/work".into();
    let refused = scene.keeper.spawn(wanted).await.err().unwrap();
    assert_eq!(refused.to_string(), "the working directory /nowhere/work does not exist");
    scene.assert_nothing_is_left();
}

async fn a_nul_byte_in_an_argument_is_refused(scene: Scene) {
    let refused = scene.keeper.spawn(scene.spec("/bin/true", &["a\0b"])).await.err().unwrap();
    assert!(matches!(refused, SpawnError::Other { .. }), "{refused:?}");
    scene.assert_nothing_is_left();
}
