"""Real data and its preparation."""

from dynafield.datasets.expression import Expression
from dynafield.datasets.luad import tcga_luad
from dynafield.datasets.pancan import tcga_pancan
from dynafield.datasets.preparation import design, varying, whiten
from dynafield.datasets.tables import Table, read_table

__all__ = [
    "Expression",
    "Table",
    "design",
    "read_table",
    "tcga_luad",
    "tcga_pancan",
    "varying",
    "whiten",
]
