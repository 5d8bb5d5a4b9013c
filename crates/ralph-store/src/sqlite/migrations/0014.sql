-- The specifications of workflow runs are large and never change. Each step of a run writes its row in workflow_runs.
CREATE TABLE workflow_specs (
    run  TEXT NOT NULL PRIMARY KEY,
    spec TEXT NOT NULL,
    sum  BIGINT NOT NULL
);

INSERT INTO workflow_specs (run, spec, sum) SELECT id, spec, spec_sum FROM workflow_runs;

ALTER TABLE workflow_runs DROP COLUMN spec;
ALTER TABLE workflow_runs DROP COLUMN spec_sum;
