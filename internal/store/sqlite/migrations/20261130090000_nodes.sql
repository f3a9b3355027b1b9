-- What is kept of nodes, and where apps run: see store.NodeStore.

-- +goose Up
CREATE TABLE nodes (
    id             TEXT NOT NULL PRIMARY KEY,
    cordoned       INTEGER NOT NULL CHECK (cordoned IN (0, 1)),
    draining_since INTEGER,
    drain_by       INTEGER,
    offline_since  INTEGER,
    volumes        TEXT NOT NULL,
    checked_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE placements (
    app_id     TEXT NOT NULL PRIMARY KEY REFERENCES apps (name) ON DELETE CASCADE,
    nodes      TEXT NOT NULL,
    lost       TEXT NOT NULL,
    attempt_id INTEGER NOT NULL,
    updated_at INTEGER
) STRICT, WITHOUT ROWID;
