"""A sample of paths in chunks, which are solved one after the other."""

import itertools

import numpy as np

from dynafield.dmft.march import Means
from dynafield.dmft.sampling import Sample

__all__ = ["split"]


def split(sample: Sample, means: Means, capacity: int) -> tuple[list[Sample], int, float]:
    """A sample in chunks, how many of them carry tangents, and the weight of these.

    Chunks are filled up to one of few sizes, so that compiled code is used again.
    """
    count, chunk = len(sample.target), means.chunk
    pieces = 2 ** max(0, int(np.ceil(np.log2(count / chunk))))
    ends = np.round(np.linspace(0, count, pieces + 1)).astype(int)
    largest = int(np.max(np.diff(ends)))
    size = max(chunk // 2 ** int(np.floor(np.log2(chunk / largest))), largest)
    few = max(1, int(means.carrying(count, capacity) / count * pieces))
    marks = [*range(few), *range(few, pieces, means.joined), pieces]
    samples = [
        filled(Sample(*(part[..., ends[i] : ends[j]] for part in sample)), size * (j - i))
        for i, j in itertools.pairwise(marks)
    ]
    return samples, few, float(np.sum(sample.weight[: ends[few]]))


def filled(sample: Sample, size: int) -> Sample:
    """The sample filled up to `size` with paths of weight zero."""
    fill = size - len(sample.target)
    return Sample(*(np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, fill)]) for part in sample))
