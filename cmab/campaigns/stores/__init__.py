"""The places in which campaigns store their events: journal files, SQLite files and PostgreSQL databases."""
