//! The actions that the board asks for.
use ralph_app::board::CardScope;
use ralph_app::inbox::InboxItem;
use ralph_core::limit_change::LimitChanges;

use super::detail_pane::{DetailView, Subject};

/// One thing to do outside of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoardAction {
    Quit,
    /// Stop this process, as Ctrl-Z does.
    Suspend,
    /// Draw everything again.
    Redraw,
    /// Read the project now.
    Reload,
    /// From now on, read these cards.
    SetScope(CardScope),
    Load {
        subject: Subject,
        view: DetailView,
    },
    /// Follow the output of a task or run.
    FollowOutput(Subject),
    StopOutput,
    /// Open the log in the pager of the user.
    OpenPager(Subject),
    RunUserCommand {
        key: String,
        subject: Subject,
    },
    Order(BoardOrder),
    /// Something new waits for the person.
    Notify(String),
}

/// Something that changes a task, a run or a workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoardOrder {
    pub subject: Subject,
    pub kind: OrderKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OrderKind {
    Guide {
        words: String,
    },
    Pause,
    Resume,
    Cancel,
    Retry,
    Rewind {
        iteration: u32,
    },
    ChangeLimits(LimitChanges),
    /// Approve what the detail panel has shown of this item.
    Approve(Box<InboxItem>),
    Accept {
        because: Option<String>,
    },
    Reject {
        because: Option<String>,
    },
    AnswerWorkflow {
        node: String,
        decision: String,
        text: String,
    },
}
