//! The output of agents, folded by tool call, in a buffer of bounded size. The log on disk has all of it.
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many lines are kept; older ones are in the log only.
const MAX_LINES: usize = 20_000;
/// Longer lines are cut.
const MAX_LINE_CHARACTERS: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// The beginning of a run or an iteration, a claim or a verdict.
    Event,
    /// The words of the agent.
    Words,
    /// A tool call with its result.
    Tool,
    /// The thoughts of the agent.
    Thinking,
}

/// A piece of output: a title, and lines that can be folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputBlock {
    /// From 0, over everything that was ever printed.
    pub number: u64,
    pub kind: BlockKind,
    pub iteration: u32,
    /// The role of the run.
    pub role: Arc<str>,
    pub title: String,
    pub body: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    blocks: VecDeque<OutputBlock>,
    next_number: u64,
    kept_lines: usize,
    /// All lines so far, with those that are not kept any more.
    pub total_lines: u64,
    pub iteration: u32,
    role: Arc<str>,
    /// The roles so far.
    roles: Vec<Arc<str>>,
    /// Why following ended.
    pub end: Option<String>,
}

impl OutputBuffer {
    pub(crate) fn push(&mut self, kind: BlockKind, title: &str) {
        let block = OutputBlock {
            number: self.next_number,
            kind,
            iteration: self.iteration,
            role: Arc::clone(&self.role),
            title: cut_line(title),
            body: Vec::new(),
        };
        self.next_number += 1;
        self.blocks.push_back(block);
        self.count_lines(1);
    }

    /// The output of a run with this role follows.
    pub(crate) fn begin_run(&mut self, role: &str) {
        let known = self.roles.iter().find(|known| &***known == role).cloned();
        self.role = known.unwrap_or_else(|| {
            let role: Arc<str> = role.into();
            self.roles.push(Arc::clone(&role));
            role
        });
        self.iteration = 0;
    }

    /// Adds lines to the last block.
    pub(crate) fn add_lines<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        let Some(last) = self.blocks.back_mut() else { return };
        let before = last.body.len();
        last.body.extend(lines.map(cut_line));
        let added = last.body.len() - before;
        self.count_lines(added);
    }

    /// Continues the last line of the last block.
    pub(crate) fn continue_text(&mut self, text: &str) {
        let mut lines = text.split('\n');
        let first = lines.next().unwrap_or_default();
        if let Some(last) = self.blocks.back_mut() {
            let line = last.body.last_mut().unwrap_or(&mut last.title);
            let room = MAX_LINE_CHARACTERS.saturating_sub(line.chars().count());
            line.extend(first.chars().take(room));
        }
        self.add_lines(lines);
    }

    pub(crate) fn last_kind(&self) -> Option<BlockKind> {
        self.blocks.back().map(|block| block.kind)
    }

    pub(crate) fn blocks(&self) -> impl DoubleEndedIterator<Item = &OutputBlock> {
        self.blocks.iter()
    }

    /// Returns the block at this position among those that are kept.
    pub(crate) fn block_at(&self, position: usize) -> Option<&OutputBlock> {
        self.blocks.get(position)
    }

    fn count_lines(&mut self, added: usize) {
        self.kept_lines += added;
        self.total_lines += added as u64;
        while self.kept_lines > MAX_LINES && self.blocks.len() > 1 {
            if let Some(oldest) = self.blocks.pop_front() {
                self.kept_lines -= oldest.body.len() + 1;
            }
        }
        // One block larger than the buffer loses its oldest lines.
        if let Some(only) = self.blocks.front_mut().filter(|only| only.body.len() >= MAX_LINES) {
            let excess = only.body.len() + 1 - MAX_LINES;
            only.body.drain(..excess);
            self.kept_lines -= excess;
        }
    }
}

fn cut_line(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// A buffer that the thread which follows a run fills.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedOutput(Arc<Mutex<OutputBuffer>>);

impl SharedOutput {
    pub(crate) fn lock(&self) -> MutexGuard<'_, OutputBuffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which blocks are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum KindFilter {
    #[default]
    Everything,
    Words,
    Tools,
}

impl KindFilter {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Everything => Self::Words,
            Self::Words => Self::Tools,
            Self::Tools => Self::Everything,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Words => "words",
            Self::Tools => "tools",
        }
    }

    fn shows(self, kind: BlockKind) -> bool {
        match (self, kind) {
            (Self::Everything, _) | (_, BlockKind::Event) => true,
            (Self::Words, BlockKind::Words) | (Self::Tools, BlockKind::Tool) => true,
            (Self::Words | Self::Tools, BlockKind::Words | BlockKind::Tool | BlockKind::Thinking) => false,
        }
    }
}

/// A line of the output view: the title of a block, or a line of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineAnchor {
    pub block: u64,
    /// 0 is the title.
    pub line: usize,
}

/// How the output is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputPane {
    pub buffer: SharedOutput,
    /// `None`: the end is followed.
    pub top: Option<LineAnchor>,
    /// The lines so far when following was switched off.
    pub lines_at_top: u64,
    /// Blocks whose folding differs from the default of their kind.
    pub toggled: BTreeSet<u64>,
    pub kinds: KindFilter,
    /// Only this iteration.
    pub iteration: Option<u32>,
    /// Only this role.
    pub role: Option<Arc<str>>,
    pub search: String,
}

impl OutputPane {
    pub(crate) fn is_following(&self) -> bool {
        self.top.is_none()
    }

    pub(crate) fn follow_again(&mut self) {
        self.top = None;
    }

    pub(crate) fn is_open(&self, block: &OutputBlock) -> bool {
        let is_open_at_first = matches!(block.kind, BlockKind::Words | BlockKind::Event);
        is_open_at_first != self.toggled.contains(&block.number)
    }

    fn is_shown(&self, block: &OutputBlock) -> bool {
        self.kinds.shows(block.kind)
            && self.iteration.is_none_or(|only| only == block.iteration)
            && self.role.as_ref().is_none_or(|only| *only == block.role)
    }

    /// Returns the lines that can be shown, in order.
    pub(crate) fn lines(&self, buffer: &OutputBuffer) -> Vec<LineAnchor> {
        let shown = buffer.blocks().filter(|block| self.is_shown(block));
        let lines = shown.flat_map(|block| {
            let count = if self.is_open(block) { block.body.len() } else { 0 };
            (0..=count).map(|line| LineAnchor { block: block.number, line })
        });
        lines.collect()
    }

    /// Returns the position of the first line that is shown in a view of this height.
    pub(crate) fn first_line(&self, lines: &[LineAnchor], height: usize) -> usize {
        let last = lines.len().saturating_sub(height);
        match self.top {
            None => last,
            Some(top) => lines.partition_point(|line| *line < top).min(last),
        }
    }

    /// Scrolls, which ends following. Scrolling down to the end follows again.
    pub(crate) fn scroll(&mut self, by: i64, height: usize) {
        let (lines, total) = {
            let buffer = self.buffer.lock();
            (self.lines(&buffer), buffer.total_lines)
        };
        let first = i64::try_from(self.first_line(&lines, height)).unwrap_or(0);
        let last = i64::try_from(lines.len().saturating_sub(height)).unwrap_or(0);
        let wanted = (first + by).clamp(0, last);
        if wanted == last && by > 0 {
            return self.follow_again();
        }
        if self.is_following() {
            self.lines_at_top = total;
        }
        self.top = usize::try_from(wanted).ok().and_then(|at| lines.get(at).copied());
    }

    /// Returns how many lines have come since following was switched off.
    pub(crate) fn new_lines(&self) -> u64 {
        if self.is_following() { 0 } else { self.buffer.lock().total_lines - self.lines_at_top }
    }

    /// Folds or unfolds the block at the top, or the newest tool call while the end is followed.
    pub(crate) fn toggle_block(&mut self) {
        let number = {
            let buffer = self.buffer.lock();
            let newest = || buffer.blocks().rev().find(|block| block.kind == BlockKind::Tool).map(|block| block.number);
            self.top.map(|top| top.block).or_else(newest)
        };
        if let Some(number) = number
            && !self.toggled.remove(&number)
        {
            self.toggled.insert(number);
        }
    }

    /// Unfolds all tool calls, or folds them again.
    pub(crate) fn toggle_all(&mut self) {
        if !self.toggled.is_empty() {
            self.toggled.clear();
            return;
        }
        let buffer = self.buffer.lock();
        let foldable = buffer.blocks().filter(|block| matches!(block.kind, BlockKind::Tool | BlockKind::Thinking));
        self.toggled = foldable.map(|block| block.number).collect();
    }

    /// Shows only the iteration `step` after the shown one; past the ends, all of them.
    pub(crate) fn change_iteration(&mut self, step: i64) {
        let newest = self.buffer.lock().blocks().map(|block| block.iteration).max().unwrap_or(0);
        let now = i64::from(self.iteration.unwrap_or(if step < 0 { newest + 1 } else { 0 }));
        let wanted = u32::try_from(now + step).unwrap_or(0);
        self.iteration = (1..=newest).contains(&wanted).then_some(wanted);
        self.top = None;
    }

    /// Shows only the next role of the task; after the last one, all of them.
    pub(crate) fn show_next_role(&mut self) {
        let buffer = self.buffer.lock();
        let next = match &self.role {
            None => 0,
            Some(shown) => buffer.roles.iter().position(|role| role == shown).map_or(0, |at| at + 1),
        };
        let role = buffer.roles.get(next).cloned();
        drop(buffer);
        self.role = role;
        self.top = None;
    }

    /// Goes to the next block that contains the searched text, around the end, and unfolds it.
    pub(crate) fn find_next(&mut self, is_forward: bool) {
        let hits = self.hits();
        let now = self.top.map(|top| top.block);
        let next = match (is_forward, now) {
            (true, Some(now)) => hits.iter().find(|hit| **hit > now).or(hits.first()),
            (true, None) => hits.first(),
            (false, Some(now)) => hits.iter().rfind(|hit| **hit < now).or(hits.last()),
            (false, None) => hits.last(),
        };
        let Some(hit) = next.copied() else { return };
        let (is_closed, total) = {
            let buffer = self.buffer.lock();
            (buffer.blocks().any(|block| block.number == hit && !self.is_open(block)), buffer.total_lines)
        };
        if is_closed {
            self.toggled.insert(hit);
        }
        if self.is_following() {
            self.lines_at_top = total;
        }
        self.top = Some(LineAnchor { block: hit, line: 0 });
    }

    /// Returns the blocks that contain the searched text.
    pub(crate) fn hits(&self) -> Vec<u64> {
        let wanted = self.search.to_lowercase();
        if wanted.is_empty() {
            return Vec::new();
        }
        let contains = |line: &String| line.to_lowercase().contains(&wanted);
        let buffer = self.buffer.lock();
        let shown = buffer.blocks().filter(|block| self.is_shown(block));
        shown
            .filter(|block| contains(&block.title) || block.body.iter().any(contains))
            .map(|block| block.number)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane_with_lines(count: usize) -> OutputPane {
        let pane = OutputPane::default();
        (0..count).for_each(|at| pane.buffer.lock().push(BlockKind::Words, &format!("line {at}")));
        pane
    }

    // spec: U4
    #[test]
    fn scrolling_up_ends_following_and_counts_the_new_lines() {
        let mut pane = pane_with_lines(100);
        pane.scroll(-5, 10);
        (0..812).for_each(|at| pane.buffer.lock().push(BlockKind::Words, &format!("new {at}")));
        assert_eq!((pane.is_following(), pane.new_lines()), (false, 812));
        let lines = pane.lines(&pane.buffer.lock());
        assert_eq!(pane.first_line(&lines, 10), 85);
        pane.scroll(10_000, 10);
        assert_eq!((pane.is_following(), pane.new_lines()), (true, 0));
    }

    // spec: U4
    #[test]
    fn memory_stays_bounded_and_the_shown_line_stays_while_old_lines_leave() {
        let mut pane = pane_with_lines(MAX_LINES);
        pane.scroll(-50, 10);
        let top = pane.top;
        (0..100).for_each(|_| pane.buffer.lock().push(BlockKind::Tool, "Bash"));
        assert_eq!(pane.buffer.lock().blocks().count(), MAX_LINES);
        let lines = pane.lines(&pane.buffer.lock());
        assert_eq!(lines.get(pane.first_line(&lines, 10)).copied(), top);
        pane.buffer.lock().add_lines(std::iter::repeat_n("x", 3 * MAX_LINES));
        assert_eq!(pane.buffer.lock().kept_lines, MAX_LINES);
    }

    // spec: U4
    #[test]
    fn tool_results_are_folded_until_they_are_opened_or_found() {
        let mut pane = OutputPane::default();
        pane.buffer.lock().push(BlockKind::Words, "I run the tests");
        pane.buffer.lock().push(BlockKind::Tool, "Bash cargo test");
        pane.buffer.lock().add_lines(["ok", "2 failed"].into_iter());
        assert_eq!(pane.lines(&pane.buffer.lock()).len(), 2);
        pane.search = "failed".to_owned();
        pane.find_next(true);
        assert_eq!(pane.top, Some(LineAnchor { block: 1, line: 0 }));
        assert_eq!(pane.lines(&pane.buffer.lock()).len(), 4);
        pane.toggle_block();
        assert_eq!(pane.lines(&pane.buffer.lock()).len(), 2);
    }

    // spec: U4
    #[test]
    fn output_is_filtered_by_kind_and_iteration() {
        let mut pane = OutputPane::default();
        for iteration in 1..=2 {
            let mut buffer = pane.buffer.lock();
            buffer.iteration = iteration;
            buffer.push(BlockKind::Event, "iteration");
            buffer.push(BlockKind::Words, "words");
            buffer.push(BlockKind::Tool, "tool");
        }
        pane.kinds = KindFilter::Words;
        assert_eq!(pane.lines(&pane.buffer.lock()).len(), 4);
        pane.change_iteration(1);
        assert_eq!((pane.iteration, pane.lines(&pane.buffer.lock()).len()), (Some(1), 2));
        pane.change_iteration(-1);
        assert_eq!(pane.iteration, None);
    }

    // spec: U4
    #[test]
    fn output_is_filtered_by_role_and_iteration_together() {
        let mut pane = OutputPane::default();
        for role in ["coder", "reviewer", "coder"] {
            let mut buffer = pane.buffer.lock();
            buffer.begin_run(role);
            for iteration in 1..=2 {
                buffer.iteration = iteration;
                buffer.push(BlockKind::Words, role);
            }
        }
        let mut shown = Vec::new();
        for _ in 0..3 {
            pane.show_next_role();
            shown.push((pane.role.clone().map(|role| role.to_string()), pane.lines(&pane.buffer.lock()).len()));
        }
        assert_eq!(shown, [(Some("coder".to_owned()), 4), (Some("reviewer".to_owned()), 2), (None, 6)]);
        pane.show_next_role();
        pane.change_iteration(-1);
        assert_eq!((pane.iteration, pane.lines(&pane.buffer.lock()).len()), (Some(2), 2));
    }

    // spec: S8
    #[test]
    fn text_in_pieces_becomes_whole_lines_and_long_lines_are_cut() {
        let pane = OutputPane::default();
        let mut buffer = pane.buffer.lock();
        buffer.push(BlockKind::Words, "Hel");
        buffer.continue_text("lo\nwor");
        buffer.continue_text("ld");
        buffer.continue_text(&"x".repeat(5_000));
        let block = buffer.blocks().next().unwrap();
        assert_eq!(block.title, "Hello");
        assert_eq!(block.body.first().map(|line| line.chars().count()), Some(MAX_LINE_CHARACTERS));
    }
}
