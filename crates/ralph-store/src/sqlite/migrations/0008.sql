-- What is added up over many runs. How long a run was at work, without the time between being cut short and being resumed;
-- NULL: unknown. How many of its claims were rejected, how many finished attempts did not tell their cost, and what its
-- judges cost; NULL: unknown, or none was asked.
ALTER TABLE runs ADD COLUMN worked_ms BIGINT;
ALTER TABLE runs ADD COLUMN rejected BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN judges_micros BIGINT;
-- The agent that took over last; NULL: the preferred one works.
ALTER TABLE runs ADD COLUMN agent_now TEXT;

-- The share of one agent with one model in a run; '' is a model that nobody named. What is NULL is unknown.
CREATE TABLE shares (
    run            TEXT   NOT NULL,
    agent          TEXT   NOT NULL,
    model          TEXT   NOT NULL,
    -- As in its run, whose rows are too wide to be added up.
    started_at     BIGINT NOT NULL,
    status         TEXT   NOT NULL,
    exit_code      BIGINT,
    -- In how many iterations it worked, and in which one last.
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

-- Older runs: what the journal and the other tables know of it.
INSERT INTO shares
    SELECT runs.id, runs.agent, COALESCE(attempts.model, ''), runs.started_at, runs.status, runs.exit_code,
        COUNT(DISTINCT attempts.iteration), MAX(attempts.iteration), SUM(MAX(0, attempts.ended_at - attempts.started_at)), 0,
        SUM(attempts.status = 'finished' AND json_extract(body, '$.result.cost_usd') IS NULL),
        SUM(json_extract(body, '$.result.input_tokens')), SUM(json_extract(body, '$.result.output_tokens')),
        SUM(CAST(ROUND(json_extract(body, '$.result.cost_usd') * 1000000) AS INTEGER))
    FROM (SELECT run, CASE WHEN json_valid(body) THEN body END AS body FROM events WHERE kind = 'attempt.ended') AS told
    JOIN runs ON runs.id = told.run
    JOIN attempts ON attempts.run = told.run AND attempts.iteration = json_extract(body, '$.iteration')
        AND attempts.number = json_extract(body, '$.attempt')
    WHERE attempts.ended_at IS NOT NULL
    GROUP BY runs.id, COALESCE(attempts.model, '');
UPDATE shares SET rejected = (SELECT COUNT(*) FROM iterations JOIN attempts ON attempts.run = iterations.run
        AND attempts.iteration = iterations.number AND attempts.number = iterations.attempts
    WHERE iterations.run = shares.run AND verdict = 'rejected' AND COALESCE(attempts.model, '') = shares.model);
UPDATE runs SET
    worked_ms = ended_at - started_at,
    rejected = (SELECT COUNT(*) FROM iterations WHERE run = runs.id AND verdict = 'rejected');

-- The runs of a spec are found by its tasks.
CREATE INDEX tasks_by_spec ON tasks (spec, id) WHERE spec IS NOT NULL;

-- Whole rows of runs are wide: what is added up stands together once more.
CREATE INDEX runs_added_up ON runs (started_at, role, task, status, exit_code, iterations, worked_ms, rejected, unpriced,
    cost_micros, judges_micros, input_tokens, output_tokens);
