-- How a completion was proven: 'proven', 'checked' or 'unverified'; NULL: not completed, or by an older ralph. Who
-- accepted it, if a person did.
ALTER TABLE runs ADD COLUMN proof TEXT;
ALTER TABLE runs ADD COLUMN accepted_by TEXT;

-- The commit from which the work on a task started, and the seal and the baseline that were made there (JSON).
ALTER TABLE tasks ADD COLUMN base_commit TEXT;
ALTER TABLE tasks ADD COLUMN seal TEXT;
-- The commit of its accepted work, and how it was proven.
ALTER TABLE tasks ADD COLUMN accepted_commit TEXT;
ALTER TABLE tasks ADD COLUMN proof TEXT;
-- The file of its specification, if it is not found by the id of the spec.
ALTER TABLE tasks ADD COLUMN spec_file TEXT;
