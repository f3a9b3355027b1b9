-- +goose Up
ALTER TABLE releases ADD COLUMN members TEXT NOT NULL DEFAULT 'null';
ALTER TABLE services ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1));

