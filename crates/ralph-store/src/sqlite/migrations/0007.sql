-- The work on a task, over all of its stages. How far it is, as JSON; NULL: `ralph work` has never taken it.
ALTER TABLE tasks ADD COLUMN pipeline TEXT;
-- Who works on it, as JSON: pid, host, boot, start, run, since; NULL: nobody. Whoever takes it raises its fence.
ALTER TABLE tasks ADD COLUMN owner TEXT;
ALTER TABLE tasks ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
-- When it may be taken from him, in milliseconds since the machine was started.
ALTER TABLE tasks ADD COLUMN lease_until BIGINT;

-- What somebody asks of a run or of the work on a task from another process. Whoever drives it takes it once.
CREATE TABLE orders (
    id       TEXT   NOT NULL PRIMARY KEY,
    run      TEXT,
    task     TEXT,
    kind     TEXT   NOT NULL,
    body     TEXT,
    at       BIGINT NOT NULL,
    taken_at BIGINT,
    answer   TEXT
);
CREATE INDEX orders_waiting ON orders (task, run) WHERE taken_at IS NULL;
CREATE INDEX tasks_taken ON tasks (id) WHERE owner IS NOT NULL;
CREATE INDEX tasks_by_status ON tasks (status, priority, seq);
CREATE INDEX runs_going_on ON runs (started_at) WHERE status = 'running';
