-- What machines are, as their records, provider and agents said last. Times are
-- nanoseconds since 1970 in UTC, NULL for none. A text that is not known is empty.

-- +goose Up
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE instances (
    id                  TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant              TEXT NOT NULL CHECK (tenant <> ''),
    group_key           TEXT NOT NULL CHECK (group_key <> ''),
    on_demand           INTEGER NOT NULL CHECK (on_demand IN (0, 1)),
    template            TEXT NOT NULL,
    instance_type       TEXT NOT NULL,
    status              TEXT NOT NULL,
    provider_id         TEXT NOT NULL,
    provider_at         INTEGER,
    provider_state      BLOB,
    hostname            TEXT NOT NULL,
    fqdn                TEXT NOT NULL,
    ip4                 TEXT NOT NULL,
    ip6                 TEXT NOT NULL,
    nonce_hash          TEXT NOT NULL,
    issued_at           INTEGER,
    instance_pub        TEXT NOT NULL,
    registered_at       INTEGER,
    cert_serial         TEXT NOT NULL,
    cert_expires_at     INTEGER,
    certificates_at     INTEGER,
    health_at           INTEGER,
    health              BLOB,
    runtime_config_hash TEXT NOT NULL,
    infra_config_hash   TEXT NOT NULL,
    drain_started_at    INTEGER,
    drain_acked_at      INTEGER,
    tags                TEXT NOT NULL,
    record_version      INTEGER NOT NULL,
    record_tag          TEXT NOT NULL,
    created_at          INTEGER,
    updated_at          INTEGER,
    deleted_at          INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX instances_by_group ON instances (tenant, group_key, created_at, id);
CREATE INDEX instances_by_age ON instances (created_at, id);
CREATE INDEX instances_by_provider ON instances (provider_id) WHERE provider_id <> '';
CREATE INDEX instances_deleted ON instances (deleted_at) WHERE deleted_at IS NOT NULL;
-- One token is for one instance.
CREATE UNIQUE INDEX instances_by_nonce ON instances (nonce_hash) WHERE nonce_hash <> '';

CREATE TABLE groups (
    tenant              TEXT NOT NULL CHECK (tenant <> ''),
    group_key           TEXT NOT NULL CHECK (group_key <> ''),
    runtime_config_hash TEXT NOT NULL,
    infra_config_hash   TEXT NOT NULL,
    created_at          INTEGER,
    updated_at          INTEGER,
    PRIMARY KEY (tenant, group_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE images (
    name        TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    image_id    TEXT NOT NULL CHECK (image_id <> ''),
    resolved_at INTEGER
) STRICT, WITHOUT ROWID;
