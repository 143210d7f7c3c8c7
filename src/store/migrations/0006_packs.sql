-- Windows that were asked about in one request: the first of them, and the place of each. A pack that was interrupted is
-- asked for again as it was, so that a reply which was paid for is found.
ALTER TABLE windows ADD COLUMN pack INTEGER;
ALTER TABLE windows ADD COLUMN pack_place INTEGER;
CREATE INDEX windows_by_open_pack ON windows (pack) WHERE pack IS NOT NULL AND status <> 'done';
