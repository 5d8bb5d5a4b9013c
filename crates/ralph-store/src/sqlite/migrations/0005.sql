-- Where a criterion stands ('2' is the second, '2.1' its first stage), and how it was looked at. NULL: written before there were
-- stages.
ALTER TABLE verdicts ADD COLUMN place TEXT;
ALTER TABLE verdicts ADD COLUMN method TEXT NOT NULL DEFAULT 'external';
ALTER TABLE verdicts ADD COLUMN name TEXT;
ALTER TABLE verdicts ADD COLUMN required BIGINT NOT NULL DEFAULT 1;
ALTER TABLE verdicts ADD COLUMN tries BIGINT NOT NULL DEFAULT 1;
ALTER TABLE verdicts ADD COLUMN cached BIGINT NOT NULL DEFAULT 0;
ALTER TABLE verdicts ADD COLUMN digest TEXT;
-- What a judge found, as JSON.
ALTER TABLE verdicts ADD COLUMN judgement TEXT;

-- What stands behind each completion, as canonical JSON, and its SHA-256.
CREATE TABLE receipts (
    run      TEXT   NOT NULL PRIMARY KEY,
    at       BIGINT NOT NULL,
    verified BIGINT NOT NULL,
    sha256   TEXT   NOT NULL,
    body     TEXT   NOT NULL
);
