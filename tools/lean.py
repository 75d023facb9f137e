"""Takes out of an image's root what run time does not need, and compiles what stays.

Run inside the image, as root, by its own Python: `lean.py ENVIRONMENT`. It changes the machine that it runs on.
"""

import compileall
import shutil
import struct
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

#: Parts of Python that install, edit, document or test.
STDLIB = (
    "ensurepip", "distutils", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo", "venv", "config-3*",
)  # fmt: skip
INSTALLERS = ("pip*", "setuptools*", "wheel*", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")
COMMANDS = ("py3*", "pip*", "idle*", "2to3*", "pydoc*", "pygettext*", "pdb*", "python*-config", "wheel")
ROOT = (
    "usr/include/*", "usr/local/include/*",
    "usr/share/man/*", "usr/local/share/man/*", "usr/share/info/*", "usr/share/locale/*", "usr/share/lintian",
    "usr/share/bash-completion", "usr/share/applications", "usr/share/pixmaps", "usr/share/python-wheels",
    "usr/share/gcc", "usr/share/gdb", "usr/share/python3", "usr/share/binfmts", "usr/share/bug", "usr/share/doc-base",
    "usr/lib/valgrind", "usr/lib/binfmt.d",
    # Python converts characters by itself.
    "usr/lib/*/gconv",
    # Of these no file is left, and who looks for known holes must not find one in them.
    "var/lib/dpkg/status.d/python3*-venv", "var/lib/dpkg/status.d/python3-*-whl",
    "var/lib/dpkg/status.d/python3-distutils", "var/lib/dpkg/status.d/python3-lib2to3",
    "var/cache/*", "var/lib/apt/lists/*", "var/log/*", "root/.cache",
)  # fmt: skip
#: Of a dependency: what its authors test with, what compilers and type checkers read.
SITE = (
    "**/tests", "**/*.pyi", "**/*.pxd", "**/*.pxi", "**/*.pyx", "**/*.a", "**/*.c", "**/*.h",
    "numpy/f2py", "numpy/distutils", "numpy/_core/include", "numpy/conftest.py", "uvloop/_testbase.py",
    # The tables that we print have no Markdown and no program text in them, and nothing else loads these.
    "pygments*", "markdown_it*", "mdurl*", "rich_rst*",
)  # fmt: skip
#: Of the environment, beside Python and our own command.
SCRIPTS_THAT_STAY = ("python*", "phalanx*", "kubectl-phalanx")


def unneeded(environment: Path) -> Iterator[Path]:
    """Yield what can go."""
    stdlib, purelib = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    for folder, patterns in (
        (stdlib, STDLIB),
        (purelib, INSTALLERS),
        (Path("/usr/lib/python3/dist-packages"), INSTALLERS),
        (Path("/usr/bin"), COMMANDS),
        (Path("/usr/local/bin"), COMMANDS),
        (Path("/"), ROOT),
        (site(environment), SITE),
    ):
        for pattern in patterns:
            yield from folder.glob(pattern)
    # Licences stay, whatever else is said about a package goes.
    yield from (path for path in Path("/usr/share/doc").glob("*/*") if path.name != "copyright")
    scripts = environment / "bin"
    kept = {path for pattern in SCRIPTS_THAT_STAY for path in scripts.glob(pattern)}
    yield from set(scripts.iterdir()) - kept


def site(environment: Path) -> Path:
    """Return where the environment keeps its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, unless it went with another."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def strip(library: Path) -> None:
    """Cut off what is never loaded of a library: section headers and the symbols for debuggers, most of some.

    What is loaded is said by the program headers alone. As `strip` does, which few bases have.
    """
    content = bytearray(library.read_bytes())
    if content[:6] != b"\x7fELF\x02\x01":  # 64 bits, the least first: every processor that Phalanx has run on
        return
    table, size, count = (*struct.unpack_from("<Q", content, 32), *struct.unpack_from("<HH", content, 54))
    segments = (struct.unpack_from("<8xQ16xQ", content, table + size * index) for index in range(count))
    end = max([table + size * count, *(offset + length for offset, length in segments)])
    struct.pack_into("<Q", content, 40, 0)
    struct.pack_into("<HH", content, 60, 0, 0)
    library.write_bytes(content[:end])


def main() -> None:
    """Do it."""
    environment = Path(sys.argv[1])
    for path in list(unneeded(environment)):
        remove(path)
    for library in site(environment).rglob("*.so*"):
        strip(library)
    # The root of a running pod cannot be written, so Python could not keep what it compiles; and nothing changes there,
    # so it need not look whether a source is newer.
    for folder in (Path(sysconfig.get_path("stdlib")), site(environment)):
        compileall.compile_dir(folder, quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)


main()
