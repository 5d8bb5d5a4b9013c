-- What has changed since a moment is asked for four times a second while somebody watches.
CREATE INDEX tasks_by_change ON tasks (updated_at);
