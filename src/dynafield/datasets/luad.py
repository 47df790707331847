"""The lung adenocarcinoma cohort that comes with the package."""

import hashlib
import importlib.resources
import io

import numpy as np

from dynafield.datasets.expression import Expression
from dynafield.errors import FileError

__all__ = ["tcga_luad"]

FILE = "tcga_luad_top1500.npz"
SHA256 = "52a658c34e0de4e207fe61670ae993bb4c7a41f7e24af4716c64529c34a38e95"
PROVENANCE = (
    "TCGA lung adenocarcinoma, bulk RNA-seq, log2(RSEM + 1), the 1,500 genes of highest variance, "
    "half precision; from openomics 0.8.5 (MIT), underlying TCGA level-3 data open access"
)


def tcga_luad() -> Expression:
    """The lung adenocarcinoma cohort of the Cancer Genome Atlas that comes with the package.

    Returns
    -------
    Expression
        576 samples (517 tumour, 59 normal) × 1,500 genes, log2(RSEM + 1).
    """
    content = (importlib.resources.files("dynafield.datasets") / "files" / FILE).read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise FileError(f"{FILE} in this installation is damaged: install dynafield again")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        expression = stored["expression"].astype(float)
        return Expression(expression, stored["gene"], stored["barcode"], stored["tissue"], PROVENANCE)
