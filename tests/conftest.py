"""What every test run shares: how hypothesis looks for trouble, and an honest last word."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Deterministic in CI, so that a failure there is the change's and can be run again; a shared machine is no
# measure of speed, so no deadline anywhere.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what could not run and why, so that a green run never hides a gap."""
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.section("what could not run here")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid}: {reason}")
    if not skipped:
        terminalreporter.write_line("nothing: every test ran")
