//! The changes of one iteration, by the command and on the board.
use crate::board::tmux_screen::{ScreenSize, TmuxScreen};
use crate::harness::Project;
use crate::work::pipeline::{project, work};

/// A coder that adds `first` in its first iteration and `second` in its second one.
const TWO_STEPS: &str = r#"
cat > /dev/null
if [ -e first ]; then last=yes; echo 2 > second; echo x > done-T-1; else echo 1 > first; fi
git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet -m step
if [ -n "$last" ]; then echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; fi
"#;

fn project_with_two_iterations() -> Project {
    let project = project(&[("T-1", "")]);
    project.shell(TWO_STEPS);
    work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    project
}

// spec: U4, P7
#[test]
fn the_changes_of_one_iteration_are_those_since_the_one_before() {
    let project = project_with_two_iterations();
    let diff = |iteration: &str| {
        let printed = project.ralph(["diff", "T-1", "--stat", "--iteration", iteration]).output().expect(0).stdout;
        let files = printed.lines().filter_map(|line| line.split_once('|')).map(|(file, _)| file.trim().to_owned());
        files.collect::<Vec<_>>()
    };
    assert_eq!((diff("1"), diff("2")), (vec!["first".to_owned()], vec!["done-T-1".to_owned(), "second".to_owned()]));
    let unknown = project.ralph(["diff", "T-1", "--iteration", "7"]).output().expect(1).stderr;
    assert!(unknown.contains("the files after iteration 7 are not stored"), "{unknown}");
    project.ralph(["diff", "--iteration", "1"]).output().expect(64);
}

// spec: U4
#[test]
fn the_board_shows_the_diff_of_the_selected_iteration() {
    let project = project_with_two_iterations();
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("5 Ended (1)");
    board.press(&["5", "Enter"]);
    board.wait_for("[1/15]");
    board.press(&["]", "d"]);
    board.wait_for("diff · iteration 1");
    board.wait_for("+++ b/first");
    board.wait_for("ralph diff T-1 --iteration 1");
    board.press(&["]"]);
    board.wait_for("+++ b/second");
    assert!(!board.shown().contains("+++ b/first"));
}
