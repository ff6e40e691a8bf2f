"""The paper's Algorithm 2 as it is written, slow and plain, to test and time LMDH against."""

from variegate.reference.algorithm2 import BlockLMDH, Chosen, RankOneLMDH

__all__ = ["BlockLMDH", "Chosen", "RankOneLMDH"]
