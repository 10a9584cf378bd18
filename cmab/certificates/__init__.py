"""Certificates of regret: bounds on what a policy has lost so far and on what its present choice loses."""

from cmab.certificates.bound import regret_bound

__all__ = ["regret_bound"]
