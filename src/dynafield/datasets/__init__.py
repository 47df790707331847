"""Real data and its preparation."""

from dynafield.datasets.expression import Expression
from dynafield.datasets.luad import tcga_luad
from dynafield.datasets.pancan import tcga_pancan
from dynafield.datasets.preparation import design, varying, whiten

__all__ = ["Expression", "design", "tcga_luad", "tcga_pancan", "varying", "whiten"]
