-- The newest schema, for a database that is created now. A test compares it with the result of all migrations.
CREATE TABLE runs (
    id             TEXT NOT NULL PRIMARY KEY,
    kind           TEXT NOT NULL,
    status         TEXT NOT NULL,
    reason         TEXT,
    exit_code      BIGINT,
    agent          TEXT NOT NULL,
    promise        TEXT NOT NULL,
    max_iterations BIGINT NOT NULL,
    iterations     BIGINT NOT NULL DEFAULT 0,
    started_at     BIGINT NOT NULL,
    ended_at       BIGINT,
    input_tokens   BIGINT,
    output_tokens  BIGINT,
    cost_micros    BIGINT,
    settings       TEXT NOT NULL,
    loop           TEXT NOT NULL,
    fence          BIGINT NOT NULL DEFAULT 0,
    owner          TEXT,
    sum            BIGINT,
    settings_sum   BIGINT,
    facts          BIGINT,
    loop_sum       BIGINT,
    task           TEXT,
    role           TEXT,
    worked_ms      BIGINT,
    rejected       BIGINT NOT NULL DEFAULT 0,
    unpriced       BIGINT NOT NULL DEFAULT 0,
    judges_micros  BIGINT,
    agent_now      TEXT,
    proof          TEXT,
    accepted_by    TEXT,
    max_iterations_now BIGINT,
    workflow       TEXT
);

CREATE TABLE iterations (
    run           TEXT NOT NULL,
    number        BIGINT NOT NULL,
    status        TEXT NOT NULL,
    started_at    BIGINT NOT NULL,
    duration_ms   BIGINT,
    attempts      BIGINT NOT NULL DEFAULT 0,
    claimed       BIGINT,
    claim_why     TEXT,
    verdict       TEXT,
    verdict_why   TEXT,
    input_tokens  BIGINT,
    output_tokens BIGINT,
    cost_micros   BIGINT,
    PRIMARY KEY (run, number)
);

CREATE TABLE attempts (
    run        TEXT NOT NULL,
    iteration  BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    status     TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT,
    failure    TEXT,
    session    TEXT,
    model      TEXT,
    killed     BIGINT NOT NULL DEFAULT 0,
    leaked     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (run, iteration, number)
);

CREATE TABLE verdicts (
    run         TEXT NOT NULL,
    iteration   BIGINT NOT NULL,
    position    BIGINT NOT NULL,
    command     TEXT NOT NULL,
    verdict     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    exit_code   BIGINT,
    duration_ms BIGINT NOT NULL,
    log         TEXT NOT NULL,
    place       TEXT,
    method      TEXT NOT NULL DEFAULT 'external',
    name        TEXT,
    required    BIGINT NOT NULL DEFAULT 1,
    tries       BIGINT NOT NULL DEFAULT 1,
    cached      BIGINT NOT NULL DEFAULT 0,
    digest      TEXT,
    judgement   TEXT,
    PRIMARY KEY (run, iteration, position)
);

CREATE TABLE events (
    run  TEXT NOT NULL,
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    sum  BIGINT,
    PRIMARY KEY (run, seq)
);

CREATE TABLE identity (
    id TEXT NOT NULL
);

CREATE TABLE specs (
    id         TEXT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL
);

CREATE TABLE tasks (
    id              TEXT NOT NULL PRIMARY KEY,
    seq             BIGINT NOT NULL,
    spec            TEXT,
    title           TEXT NOT NULL,
    description     TEXT,
    status          TEXT NOT NULL,
    priority        BIGINT,
    dependencies    TEXT,
    assignee        TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    metadata        TEXT NOT NULL DEFAULT '{}',
    completion_spec TEXT,
    unapproved      BIGINT NOT NULL DEFAULT 0,
    pipeline        TEXT,
    owner           TEXT,
    fence           BIGINT NOT NULL DEFAULT 0,
    lease_until     BIGINT,
    base_commit     TEXT,
    seal            TEXT,
    accepted_commit TEXT,
    proof           TEXT,
    spec_file       TEXT
);

CREATE TABLE receipts (
    run      TEXT NOT NULL PRIMARY KEY,
    at       BIGINT NOT NULL,
    verified BIGINT NOT NULL,
    sha256   TEXT NOT NULL,
    body     TEXT NOT NULL
);

CREATE TABLE orders (
    id       TEXT NOT NULL PRIMARY KEY,
    run      TEXT,
    task     TEXT,
    kind     TEXT NOT NULL,
    body     TEXT,
    at       BIGINT NOT NULL,
    taken_at BIGINT,
    answer   TEXT
);

CREATE TABLE guidance (
    id    TEXT NOT NULL PRIMARY KEY,
    run   TEXT,
    task  TEXT,
    words TEXT NOT NULL,
    at    BIGINT NOT NULL
);

CREATE TABLE shares (
    run            TEXT NOT NULL,
    agent          TEXT NOT NULL,
    model          TEXT NOT NULL,
    started_at     BIGINT NOT NULL,
    status         TEXT NOT NULL,
    exit_code      BIGINT,
    iterations     BIGINT NOT NULL,
    last_iteration BIGINT NOT NULL,
    worked_ms      BIGINT NOT NULL,
    rejected       BIGINT NOT NULL DEFAULT 0,
    unpriced       BIGINT NOT NULL,
    input_tokens   BIGINT,
    output_tokens  BIGINT,
    cost_micros    BIGINT,
    PRIMARY KEY (run, agent, model)
) WITHOUT ROWID;

CREATE TABLE workflow_runs (
    id          TEXT NOT NULL PRIMARY KEY,
    workflow    TEXT NOT NULL,
    status      TEXT NOT NULL,
    reason      TEXT,
    exit_code   BIGINT,
    message     TEXT NOT NULL,
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

CREATE TABLE workflow_specs (
    run  TEXT NOT NULL PRIMARY KEY,
    spec TEXT NOT NULL,
    sum  BIGINT NOT NULL
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

CREATE TABLE conversation_messages (
    conversation TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    -- Who wrote it; NULL: ralph.
    author       TEXT,
    words        TEXT NOT NULL,
    run          TEXT,
    is_critical  BIGINT NOT NULL DEFAULT 0,
    -- waiting, sent or lost; NULL: nothing is sent, readers fetch it.
    delivery     TEXT,
    PRIMARY KEY (conversation, seq)
);

CREATE TABLE conversation_runs (
    run          TEXT NOT NULL PRIMARY KEY,
    conversation TEXT NOT NULL,
    -- The events of its journal that the conversation has got.
    shown_events BIGINT NOT NULL DEFAULT 0,
    at           BIGINT NOT NULL
);

-- The requests of platforms that were accepted: a platform repeats those that are answered late.
CREATE TABLE platform_events (
    platform TEXT NOT NULL,
    event    TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (platform, event)
);

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

CREATE INDEX runs_by_start ON runs (started_at);
CREATE INDEX runs_by_task ON runs (task, started_at) WHERE task IS NOT NULL;
CREATE INDEX orders_waiting ON orders (task, run) WHERE taken_at IS NULL;
CREATE INDEX tasks_taken ON tasks (id) WHERE owner IS NOT NULL;
CREATE INDEX tasks_by_status ON tasks (status, priority, seq);
CREATE INDEX runs_going_on ON runs (started_at) WHERE status = 'running';
CREATE INDEX tasks_by_spec ON tasks (spec, id) WHERE spec IS NOT NULL;
CREATE INDEX tasks_by_change ON tasks (updated_at);
CREATE INDEX runs_added_up ON runs (started_at, role, task, status, exit_code, iterations, worked_ms, rejected, unpriced,
    cost_micros, judges_micros, input_tokens, output_tokens);

CREATE INDEX runs_by_workflow ON runs (workflow, started_at) WHERE workflow IS NOT NULL;
CREATE INDEX workflow_runs_by_start ON workflow_runs (started_at);
CREATE INDEX workflow_runs_going_on ON workflow_runs (started_at) WHERE status IN ('running', 'waiting');
CREATE INDEX workflow_runs_by_parent ON workflow_runs (parent) WHERE parent IS NOT NULL;

CREATE INDEX conversation_messages_waiting ON conversation_messages (conversation, seq) WHERE delivery = 'waiting';
CREATE INDEX conversation_runs_by_conversation ON conversation_runs (conversation, at);

CREATE INDEX notification_deliveries_open ON notification_deliveries (target, notification) WHERE state = 'open';
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workflow_runs_by_end ON workflow_runs (ended_at) WHERE ended_at IS NOT NULL;

INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))));
