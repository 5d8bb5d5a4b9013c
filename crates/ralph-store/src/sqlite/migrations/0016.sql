-- Notifications: what happened, for which targets it was stored, and what became of each message.
CREATE TABLE notifications (
    -- Names what happened: the same event is stored once, whichever process sees it.
    id          TEXT NOT NULL PRIMARY KEY,
    at          BIGINT NOT NULL,
    happened_at BIGINT NOT NULL,
    -- The message, as JSON.
    body        TEXT NOT NULL
);

CREATE TABLE notification_deliveries (
    notification  TEXT NOT NULL,
    target        TEXT NOT NULL,
    -- open, sent or lost.
    state         TEXT NOT NULL,
    failures      BIGINT NOT NULL DEFAULT 0,
    retry_at      BIGINT,
    -- Until when a process may be sending it.
    claimed_until BIGINT,
    error         TEXT,
    PRIMARY KEY (notification, target)
);

-- Since when a target is configured: it gets nothing that happened before.
CREATE TABLE notification_targets (
    name  TEXT NOT NULL PRIMARY KEY,
    since BIGINT NOT NULL
);

CREATE INDEX notification_deliveries_open ON notification_deliveries (target, notification) WHERE state = 'open';
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workflow_runs_by_end ON workflow_runs (ended_at) WHERE ended_at IS NOT NULL;
