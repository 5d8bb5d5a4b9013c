-- Where tasks come from. A spec is known as soon as a task names it.
CREATE TABLE specs (
    id         TEXT   NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL
);

-- Tasks as people wrote them: what nobody wrote is NULL. Lists, metadata and the completion spec are JSON.
CREATE TABLE tasks (
    id              TEXT   NOT NULL PRIMARY KEY,
    seq             BIGINT NOT NULL,
    spec            TEXT,
    title           TEXT   NOT NULL,
    description     TEXT,
    status          TEXT   NOT NULL,
    priority        BIGINT,
    dependencies    TEXT,
    assignee        TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    metadata        TEXT   NOT NULL DEFAULT '{}',
    completion_spec TEXT
);

-- The task and the role that a run is a stage of.
ALTER TABLE runs ADD COLUMN task TEXT;
ALTER TABLE runs ADD COLUMN role TEXT;
CREATE INDEX runs_by_task ON runs (task, started_at) WHERE task IS NOT NULL;
