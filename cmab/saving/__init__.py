"""Files that sessions and tables are kept in: what they hold, and writing them all or nothing."""
