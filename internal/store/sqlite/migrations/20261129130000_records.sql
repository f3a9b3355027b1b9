-- What providers keep: see store.RecordStore.

-- +goose Up
CREATE TABLE records (
    key     TEXT NOT NULL PRIMARY KEY,
    value   BLOB NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0)
) STRICT, WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('record_version', 0);
