"""The files that the program prints about itself: completion scripts and manual pages."""

import os
import pathlib
import tempfile

from release import run

COMPLETIONS = {"bash": "peristyle.bash", "zsh": "_peristyle", "fish": "peristyle.fish"}


def completions(release):
    """A completion script for each shell, by the name of its file."""
    return {name: run(release.binary, "completions", shell).encode() for shell, name in COMPLETIONS.items()}


def manual_pages(release):
    """The manual pages, by the names of their files."""
    with tempfile.TemporaryDirectory() as folder:
        run(release.binary, "man", "--out", folder)
        return {name: pathlib.Path(folder, name).read_bytes() for name in sorted(os.listdir(folder))}
