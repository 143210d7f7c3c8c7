-- Where memories about the user go, if not to `global`: a later run may have to store what an interrupted run extracted.
ALTER TABLE transcripts ADD COLUMN user_namespace TEXT;
