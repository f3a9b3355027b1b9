-- Times are nanoseconds since 1970 in UTC, NULL for none. Specs, targets and
-- conditions are JSON.

-- +goose Up
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    name  TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('route_version', 0);

CREATE TABLE apps (
    name       TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    created_at INTEGER,
    deleting   INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE services (
    name             TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    app_id           TEXT NOT NULL REFERENCES apps (name),
    image            TEXT NOT NULL,
    spec             TEXT NOT NULL,
    generation       INTEGER NOT NULL CHECK (generation > 0),
    restart_nonce    TEXT NOT NULL,
    local_image_id   TEXT NOT NULL,
    replicas         INTEGER NOT NULL,
    release_id       TEXT NOT NULL,
    attempt_id       INTEGER NOT NULL,
    suspended        INTEGER NOT NULL CHECK (suspended IN (0, 1)),
    maintenance_hold INTEGER NOT NULL CHECK (maintenance_hold IN (0, 1)),
    updated_at       INTEGER
) STRICT;

CREATE INDEX services_by_app ON services (app_id, name);

CREATE TABLE service_domains (
    host    TEXT NOT NULL,
    path    TEXT NOT NULL,
    service TEXT NOT NULL REFERENCES services (name) ON DELETE CASCADE,
    PRIMARY KEY (host, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX service_domains_by_service ON service_domains (service);

CREATE TABLE attempts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    app_id      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'superseded')),
    created_at  INTEGER,
    finished_at INTEGER
) STRICT;

CREATE INDEX attempts_by_app ON attempts (app_id, id);

CREATE TABLE attempt_services (
    attempt_id  INTEGER NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
    service     TEXT NOT NULL,
    action      TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'superseded')),
    reason      TEXT NOT NULL,
    message     TEXT NOT NULL,
    release_id  TEXT NOT NULL,
    updated_at  INTEGER,
    deadline_at INTEGER,
    PRIMARY KEY (attempt_id, service)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_services_open ON attempt_services (service, attempt_id)
    WHERE state IN ('queued', 'running');

CREATE TABLE releases (
    id            TEXT NOT NULL PRIMARY KEY,
    service       TEXT NOT NULL,
    app_id        TEXT NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    image         TEXT NOT NULL,
    resolved      TEXT NOT NULL,
    image_id      TEXT NOT NULL,
    local         INTEGER NOT NULL CHECK (local IN (0, 1)),
    spec          TEXT NOT NULL,
    spec_hash     TEXT NOT NULL,
    restart_nonce TEXT NOT NULL,
    nonce         TEXT NOT NULL,
    attempt_id    INTEGER NOT NULL,
    created_at    INTEGER,
    UNIQUE (service, version)
) STRICT;

CREATE TABLE active_releases (
    service     TEXT NOT NULL PRIMARY KEY,
    app_id      TEXT NOT NULL,
    release_id  TEXT NOT NULL,
    targets     TEXT NOT NULL,
    replicas    INTEGER NOT NULL,
    route       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    since       INTEGER,
    previous_id TEXT NOT NULL,
    held_until  INTEGER
) STRICT;

CREATE TABLE trace_events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    attempt_id INTEGER NOT NULL,
    service    TEXT NOT NULL,
    time       INTEGER,
    phase      TEXT NOT NULL,
    status     TEXT NOT NULL,
    message    TEXT NOT NULL,
    container  TEXT NOT NULL
) STRICT;

CREATE INDEX trace_events_by_attempt ON trace_events (attempt_id, id);

-- next is the offset in the subnet of the first address never given.
CREATE TABLE subnets (
    app_id TEXT NOT NULL PRIMARY KEY CHECK (app_id <> ''),
    prefix TEXT NOT NULL UNIQUE,
    next   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE addresses (
    app_id        TEXT NOT NULL REFERENCES subnets (app_id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,
    ip            TEXT NOT NULL,
    container     TEXT NOT NULL,
    freed_at      INTEGER,
    freed_version INTEGER NOT NULL,
    PRIMARY KEY (app_id, position)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX addresses_held ON addresses (app_id, container) WHERE freed_at IS NULL;

CREATE TABLE pending_teardowns (
    name       TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    app_id     TEXT NOT NULL,
    node_id    TEXT NOT NULL,
    attempt_id INTEGER NOT NULL,
    created_at INTEGER,
    failures   INTEGER NOT NULL,
    last_cause TEXT NOT NULL
) STRICT;

CREATE TABLE kept_logs (
    container  TEXT NOT NULL,
    started    INTEGER NOT NULL, -- 0 for none, being part of the key
    service    TEXT NOT NULL,
    release_id TEXT NOT NULL,
    replica    INTEGER NOT NULL,
    removed_at INTEGER,
    lines      BLOB NOT NULL,
    PRIMARY KEY (container, started)
) STRICT;

CREATE INDEX kept_logs_by_service ON kept_logs (service, removed_at);

CREATE TABLE conditions (
    controller TEXT NOT NULL PRIMARY KEY,
    conditions TEXT NOT NULL
) STRICT;
