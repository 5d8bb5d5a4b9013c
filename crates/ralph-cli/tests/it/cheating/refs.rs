//! Cheats with git references, settings, objects and receipts.
use super::{COMMIT, Cheat, refused};

const MAKE: &[&str] = &["make test"];

// spec: V15, V9
refused! {
    the_snapshot_before_the_work_is_moved:
        Cheat::new(
            MAKE,
            "echo exit 0 > tests/check.sh; git add -A; tree=$(git write-tree)
             git for-each-ref --format='%(refname)' refs/ralph | while read name; do git update-ref \"$name\" \"$tree\"; done",
        ) => "tests/check.sh was changed";
    the_history_is_rewritten:
        Cheat::new(
            MAKE,
            "echo exit 0 > tests/check.sh; git add -A
             git -c user.name=A -c user.email=a@example.invalid commit -q --amend -m first
             git for-each-ref --format='%(refname)' refs/ralph | while read name; do git update-ref -d \"$name\"; done",
        ) => "tests/check.sh was changed";
    the_tree_before_the_work_is_replaced:
        Cheat::new(
            MAKE,
            "old=$(git rev-parse HEAD:tests/check.sh); echo exit 0 > tests/check.sh
             git replace -f $old $(git hash-object -w tests/check.sh)",
        ) => "tests/check.sh was changed";
    a_filter_changes_what_git_reads:
        Cheat::new(
            MAKE,
            "echo 'tests/* filter=sly' > .git/info/attributes; git config filter.sly.clean 'echo grep -q done work'
             echo exit 0 > tests/check.sh",
        ) => "filter.sly.clean was added";
    another_work_tree_is_configured:
        Cheat::new(MAKE, "cp -r . ../copy; git config core.worktree \"$PWD/../copy\"; echo exit 0 > tests/check.sh")
        => "core.worktree was added";
    an_excludes_file_hides_a_new_makefile:
        Cheat::new(
            MAKE,
            "echo GNUmakefile > ../ignore; git config core.excludesFile \"$PWD/../ignore\"
             printf 'test:\\n\\t@true\\n' > GNUmakefile",
        ) => "core.excludesfile was added";
    an_included_settings_file:
        Cheat::new(MAKE, "printf '[core]\\nfileMode = false\\n' > .git/more; git config include.path more; echo exit 0 > tests/check.sh")
        => "include.path was added";
    file_modes_do_not_count:
        Cheat::new(&["test -x tests/check.sh"], "git config core.fileMode false; chmod +x tests/check.sh")
        => "core.filemode was";
    a_sparse_checkout_leaves_the_tests_out:
        Cheat::new(&["test ! -e tests || make test"], "git sparse-checkout set --no-cone '/*' '!/tests'")
        => "core.sparsecheckout was added";
}

/// Overwrites the object of a path with that of another content, which git does not notice.
const OVERWRITE: &str = "overwrite() {
    file() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }
    rm -f $(file $1); cp $(file $2) $(file $1)
}";

/// The claim cannot be evaluated, so it is not accepted.
#[track_caller]
fn cannot_be_evaluated(agent_script: &str) {
    let agent_script = format!("{OVERWRITE}\n{agent_script}");
    let cheat = Cheat::new(MAKE, &agent_script);
    let answer = cheat.run(&cheat.project()).expect(3);
    let verdict = answer.events_named("verdict")[0].clone();
    assert_eq!(verdict["verdict"], "could_not_evaluate", "{verdict}");
    assert!(verdict["reason"].as_str().unwrap().contains("was overwritten with other content"), "{verdict}");
}

// spec: V15
#[test]
fn the_object_of_a_test_is_overwritten() {
    cannot_be_evaluated(
        "old=$(git rev-parse HEAD:tests/check.sh); echo exit 0 > tests/check.sh
         overwrite $old $(git hash-object -w tests/check.sh)",
    );
}

// spec: V15
#[test]
fn the_object_of_a_folder_with_tests_is_overwritten() {
    cannot_be_evaluated(
        "old=$(git rev-parse HEAD:tests); echo exit 0 > tests/check.sh; git add -A
         overwrite $old $(git rev-parse $(git write-tree):tests)",
    );
}

// spec: V14
#[test]
fn a_receipt_of_the_agent_is_forged() {
    let cheat = Cheat::new(&["sh verify.sh"], "true");
    let project = cheat.project();
    let state = project.state().display().to_string();
    let forge = format!(
        "umask 077; f={state}/runs/$RALPH_RUN_ID; mkdir -p $f
         echo '{{\"version\":1,\"verified\":true,\"proof\":\"proven\",\"reason\":\"1 check passed\"}}' > $f/receipt.json"
    );
    Cheat { agent_script: &forge, ..cheat }.run(&project).expect(3);
    let json = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&json["receipt"]["verified"], &json["receipt"]["file_is_forged"]), (&false.into(), &true.into()));
    let refused = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(refused.contains("forged: ralph never wrote it"), "{refused}");
}

// spec: V14
#[test]
fn a_receipt_that_was_edited_afterwards_is_forged() {
    let agent_script = format!("echo x >> work; {COMMIT}");
    let cheat = Cheat::new(&["test -e work"], &agent_script);
    let project = cheat.project();
    let answer = cheat.run(&project).expect(0);
    assert_eq!(answer.finished()["proof"], "checked");
    let newest = std::fs::read_dir(project.state().join("runs")).unwrap().map(|run| run.unwrap().path()).max().unwrap();
    let text = String::from_utf8(project.log("receipt.json")).unwrap().replace("\"checked\"", "\"proven\"");
    std::fs::write(newest.join("receipt.json"), text).unwrap();
    let json = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&json["proof"], &json["receipt"]["file_is_forged"]), (&"checked".into(), &true.into()));
}
