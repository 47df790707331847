"""What is on a picture that a test has made: a file that is there, but empty, is none."""

import re
import zlib

import numpy as np
from PIL import Image

__all__ = ["has_axes_and_curves", "is_a_drawing"]


def has_axes_and_curves(path):
    """Whether a PNG has what every plot of ours has: dark words and axes, and curves in colour."""
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"), float).reshape(-1, 3)
    dark = np.max(pixels, axis=1) < 100
    coloured = np.ptp(pixels, axis=1) > 60
    return np.mean(dark) > 0.002 and np.mean(coloured) > 0.001 and np.mean(dark | coloured) < 0.5


def is_a_drawing(path):
    """Whether a PDF is whole, and draws letters, and lines or areas in colour."""
    content = path.read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, flags=re.S)
    drawn = b""
    for one in streams:
        try:
            drawn += zlib.decompress(one) + b"\n"
        except zlib.error:
            continue
    letters = len(re.findall(rb"\b(?:T[jJ]|Do)\s", drawn))
    colours = [
        one for one in re.findall(rb"([\d.]+)\s([\d.]+)\s([\d.]+)\s(?:RG|rg)\s", drawn) if len(set(one)) > 1
    ]
    whole = content.startswith(b"%PDF") and b"%%EOF" in content[-20:]
    return whole and letters > 3 and len(colours) > 0
