"""What a plain installation lacks: where it is needed one line says what to install, and nothing else asks for it."""

import os
import subprocess
import sys

import pytest

#: What there is on no Windows, and what only an extra or the developers install.
UNIX = ("fcntl", "pwd", "grp", "resource", "termios", "uvloop")
EXTRA = ("cryptography", "hypothesis", "pytest", "aiohttp", "kubernetes")

_CODE = """
import sys
for name in {absent}:
    sys.modules[name] = None
{code}
"""


def without(absent: tuple[str, ...], code: str) -> subprocess.CompletedProcess[str]:
    """Run Python where some modules cannot be imported."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [sys.executable, "-c", _CODE.format(absent=absent, code=code)]
    return subprocess.run(command, env=plain, capture_output=True, text=True, check=False)


def command(*arguments: str) -> str:
    return f"from phalanx.cli.main import main\nsys.exit(main({list(arguments)}))"


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "-f", "examples/packing/three", "--timings"),
        ("simulate", "examples/scenarios/two-teams.scenario", "--until", "1h"),
        ("policy", "show", "default"),
        ("demo",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_needs_no_cluster_runs_without_unix_and_without_extras(arguments: tuple[str, ...]) -> None:
    done = without(UNIX + EXTRA, command(*arguments))
    assert (done.returncode, done.stderr if "--timings" not in arguments else "") == (0, "")
    assert done.stdout


def test_the_scheduler_needs_no_extra_and_no_uvloop() -> None:
    done = without(("uvloop", *EXTRA), command("run", "--kubeconfig", "/absent/kubeconfig"))
    assert (done.returncode, done.stderr) == (
        2,
        "phalanx: kubeconfig /absent/kubeconfig: No such file or directory\n",
    )


def test_the_playground_says_in_one_line_what_to_install() -> None:
    done = without(("cryptography",), command("playground"))
    assert (done.returncode, done.stderr) == (
        2,
        "phalanx: playground: a local control plane needs the package cryptography; install phalanx[playground]\n",
    )


@pytest.mark.parametrize("absent", ["hypothesis", "pytest", "cryptography"])
def test_phalanx_testing_says_in_one_line_what_to_install(absent: str) -> None:
    done = without((absent,), "import phalanx.testing")
    assert done.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: phalanx.testing needs the package {absent}; install phalanx[testing]"
    )
