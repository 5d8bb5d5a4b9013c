//! Output on a terminal: lines fit any width.
use crate::harness::Project;
use crate::terminal::Terminal;

/// An agent that says more than fits one row, and a check that complains at length.
const LONG_STORY: [&str; 2] = [
    "echo 'I changed the parser so that it reads whole lines, and the tests agree with that now.'\n\
     echo '    fn whole_lines(text: &str) -> Vec<String> { text.lines().collect() }'\n\
     echo\necho '<promise>COMPLETE</promise>'",
    "echo 'the third case of the table says something else than the code does here'; exit 1",
];

fn rows(columns: u16) -> Vec<String> {
    let project = Project::new();
    let agent = project.shell(LONG_STORY[0]);
    let call = ["run", "do it", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"];
    let limits = ["--max-iterations", "1", "--check", LONG_STORY[1]];
    let mut terminal = Terminal::start_with(project.ralph(call).args(limits).command(), columns);
    assert_eq!(terminal.wait().code(), Some(3), "{}", terminal.shown());
    terminal.rows()
}

/// Returns the rows from the one that begins so, as many as the expected ones.
#[track_caller]
fn assert_rows(rows: &[String], expected: &[&str]) {
    let from = rows.iter().position(|row| row == expected[0]);
    let found = from.map(|from| &rows[from..(from + expected.len()).min(rows.len())]);
    assert_eq!(found.map(<[String]>::to_vec).unwrap_or_default(), expected, "{rows:#?}");
}

// spec: U1, A4
#[test]
fn text_too_long_for_the_terminal_wraps_with_indentation() {
    let rows = rows(40);
    assert_rows(
        &rows,
        &[
            "  I changed the parser so that it reads",
            "  whole lines, and the tests agree with",
            "  that now.",
            "      fn whole_lines(text: &str) ->",
            "      Vec<String> {",
            "      text.lines().collect() }",
            "  ",
            "  <promise>COMPLETE</promise>",
        ],
    );
    assert_rows(
        &rows,
        &[
            "          the third case of the table",
            "          says something else than the",
            "          code does here",
        ],
    );
    assert!(rows.iter().any(|row| row.chars().count() == 40 && row.starts_with("── iteration 1/1 ─")));
}

/// Returns whether a row fits the terminal, or has one unbreakable word after its label.
fn fits_terminal(row: &str, columns: u16) -> bool {
    row.chars().count() <= usize::from(columns) || row.split_whitespace().count() <= 2
}

// spec: U1
#[test]
fn the_echo_of_ctrl_c_fits_into_the_progress_row() {
    let project = Project::new();
    let mut terminal = Terminal::start_with(project.run_on("do it", &["hang", "60"]).command(), 60);
    terminal.wait_for("iteration 1/10 ·");
    terminal.press("\x03");
    assert_eq!(terminal.wait().code(), Some(130), "{}", terminal.shown());
    let shown = terminal.shown();
    let (until, _) = shown.split_once("^C").unwrap();
    let row = until.rsplit(['\r', '\n']).next().unwrap();
    let row = row.trim_start_matches("\x1b[2K");
    assert!(row.contains("iteration 1/10 ·") && row.chars().count() + "^C".len() <= 60, "{row:?}");
}

// spec: U1
#[test]
fn introduction_and_summary_fit_a_narrow_terminal() {
    let rows = rows(44);
    assert!(rows[0].starts_with("ralph run "), "{rows:#?}");
    let wide: Vec<_> = rows.iter().filter(|row| !fits_terminal(row, 44)).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert_rows(&rows, &["check     echo 'the third case of the table", "          says something else than the code"]);
}

// spec: U1
#[test]
fn no_message_breaks_a_word_on_a_narrow_terminal() {
    let project = Project::new();
    std::fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", format!("checks: [{:?}]\n", LONG_STORY[1]));
    project.trust();
    project.run(&["complete"]).args(["--max-iterations", "1"]).output().expect(3);
    let calls: [&[&str]; 3] = [&["runs"], &["show"], &["trust", "--show"]];
    for call in calls {
        let printed = |columns| {
            let mut terminal = Terminal::start_with(project.ralph(call).command(), columns);
            assert_eq!(terminal.wait().code(), Some(0), "{call:?}: {}", terminal.shown());
            terminal.rows()
        };
        let (whole, narrow) = (printed(0).join(" "), printed(44));
        let wide: Vec<_> = narrow.iter().filter(|row| !fits_terminal(row, 44)).collect();
        assert!(wide.is_empty(), "{call:?}: {wide:#?}");
        let narrow = narrow.join(" ");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&whole), "{call:?}");
    }
}

// spec: U1, P1, P6
#[test]
fn a_worker_s_lines_fit_and_the_last_says_how_to_find_the_work() {
    let project = crate::work::pipeline::project(&[("T-1", "")]);
    let agent = project.outside("agent.sh").display().to_string();
    let call = project.ralph(["work", "--until-idle", "--agent", "text", "--agent-cmd", &agent]);
    let call = call.env("RALPH_PIPELINE_STAGES", "coder");
    let mut terminal = Terminal::start_with(call.command(), 50);
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.shown());
    let rows = terminal.rows();
    let wide: Vec<_> = rows.iter().filter(|row| !fits_terminal(row, 50)).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert_rows(
        &rows,
        &["T-1 coder  baseline  `test -e done-T-1` fails", "                     before the work: Command"],
    );
    assert!(rows.join(" ").contains("`ralph land T-1` verifies it again and merges it"), "{rows:#?}");
}

// spec: U1, A4
#[test]
fn a_terminal_that_does_not_know_its_size_gets_whole_lines() {
    let rows = rows(0);
    let whole = "  I changed the parser so that it reads whole lines, and the tests agree with that now.";
    assert!(rows.iter().any(|row| row == whole), "{rows:#?}");
}

/// Runs an agent of Claude's format that waits in its second iteration, and returns its terminal.
fn start_waiting_run(project: &Project, no_colour: &str) -> Terminal {
    let go = project.outside("go");
    let script = project.script(&format!(
        "init\ntool Bash make\nsay more\nresult more\n---\ninit\ntool Grep needle\nwait {}\nsay {{promise}}\nresult {{promise}}\n",
        go.display()
    ));
    let call = project.run_on("do it", &["script", &script]).args(["--output-format", "claude", "--fresh"]);
    let call = call.env("TERM", "xterm").env("NO_COLOR", no_colour);
    Terminal::start_with(call.command(), 120)
}

// spec: U1
#[test]
fn the_progress_line_shows_iteration_time_tokens_cost_and_the_last_tool() {
    let project = Project::new();
    let mut terminal = start_waiting_run(&project, "");
    crate::harness::wait_until("the progress line is complete", || {
        let shown = terminal.shown();
        let line = shown.rsplit('\r').find(|line| line.contains("iteration 2/10 ·")).unwrap_or_default();
        ["s ", "· 10 tokens out", "· $0.01", "· Grep"].iter().all(|part| line.contains(part))
    });
    std::fs::write(project.outside("go"), "").unwrap();
    assert_eq!(terminal.wait().code(), Some(0));
}

// spec: U1
#[test]
fn colours_are_off_where_no_color_is_set() {
    for (no_colour, is_coloured) in [("", true), ("1", false)] {
        let project = Project::new();
        std::fs::write(project.outside("go"), "").unwrap();
        let mut terminal = start_waiting_run(&project, no_colour);
        assert_eq!(terminal.wait().code(), Some(0));
        let shown = terminal.shown();
        // Codes that end in m are colours; those that clear a line are not.
        let coloured = shown.split("\u{1b}[").skip(1).any(|code| {
            code.split_once(|end: char| end.is_ascii_alphabetic()).is_some_and(|(number, rest)| {
                code.as_bytes().get(code.len() - rest.len() - 1) == Some(&b'm') && number.starts_with('1')
            })
        });
        assert_eq!(coloured, is_coloured, "{shown:?}");
    }
}
