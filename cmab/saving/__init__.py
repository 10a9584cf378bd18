"""Files of sessions and tables: their contents, and writing them completely or not at all."""
