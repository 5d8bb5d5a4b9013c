//! The commands of keys and of the palette.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoardCommand {
    MoveDown,
    MoveUp,
    PageDown,
    PageUp,
    MoveToStart,
    MoveToEnd,
    NextPanel,
    PreviousPanel,
    FocusPanel(usize),
    Open,
    Back,
    ToggleZoom,
    ShowHelp,
    ShowPalette,
    Search,
    NextHit,
    PreviousHit,
    NextSortColumn,
    ReverseSort,
    Reload,
    Redraw,
    Suspend,
    Quit,
    ViewSummary,
    ViewWhy,
    ViewDiff,
    ViewReceipt,
    ViewOutput,
    ViewGraph,
    OpenPager,
    ToggleFollow,
    ToggleFold,
    ToggleAllFolds,
    NextKindFilter,
    NextRoleFilter,
    NextIteration,
    PreviousIteration,
    Guide,
    Pause,
    Resume,
    Cancel,
    Retry,
    Rewind,
    AddIterations,
    RemoveIterations,
    RaiseCost,
    Approve,
    Reject,
    Answer,
}

/// Where a command is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandPlace {
    Everywhere,
    /// In the panels that list cards and items.
    Lists,
    /// Where a task, run or workflow run is selected or open.
    Subject,
    /// Where a loop of the subject is running.
    LiveLoop,
    /// Where something of the inbox is selected or open.
    InboxItem,
    /// In texts and in the output.
    Text,
    /// In the output only.
    Output,
    /// In the views of the detail panel that can show one iteration.
    Iterations,
    /// Where the subject is a workflow run.
    Workflow,
    /// Where the subject is a task.
    Task,
}
