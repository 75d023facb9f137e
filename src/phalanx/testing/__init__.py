"""For tests of ours and of plugin authors: a cluster in a few lines of text, the whole plan out."""

from phalanx.sim.lines import ScenarioError
from phalanx.testing.policies import policy_with
from phalanx.testing.scenario import check, check_run, plan, run_text

__all__ = ["ScenarioError", "check", "check_run", "plan", "policy_with", "run_text"]
