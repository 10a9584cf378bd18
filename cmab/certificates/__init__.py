"""Certificates of regret: what a policy has lost so far, and what its present choice loses, at most."""

from cmab.certificates.bound import regret_bound

__all__ = ["regret_bound"]
