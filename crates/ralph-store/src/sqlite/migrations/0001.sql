-- Times are milliseconds since 1970 by the clock of the process that wrote them; order is by seq, never by time.
CREATE TABLE runs (
    id             TEXT   NOT NULL PRIMARY KEY,
    kind           TEXT   NOT NULL,
    status         TEXT   NOT NULL,
    reason         TEXT,
    exit_code      BIGINT,
    agent          TEXT   NOT NULL,
    promise        TEXT   NOT NULL,
    max_iterations BIGINT NOT NULL,
    iterations     BIGINT NOT NULL DEFAULT 0,
    started_at     BIGINT NOT NULL,
    ended_at       BIGINT,
    input_tokens   BIGINT,
    output_tokens  BIGINT,
    cost_micros    BIGINT,
    settings       TEXT   NOT NULL,
    loop           TEXT   NOT NULL
);
CREATE INDEX runs_by_start ON runs (started_at);

CREATE TABLE iterations (
    run           TEXT   NOT NULL,
    number        BIGINT NOT NULL,
    status        TEXT   NOT NULL,
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
    run         TEXT   NOT NULL,
    iteration   BIGINT NOT NULL,
    number      BIGINT NOT NULL,
    status      TEXT   NOT NULL,
    started_at  BIGINT NOT NULL,
    ended_at    BIGINT,
    failure     TEXT,
    session     TEXT,
    model       TEXT,
    killed      BIGINT NOT NULL DEFAULT 0,
    leaked      BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (run, iteration, number)
);

CREATE TABLE verdicts (
    run         TEXT   NOT NULL,
    iteration   BIGINT NOT NULL,
    position    BIGINT NOT NULL,
    command     TEXT   NOT NULL,
    verdict     TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    exit_code   BIGINT,
    duration_ms BIGINT NOT NULL,
    log         TEXT   NOT NULL,
    PRIMARY KEY (run, iteration, position)
);

CREATE TABLE events (
    run  TEXT   NOT NULL,
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    kind TEXT   NOT NULL,
    body TEXT   NOT NULL,
    PRIMARY KEY (run, seq)
);
