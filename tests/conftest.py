"""What every test run shares: how hypothesis looks for trouble, and an honest last word."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Deterministic in CI, so that a failure there is the change's and can be run again; a shared machine is no
# measure of speed, so no deadline anywhere.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "here")

# A shell that starts the tests in the background lets them, and every program they start, ignore Ctrl-C. Programs
# that a test ends by it would then never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what could not run and why, so that a green run never hides a gap."""
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.section("what could not run here")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid}: {reason}")
    if not skipped:
        terminalreporter.write_line("nothing: every test ran")
