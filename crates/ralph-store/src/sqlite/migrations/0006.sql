-- 1: an agent wrote checks of the task, and no person has approved them.
ALTER TABLE tasks ADD COLUMN unapproved BIGINT NOT NULL DEFAULT 0;
