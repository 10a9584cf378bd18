"""The demos that ``cmab demo NAME`` runs."""
