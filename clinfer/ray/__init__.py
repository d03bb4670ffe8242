"""Inference over datasets that Ray spreads over machines."""
from __future__ import annotations

from clinfer.ray.predictor import Predictor

__all__ = ["Predictor"]
