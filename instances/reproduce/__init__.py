"""The published experiments that ``cmab reproduce NAME`` runs."""
