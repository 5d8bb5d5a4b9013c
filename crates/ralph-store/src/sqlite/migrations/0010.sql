-- The iteration limit after a person changed it; NULL: the limit with which the run started.
ALTER TABLE runs ADD COLUMN max_iterations_now BIGINT;
