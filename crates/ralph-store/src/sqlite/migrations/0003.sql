-- Checksums of what a run was given, of its loop and of its facts. SQLite notices damage to its own structure, not to a value.
-- An index can be damaged so that facts are not found: their number is kept too. NULL: written before there were checksums.
ALTER TABLE runs ADD COLUMN sum BIGINT;
ALTER TABLE runs ADD COLUMN settings_sum BIGINT;
ALTER TABLE runs ADD COLUMN facts BIGINT;
ALTER TABLE runs ADD COLUMN loop_sum BIGINT;
ALTER TABLE events ADD COLUMN sum BIGINT;

-- Tells this database from every other, also from one with the same tables and pages.
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))));
