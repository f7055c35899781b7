-- The grant that a family began with. Families from before this step do not tell, and count as begun with none.
ALTER TABLE peristyle.family ADD COLUMN begun_by text;
