-- Secrets, sealed before they come here. Every row has its tenant. Times are
-- nanoseconds since 1970 in UTC, NULL for none.

-- +goose Up
CREATE TABLE secret_keys (
    tenant  TEXT NOT NULL PRIMARY KEY CHECK (tenant <> ''),
    wrapped BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE secret_values (
    tenant     TEXT NOT NULL CHECK (tenant <> ''),
    key        TEXT NOT NULL CHECK (key <> ''),
    version    INTEGER NOT NULL CHECK (version > 0),
    sealed     BLOB NOT NULL,
    created_at INTEGER,
    UNIQUE (tenant, key, version)
) STRICT;

-- The highest version of a tenant's secrets that were deleted: no version comes
-- again.
CREATE TABLE secret_floors (
    tenant TEXT NOT NULL PRIMARY KEY CHECK (tenant <> ''),
    floor  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
