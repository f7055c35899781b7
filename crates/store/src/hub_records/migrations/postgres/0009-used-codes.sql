-- A used code stays as long as its family, and is deleted with it. Only unused codes are looked for by their time.
DROP INDEX peristyle.code_expires;
CREATE INDEX code_expires ON peristyle.code (expires_at) WHERE used_by IS NULL;
DELETE FROM peristyle.code c WHERE c.used_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM peristyle.family f WHERE f.id = c.used_by);
