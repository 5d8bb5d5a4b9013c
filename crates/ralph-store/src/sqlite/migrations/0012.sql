-- Executions of workflows: their nodes, their journal, and the answers of people to their questions.
CREATE TABLE workflow_runs (
    id          TEXT NOT NULL PRIMARY KEY,
    workflow    TEXT NOT NULL,
    status      TEXT NOT NULL,
    reason      TEXT,
    exit_code   BIGINT,
    message     TEXT NOT NULL,
    spec        TEXT NOT NULL,
    spec_sum    BIGINT NOT NULL,
    step_index  BIGINT NOT NULL DEFAULT 0,
    metadata    TEXT NOT NULL DEFAULT '{}',
    started_at  BIGINT NOT NULL,
    ended_at    BIGINT,
    events      BIGINT NOT NULL,
    fence       BIGINT NOT NULL,
    owner       TEXT,
    parent      TEXT,
    parent_node TEXT,
    rerun_of    TEXT
);

CREATE TABLE workflow_nodes (
    run        TEXT NOT NULL,
    node       TEXT NOT NULL,
    generation BIGINT NOT NULL,
    item       BIGINT NOT NULL,
    status     TEXT NOT NULL,
    state      TEXT NOT NULL,
    sum        BIGINT NOT NULL,
    started_at BIGINT,
    ended_at   BIGINT,
    PRIMARY KEY (run, node, generation, item)
);

CREATE TABLE workflow_events (
    run  TEXT NOT NULL,
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    body TEXT NOT NULL,
    sum  BIGINT NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE workflow_answers (
    run      TEXT NOT NULL,
    question TEXT NOT NULL,
    decision TEXT NOT NULL,
    words    TEXT,
    person   TEXT NOT NULL,
    at       BIGINT NOT NULL,
    taken_at BIGINT,
    PRIMARY KEY (run, question)
);

-- The workflow run that a run is a pass of.
ALTER TABLE runs ADD COLUMN workflow TEXT;

CREATE INDEX runs_by_workflow ON runs (workflow, started_at) WHERE workflow IS NOT NULL;
CREATE INDEX workflow_runs_by_start ON workflow_runs (started_at);
CREATE INDEX workflow_runs_going_on ON workflow_runs (started_at) WHERE status IN ('running', 'waiting');
CREATE INDEX workflow_runs_by_parent ON workflow_runs (parent) WHERE parent IS NOT NULL;
