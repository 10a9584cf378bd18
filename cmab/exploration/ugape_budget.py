"""The former module of `UGapEb`, kept for pickles of earlier versions."""

from cmab.exploration.ugape import MultiBanditUGapEb, UGapEb

__all__ = ["MultiBanditUGapEb", "UGapEb"]
