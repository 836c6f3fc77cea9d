-- Why exactly a webhook started no session, and where it came from: for the operator. Ingress bounds both texts.
-- A service of an older version leaves them empty, or as the slot had them before.
ALTER TABLE angelia.unstarted_webhooks ADD COLUMN IF NOT EXISTS detail text, ADD COLUMN IF NOT EXISTS source text;
