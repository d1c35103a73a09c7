-- Statements of the SQLite store, each under its name and with a sentence on what it is for.

-- name: insert_run
-- Begin a run's row.
INSERT INTO runs (id, last_seq, last_at_ms, status, parent_id, archived, summary, epoch)
VALUES (?, ?, ?, ?, ?, ?, ?, 0)
RETURNING no;

-- name: insert_event
-- Write one event behind the last; the primary key refuses a second one in the same place.
INSERT INTO events (run_no, seq, at_ms, name, body, blob)
VALUES (?, ?, ?, ?, ?, ?);

-- name: find_place
-- Where a run's log ends and who may write to it.
SELECT no, last_seq, epoch
FROM runs
WHERE id = ?;

-- name: move_end
-- Move the end of a run's log; its summary is as it was.
UPDATE runs
SET last_seq = ?, last_at_ms = ?
WHERE no = ?;

-- name: update_summary
-- Write a run's summary, and where its log ends.
UPDATE runs
SET last_seq = ?, last_at_ms = ?, status = ?, parent_id = ?, archived = ?, summary = ?
WHERE no = ?;

-- name: raise_epoch
-- Make every earlier claim of a run void.
UPDATE runs
SET epoch = epoch + 1
WHERE id = ?
RETURNING id, last_seq, last_at_ms, epoch, summary;

-- name: get_run
-- One run's row.
SELECT id, last_seq, last_at_ms, epoch, summary
FROM runs
WHERE id = ?;

-- name: list_runs
-- A page of all runs between two ids, newest first.
SELECT id, last_seq, last_at_ms, epoch, summary
FROM runs
WHERE id >= :low AND id < :high
ORDER BY id DESC
LIMIT :limit;

-- name: list_runs_of_status
-- A page of the runs in one status, archived or not; pages of several statuses are merged.
SELECT id, last_seq, last_at_ms, epoch, summary
FROM runs
WHERE status = :status AND archived = :archived AND id >= :low AND id < :high
ORDER BY id DESC
LIMIT :limit;

-- name: list_children
-- A page of a run's children in given statuses (a JSON array), archived or not (a JSON array of 0 and 1).
SELECT id, last_seq, last_at_ms, epoch, summary
FROM runs
WHERE parent_id = :parent_id
    AND id >= :low AND id < :high
    AND status IN (SELECT value FROM json_each(:statuses))
    AND archived IN (SELECT value FROM json_each(:archived))
ORDER BY id DESC
LIMIT :limit;

-- name: read_events
-- A page of a run's log behind a given place.
SELECT seq, at_ms, name, body, blob
FROM events
WHERE run_no = (SELECT no FROM runs WHERE id = ?) AND seq > ?
ORDER BY seq
LIMIT ?;
