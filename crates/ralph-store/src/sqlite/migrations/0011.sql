-- Guidance that is part of every prompt of a run, or of all runs of a task, until it is cleared.
CREATE TABLE guidance (
    id    TEXT NOT NULL PRIMARY KEY,
    run   TEXT,
    task  TEXT,
    words TEXT NOT NULL,
    at    BIGINT NOT NULL
);
