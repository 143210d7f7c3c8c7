mod ingest_chat;
