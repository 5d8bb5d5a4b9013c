//! The pages of the guide, which are part of the program.

/// A page of the guide.
pub struct Topic {
    pub name: &'static str,
    /// The page in Markdown.
    pub text: &'static str,
}

impl Topic {
    /// Returns the heading of the page.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }
}

const fn topic(name: &'static str, text: &'static str) -> Topic {
    Topic { name, text }
}

/// All pages, in the order in which a new user reads them.
pub const TOPICS: &[Topic] = &[
    topic("tutorial", include_str!("../../../../../docs/guide/tutorial.md")),
    topic("overnight", include_str!("../../../../../docs/guide/overnight.md")),
    topic("workflow-tutorial", include_str!("../../../../../docs/guide/workflow-tutorial.md")),
    topic("run", include_str!("../../../../../docs/guide/run.md")),
    topic("work", include_str!("../../../../../docs/guide/work.md")),
    topic("tasks", include_str!("../../../../../docs/guide/tasks.md")),
    topic("workflows", include_str!("../../../../../docs/guide/workflows.md")),
    topic("workflow-runs", include_str!("../../../../../docs/guide/workflow-runs.md")),
    topic("conversations", include_str!("../../../../../docs/guide/conversations.md")),
    topic("archon", include_str!("../../../../../docs/guide/archon.md")),
    topic("control", include_str!("../../../../../docs/guide/control.md")),
    topic("server", include_str!("../../../../../docs/guide/server.md")),
    topic("decide", include_str!("../../../../../docs/guide/decide.md")),
    topic("board", include_str!("../../../../../docs/guide/board.md")),
    topic("why", include_str!("../../../../../docs/guide/why.md")),
    topic("notifications", include_str!("../../../../../docs/guide/notifications.md")),
    topic("report", include_str!("../../../../../docs/guide/report.md")),
    topic("dashboard", include_str!("../../../../../docs/guide/dashboard.md")),
    topic("ci", include_str!("../../../../../docs/guide/ci.md")),
    topic("resume", include_str!("../../../../../docs/guide/resume.md")),
    topic("background", include_str!("../../../../../docs/guide/background.md")),
    topic("verification", include_str!("../../../../../docs/guide/verification.md")),
    topic("seal", include_str!("../../../../../docs/guide/seal.md")),
    topic("receipts", include_str!("../../../../../docs/guide/receipts.md")),
    topic("protected-tests", include_str!("../../../../../docs/guide/protected-tests.md")),
    topic("cheating", include_str!("../../../../../docs/guide/cheating.md")),
    topic("claims", include_str!("../../../../../docs/guide/claims.md")),
    topic("agents", include_str!("../../../../../docs/guide/agents.md")),
    topic("install", include_str!("../../../../../docs/guide/install.md")),
    topic("session", include_str!("../../../../../docs/guide/session.md")),
    topic("mcp", include_str!("../../../../../docs/guide/mcp.md")),
    topic("budgets", include_str!("../../../../../docs/guide/budgets.md")),
    topic("limits", include_str!("../../../../../docs/guide/limits.md")),
    topic("stalls", include_str!("../../../../../docs/guide/stalls.md")),
    topic("trees", include_str!("../../../../../docs/guide/trees.md")),
    topic("secrets", include_str!("../../../../../docs/guide/secrets.md")),
    topic("config", include_str!("../../../../../docs/guide/config.md")),
    topic("classic", include_str!("../../../../../docs/guide/classic.md")),
    topic("state", include_str!("../../../../../docs/guide/state.md")),
    topic("stats", include_str!("../../../../../docs/guide/stats.md")),
    topic("json", include_str!("../../../../../docs/guide/json.md")),
    topic("api", include_str!("../../../../../docs/guide/api.md")),
];

/// Returns the topic with this name.
pub fn find_topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}
