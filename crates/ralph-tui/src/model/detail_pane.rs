//! The detail panel: one view of one task, run, workflow run or inbox item.
use ralph_app::board::{BoardCard, CardKind, RunGrid};
use ralph_app::inbox::InboxItem;

use super::board_input::DetailContent;

/// The subject of the detail panel and of orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The id of the task, else the full id of the run.
    pub id: String,
    /// The name for people.
    pub name: String,
    pub kind: CardKind,
    pub run: Option<String>,
    pub item: Option<Box<InboxItem>>,
    /// The selected iteration of the newest run; `None`: all of them.
    pub iteration: Option<u32>,
}

impl Subject {
    pub(crate) fn of_card(card: &BoardCard) -> Self {
        let (id, name, kind, run) = (card.id.clone(), card.name().to_owned(), card.kind, card.run.clone());
        Self { id, name, kind, run, item: None, iteration: None }
    }

    pub(crate) fn of_inbox_item(item: &InboxItem) -> Self {
        let kind = match (&item.task, &item.answer) {
            (Some(_), _) => CardKind::Task,
            (None, ralph_app::inbox::InboxAnswer::AnswerWorkflow { .. }) => CardKind::Workflow,
            (None, _) => CardKind::Run,
        };
        let id = item.task.clone().or_else(|| item.run.clone()).unwrap_or_else(|| item.id.clone());
        let (name, run, item) = (item.id.clone(), item.run.clone(), Some(Box::new(item.clone())));
        Self { id, name, kind, run, item, iteration: None }
    }

    /// Returns whether this view of both shows the same. Only a diff depends on the iteration.
    fn has_same_content(&self, other: &Self, view: DetailView) -> bool {
        self.id == other.id && (view != DetailView::Diff || self.iteration == other.iteration)
    }
}

/// A view of the detail panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailView {
    Summary,
    /// The text, commands or question of an inbox item.
    InboxText,
    Why,
    Diff,
    Receipt,
    Output,
    /// The graph of a workflow run.
    Graph,
}

impl DetailView {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Summary => "criteria",
            Self::InboxText => "what waits",
            Self::Why => "why",
            Self::Diff => "diff",
            Self::Receipt => "receipt",
            Self::Output => "output",
            Self::Graph => "graph",
        }
    }
}

/// The loaded content of the view.
#[derive(Debug, Clone, Default)]
pub(crate) enum LoadedDetail {
    #[default]
    Nothing,
    Loading,
    Grids(Vec<RunGrid>),
    Lines(Vec<String>),
    Failed(Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct DetailPane {
    pub subject: Option<Subject>,
    pub view: DetailView,
    pub loaded: LoadedDetail,
    /// The first line that is shown.
    pub scroll: usize,
    /// The text that is searched for.
    pub search: String,
}

impl Default for DetailPane {
    fn default() -> Self {
        Self {
            subject: None,
            view: DetailView::Summary,
            loaded: LoadedDetail::Nothing,
            scroll: 0,
            search: String::new(),
        }
    }
}

impl DetailPane {
    /// Shows a view of a subject. The loaded content stays if it is the same view of the same subject.
    pub(crate) fn open(&mut self, subject: Subject, view: DetailView) {
        let is_same =
            self.view == view && self.subject.as_ref().is_some_and(|now| now.has_same_content(&subject, view));
        if !is_same {
            self.loaded = LoadedDetail::Loading;
            self.scroll = 0;
            self.search.clear();
        }
        (self.subject, self.view) = (Some(subject), view);
    }

    /// Takes what was loaded, if it is still wanted.
    pub(crate) fn receive(&mut self, subject: &Subject, view: DetailView, content: Result<DetailContent, String>) {
        if self.view != view || self.subject.as_ref().is_none_or(|wanted| !wanted.has_same_content(subject, view)) {
            return;
        }
        self.loaded = match content {
            Ok(DetailContent::Grids(grids)) => LoadedDetail::Grids(grids),
            Ok(DetailContent::Text(text)) => LoadedDetail::Lines(text.lines().map(str::to_owned).collect()),
            Err(text) => LoadedDetail::Failed(text.lines().map(str::to_owned).collect()),
        };
    }

    /// Returns the number of the newest iteration in the loaded criteria.
    pub(crate) fn newest_iteration(&self) -> u32 {
        let LoadedDetail::Grids(grids) = &self.loaded else { return 0 };
        let newest = grids.first().and_then(|grid| grid.iterations.last());
        newest.and_then(|iteration| u32::try_from(iteration.number).ok()).unwrap_or(0)
    }

    /// Moves to the next line that contains the searched text, around the end.
    pub(crate) fn find_next(&mut self, is_forward: bool) {
        let LoadedDetail::Lines(lines) = &self.loaded else { return };
        let wanted = self.search.to_lowercase();
        if wanted.is_empty() {
            return;
        }
        let hits: Vec<usize> = (0..lines.len())
            .filter(|at| lines.get(*at).is_some_and(|line| line.to_lowercase().contains(&wanted)))
            .collect();
        let next = match is_forward {
            true => hits.iter().find(|at| **at > self.scroll).or(hits.first()),
            false => hits.iter().rfind(|at| **at < self.scroll).or(hits.last()),
        };
        self.scroll = next.copied().unwrap_or(self.scroll);
    }

    /// How many lines contain the searched text.
    pub(crate) fn hit_count(&self) -> usize {
        let LoadedDetail::Lines(lines) = &self.loaded else { return 0 };
        let wanted = self.search.to_lowercase();
        lines.iter().filter(|line| line.to_lowercase().contains(&wanted)).count()
    }
}
