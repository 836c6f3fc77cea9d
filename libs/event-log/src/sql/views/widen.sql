-- Lets this program write into a build of an earlier version until it has rebuilt the views. Here the columns are empty in
-- old rows, so lists do not use them (read/session-list.ts). A nullable column costs no rewrite of the table.
ALTER TABLE :views.sessions
  ADD COLUMN IF NOT EXISTS agent text COLLATE "C",
  ADD COLUMN IF NOT EXISTS model text COLLATE "C",
  ADD COLUMN IF NOT EXISTS failure text COLLATE "C",
  ADD COLUMN IF NOT EXISTS title text,
  ADD COLUMN IF NOT EXISTS delivery_id text COLLATE "C",
  ADD COLUMN IF NOT EXISTS tokens bigint,
  ADD COLUMN IF NOT EXISTS waiting_for text COLLATE "C",
  ADD COLUMN IF NOT EXISTS waiting_since timestamptz,
  ADD COLUMN IF NOT EXISTS continues text COLLATE "C";
