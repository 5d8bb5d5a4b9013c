//! The board and `status` with ten thousand tasks: a screen reads what it shows, and finds the rest when it is asked for.
use std::fs;
use std::time::{Duration, Instant};

use ralph_app::board::{BoardReader, BoardSnapshot, CardScope, LANE_WINDOW};

use crate::board::tmux_screen::{ScreenSize, TmuxScreen};
use crate::harness::Project;

/// A project with tasks that all depend on the first one.
fn project_with_tasks(count: usize) -> Project {
    let project = Project::new();
    let line = |number: usize| {
        let after = if number == 0 { "" } else { ", dependencies: [T-0]" };
        format!("  - {{id: T-{number}, spec_id: s, title: Task {number}{after}}}\n")
    };
    let file = project.outside("tasks.yaml");
    fs::write(&file, format!("tasks:\n{}", (0..count).map(line).collect::<String>())).unwrap();
    project.ralph(["task", "import", file.to_str().unwrap()]).output().expect(0);
    project
}

/// Reads the board once, as it begins, and returns the time that it took.
fn read_board(project: &Project, scope: CardScope) -> (BoardSnapshot, Duration) {
    let user_state = project.home().join(".local/state/ralph").canonicalize().unwrap();
    let found = ralph_engine::project::Project::find_with_user_state(&project.root(), &user_state).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let began = Instant::now();
    let snapshot = runtime.block_on(async {
        let mut reader = BoardReader::new(&found);
        reader.set_scope(scope);
        reader.read_changes().await.unwrap().unwrap()
    });
    (snapshot, began.elapsed())
}

// spec: F6, U4
#[test]
fn a_screen_counts_all_tasks_and_reads_those_near_the_tops_of_its_lanes_in_a_part_of_the_time() {
    let project = project_with_tasks(10_000);
    let (mut window, mut all) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        window.push(read_board(&project, CardScope::Window));
        all.push(read_board(&project, CardScope::Everything));
    }
    let (screen, everything) = (&window[0].0, &all[0].0);
    assert_eq!((screen.cards.len(), everything.cards.len()), (LANE_WINDOW as usize, 10_000));
    assert_eq!((screen.totals.to_do, everything.totals.to_do), (10_000, 10_000));
    assert_eq!((screen.is_partial(), everything.is_partial()), (true, false));
    // What is ready comes first, as in the whole list.
    let ids =
        |snapshot: &BoardSnapshot| snapshot.cards.iter().take(100).map(|card| card.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(screen), ids(everything));
    assert_eq!(screen.cards[1].waits_for, ["T-0"]);
    let shortest = |times: &[(BoardSnapshot, Duration)]| times.iter().map(|(_, took)| *took).min().unwrap();
    assert!(shortest(&window) * 2 < shortest(&all), "{:?} against {:?}", shortest(&window), shortest(&all));
}

// spec: F6, U4
#[test]
fn filters_jumps_and_the_end_of_a_lane_reach_every_one_of_ten_thousand_tasks() {
    let project = project_with_tasks(10_000);
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("4 To do (10000)");
    board.press(&["4"]);
    board.type_text("/task 9999");
    board.press(&["Enter"]);
    board.wait_for("4 To do (1) /task 9999");
    board.wait_for("T-9999");
    board.press(&["Escape"]);
    board.wait_for("4 To do (10000)");
    board.type_text(":task T-5000");
    board.press(&["Enter"]);
    board.wait_for("6 T-5000 · criteria");
}

// spec: F6
#[test]
fn the_status_with_ten_thousand_tasks_takes_at_most_three_times_as_long_as_with_ten() {
    let (few, many) = (project_with_tasks(10), project_with_tasks(10_000));
    let time = |project: &Project| {
        let began = Instant::now();
        project.ralph(["status"]).start().wait_without_invariants().expect(0);
        began.elapsed()
    };
    let times: Vec<(Duration, Duration)> = (0..9).map(|_| (time(&few), time(&many))).collect();
    let shortest_few = times.iter().map(|(few, _)| *few).min().unwrap();
    let shortest_many = times.iter().map(|(_, many)| *many).min().unwrap();
    assert!(shortest_many < shortest_few * 3, "{shortest_few:?} with 10, and {shortest_many:?} with 10,000");
}
