-- Runs and their events.

-- A run's row. `no` stands for the run inside this file. `last_seq` and `last_at_ms` say where its log ends, `epoch`
-- how often it was claimed. `status`, `parent_id` and `archived` repeat parts of `summary` so that they can be searched.
CREATE TABLE runs (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    parent_id TEXT,
    archived INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL,
    summary TEXT NOT NULL
) STRICT;

-- Lists by status read each status's newest runs from here.
CREATE INDEX runs_by_status ON runs (status, archived, id);

-- Lists of a run's children.
CREATE INDEX runs_by_parent ON runs (parent_id, id) WHERE parent_id IS NOT NULL;

-- What happened, in the order of each run's log. `body` is JSON; where it is null, `blob` names the blob that holds it.
CREATE TABLE events (
    run_no INTEGER NOT NULL REFERENCES runs (no),
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    body TEXT,
    blob TEXT,
    PRIMARY KEY (run_no, seq),
    CHECK ((body IS NULL) <> (blob IS NULL))
) STRICT, WITHOUT ROWID;
