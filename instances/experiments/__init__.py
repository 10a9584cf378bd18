"""The published experiments of `cmab reproduce`: tables of cells, with the claims of a paper and figures."""
