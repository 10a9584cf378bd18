"""Networks of anybody's: files of many forms, with names, and what their columns say."""
