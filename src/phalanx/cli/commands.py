"""What commands there are, as `phalanx --help` tells it: known without loading any of them."""

import textwrap

#: In the order of `--help`: a command and the first line of its own help. Each is registered by `cli/NAME.py`.
COMMANDS = {
    "demo": "Play three stories: what a pod-by-pod scheduler does to a GPU cluster, and what Phalanx does.",
    "plan": "Say what the scheduler would do with these Kubernetes objects.",
    "simulate": "Run a workload over time on a pretend cluster, and report what it was worth.",
    "policy": "Print a preset; check a policy file; make one from another scheduler's.",
    "queues": "Show the queue tree: what each queue is guaranteed, is entitled to, has, borrows and asks for.",
    "gangs": "Show the gangs: queue, members, minimum, where they are, how long, and why they wait.",
    "nodes": (
        "Show the nodes: their GPUs and other devices, model and memory, who has some, what is left, what is cordoned."
    ),
    "run": "Schedule a real cluster: pods whose schedulerName is ours.",
    "check": "Look at everything that `phalanx run` needs on a cluster, and say what mends what is wrong.",
    "playground": (
        "Start a real Kubernetes control plane on this machine, with pretend GPU nodes and Phalanx, until Ctrl-C."
    ),
    "install": "Print the manifests that put Phalanx on a cluster.",
    "uninstall": "Print the objects to delete, so that Phalanx is gone and every Queue stays.",
    "reserve": "Say which GPU the pod that we run in was given, and keep it until told to go.",
    "completion": "Print the script by which a shell completes commands, options and their values.",
}
SUMMARY = "All together, or not at all: an AI-native workload scheduler for Kubernetes."
_FLAGS = {"--help (-h)": "Print this page; after a command, that command's.", "--version": "Print the version."}
_WIDTH = 80


def page() -> str:
    """Return what `phalanx --help` prints."""
    rows = {**COMMANDS, **_FLAGS}
    indent = 4 + max(map(len, rows))
    lines = [
        textwrap.fill(text, _WIDTH, initial_indent=f"  {name}".ljust(indent), subsequent_indent=" " * indent)
        for name, text in rows.items()
    ]
    return "\n".join(["Usage: phalanx COMMAND", "", SUMMARY, "", "Commands:", *lines, ""])


def unfolded(text: str) -> str:
    """Return a docstring with each paragraph on one line. Lines that belong together have the same indent."""
    lines = [""]
    for line in text.splitlines():
        before, indent = lines[-1], len(line) - len(line.lstrip())
        same = before.strip() and line.strip() and indent == len(before) - len(before.lstrip())
        # The rule under a heading, and what follows it, stand by themselves.
        if same and not line.lstrip().startswith("--") and not before.lstrip().startswith("--"):
            lines[-1] += f" {line.lstrip()}"
        else:
            lines.append(line)
    return "\n".join(lines[1:])
