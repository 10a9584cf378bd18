"""The former place of `UGapEb`, which pickles of the version before name."""

from cmab.exploration.ugape import MultiBanditUGapEb, UGapEb

__all__ = ["MultiBanditUGapEb", "UGapEb"]
