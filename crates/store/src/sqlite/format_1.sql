-- Who may write: one row.
CREATE TABLE leader (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    term     INTEGER NOT NULL,
    holder   TEXT,
    host     TEXT    NOT NULL,
    until_ms INTEGER NOT NULL,
    ttl_ms   INTEGER NOT NULL
) STRICT;
INSERT INTO leader VALUES (1, 0, NULL, '', 0, 0);

CREATE TABLE workload (
    id      TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    memory  TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE instance (
    workload TEXT NOT NULL,
    id       TEXT NOT NULL,
    record   TEXT NOT NULL,
    PRIMARY KEY (workload, id)
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: a number is never used again, so that a reader can follow the journal by it.
CREATE TABLE journal (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms        INTEGER NOT NULL,
    workload     TEXT    NOT NULL,
    subject_kind TEXT    NOT NULL,
    subject_id   TEXT    NOT NULL,
    code         TEXT    NOT NULL,
    message      TEXT    NOT NULL,
    data         TEXT    NOT NULL
) STRICT;
