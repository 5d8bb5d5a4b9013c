-- Who drives a run. Each engine that takes a run raises its fence and writes with that number; one that was taken over
-- still has the old number and can write no more. 0: no engine of this store ever drove it.
ALTER TABLE runs ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
-- The newest of them, as JSON: pid, host, boot, start, run, since.
ALTER TABLE runs ADD COLUMN owner TEXT;
