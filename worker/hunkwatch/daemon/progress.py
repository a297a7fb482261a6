"""How far long work got, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total``, in one unit, whatever it is; and what was found so far."""

    done: float
    total: float
    observations: int = 0
    calls: int = 0


Tell = Callable[[Progress], None]
"""Hears of every step; never raises."""
