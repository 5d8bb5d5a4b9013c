//! Changes around a sealed file: folders above it, files that replace it, and changes that are undone.
use crate::verification::cheating::{claims_after, project, rejected, rejection};

// spec: V9
// finding: N6
#[test]
fn a_link_in_place_of_a_folder_above_a_guarded_file_is_rejected() {
    let project = project();
    std::fs::create_dir_all(project.root().join("pkg/tests")).unwrap();
    project.write("pkg/tests/a.sh", "exit 1\n");
    project.commit();
    let agent_script = "mv pkg real; ln -s real pkg; echo done > work";
    let call = claims_after(&project, agent_script).args(["--guard", "pkg/tests/**", "--check", "./verify.sh"]);
    rejected(call, "pkg was replaced by a link");
}

// spec: V9
// finding: N5
#[test]
fn a_module_that_hides_an_installed_one_is_rejected() {
    for file in ["unittest.py", "unittest/__init__.py", "argparse.py"] {
        let project = project();
        project.write("test_work.py", "raise SystemExit(1)\n");
        project.commit();
        let agent_script = format!("mkdir -p unittest; touch {file}");
        let call = claims_after(&project, &agent_script).args(["--check", "python3 -m unittest test_work"]);
        rejected(call, &format!("{file} was added"));
    }
}

// spec: V8 V9
// finding: N12
#[test]
fn a_check_script_that_did_not_exist_may_be_written() {
    let project = project();
    let agent_script = "echo 'exit 0' > new.sh; mkdir own; touch own/__main__.py";
    let call = claims_after(&project, agent_script).args(["--check", "sh new.sh", "--check", "python3 -m own"]);
    call.output().expect(0);
}

// spec: V9
// finding: N7
#[test]
fn a_script_that_is_swapped_and_put_back_while_the_check_runs_is_rejected() {
    for swap in [
        "cp verify.sh old; echo true > verify.sh; sh verify.sh; cat old > verify.sh",
        "mv verify.sh old; echo true > verify.sh; sh verify.sh; mv old verify.sh",
        "cp -p verify.sh old; echo true > verify.sh; cp -p old verify.sh",
    ] {
        for isolation in [&[][..], &["--clean"]] {
            let project = project();
            project.write("work.sh", "exit 1\n");
            project.write("outer.sh", "sh work.sh && sh verify.sh || sh work.sh\n");
            project.commit();
            let commit = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";
            let agent_script = format!("printf '%s\\n' '{swap}' 'exit 0' > work.sh; {commit}");
            let call = claims_after(&project, &agent_script).args(["--no-baseline", "--guard", "verify.sh"]);
            let call = call.args(isolation).args(["--check", "sh outer.sh"]);
            let reason = rejection(&call.output().expect(3));
            assert!(reason.contains("verify.sh was changed and restored"), "{isolation:?} {swap}: {reason}");
        }
    }
}

// spec: V9
#[test]
fn a_check_that_rewrites_its_own_script_before_any_work_is_not_rejected_for_it() {
    let project = project();
    let call = claims_after(&project, "echo done > work");
    call.args(["--check", "chmod +x verify.sh && ./verify.sh"]).output().expect(0);
}
