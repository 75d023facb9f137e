"""For tests of ours and of plugin authors: a cluster in a few lines of text, the whole plan out."""

from importlib.util import find_spec

if _lacking := next((name for name in ("cryptography", "hypothesis", "pytest") if find_spec(name) is None), None):
    raise ModuleNotFoundError(f"phalanx.testing needs the package {_lacking}; install phalanx[testing]", name=_lacking)

from phalanx.sim.lines import ScenarioError
from phalanx.testing.policies import policy_with
from phalanx.testing.scenario import check, check_run, plan, run_text

__all__ = ["ScenarioError", "check", "check_run", "plan", "policy_with", "run_text"]
