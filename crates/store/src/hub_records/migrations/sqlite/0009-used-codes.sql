-- A used code stays as long as its family, and is deleted with it. Only unused codes are looked for by their time.
DROP INDEX peristyle_code_expires;
CREATE INDEX peristyle_code_expires ON peristyle_code (expires_at) WHERE used_by IS NULL;
DELETE FROM peristyle_code WHERE used_by IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM peristyle_family f WHERE f.id = peristyle_code.used_by);
