"""The published experiments of `cmab reproduce`: each a table of cells with its claims and figures."""
