"""The numbers that a figure shows, few enough for its file, and how far another figure is from them."""

import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.contour import ContourSet

SHOWN = 12
"""Points of a line, and cells along each side of a map, that a picture carries."""
MOST = 40
"""Lines of one pair of axes that it carries; of more, every second, third, …"""


def shown_lines(figure):
    """Of lines from left to right: the number of their axes, and their points in data coordinates."""
    for number, ax in enumerate(figure.axes):
        lines = []
        for line in ax.lines:
            x, y = (np.asarray(part, float) for part in line.get_data())
            good = np.isfinite(x) & np.isfinite(y)
            if np.sum(good) > 2 and np.all(np.diff(x[good]) >= 0):
                lines.append(np.stack([x[good], y[good]], axis=1))
        for points in lines[:: -(-len(lines) // MOST) or 1]:
            yield number, points


def shown_levels(figure):
    """Of every contour: the number of its axes, and its points in data coordinates."""
    for number, ax in enumerate(figure.axes):
        for contours in ax.collections:
            if isinstance(contours, ContourSet):
                yield from ((number, path.vertices) for path in contours.get_paths() if len(path.vertices))


def shown_maps(figure):
    """Of every coloured map: the number of its axes, and its cells as parts of the range of colours."""
    for number, ax in enumerate(figure.axes):
        for cells in ax.collections:
            if isinstance(cells, QuadMesh) and ax.get_label() != "<colorbar>":
                parts = np.ma.filled(np.ma.masked_invalid(cells.norm(cells.get_array())), -1.0)
                rows, columns = (
                    np.linspace(0, size - 1, min(SHOWN, size)).astype(int) for size in parts.shape
                )
                yield number, parts[np.ix_(rows, columns)]


def numbers(figure):
    """Some points of every line and contour, and some cells of every map."""

    def some(points):
        return points[np.unique(np.linspace(0, len(points) - 1, SHOWN).astype(int))]

    def written(table):
        return [[float(f"{value:.7g}") for value in row] for row in table]

    return {
        "lines": [[number, written(some(points))] for number, points in shown_lines(figure)],
        "levels": [[number, written(some(points))] for number, points in shown_levels(figure)],
        "maps": [[number, written(cells)] for number, cells in shown_maps(figure)],
    }


def farthest(figure, known):
    """How far a figure is from numbers that are known: in heights of its axes, in ranges of its colours."""
    figure.draw_without_rendering()

    def to_axes(number, points):
        with np.errstate(all="ignore"):
            ax = figure.axes[number]
            return (ax.transData + ax.transAxes.inverted()).transform(points)

    def from_line(number, points, some):
        line, marks = to_axes(number, points), to_axes(number, some)
        seen = np.all(np.isfinite(marks), axis=1) & (marks[:, 0] >= line[0, 0]) & (marks[:, 0] <= line[-1, 0])
        marks = marks[seen & (marks[:, 1] > 0) & (marks[:, 1] < 1)]
        good = np.all(np.isfinite(line), axis=1)
        return np.abs(np.interp(marks[:, 0], *line[good].T) - marks[:, 1])

    def from_level(number, points, some):
        between = to_axes(number, points)[None] - to_axes(number, some)[:, None]
        return np.min(np.hypot(*np.moveaxis(between, -1, 0)), axis=1)

    def from_map(number, cells, some):
        return np.abs(cells - some) if cells.shape == some.shape else np.array([np.inf])

    found = [0.0]
    for kind, shown, distance in (
        ("lines", shown_lines, from_line),
        ("levels", shown_levels, from_level),
        ("maps", shown_maps, from_map),
    ):
        drawn = list(shown(figure))
        if [number for number, _ in drawn] != [number for number, _ in known[kind]]:
            return np.inf
        for (number, whole), (_, some) in zip(drawn, known[kind], strict=True):
            found += list(np.ravel(distance(number, whole, np.array(some))))
    return max(found)
