"""Who may use which queue: what a gang is told that names one."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from phalanx.model.gang import Group
from phalanx.model.keys import QUEUE, annotation, label, mistaken
from phalanx.model.queue import DEFAULT_QUEUE
from phalanx.model.task import Task
from phalanx.world.queue_tree import Tree

#: How many queues or namespaces a message names before it says "and n more".
_NAMED_MAX = 5


class Doors(NamedTuple):
    """Who may use a queue."""

    #: None: everybody.
    namespaces: frozenset[str] | None
    #: Only whom the API server asked: it looks at our own label alone.
    granted: bool
    #: Why nothing may start there now.
    hold: str | None = None


#: A sentence: nobody may.
Answer = str | Doors


class Said(NamedTuple):
    """Which queue a gang is in, and who says so."""

    queue: str
    #: The field that names it; None: nobody names one.
    field: str | None
    namespace: str


def said_by(
    task: Task, labels: Mapping[str, str], group: Group | None = None, annotations: Mapping[str, str] | None = None
) -> Said:
    """Return the queue of a task's gang: its object's, else the pods', else their namespace's, else `default`.

    `group`: what its object says of the gang. `labels`, `annotations`: the namespace's.
    """
    key = group.namespace_key if group is not None else ""
    if key and annotations and annotations.get(key):
        return Said(annotations[key], f"Namespace {task.namespace}: {annotation(key)}", task.namespace)
    if group is not None and group.queue and task.membership is not None:
        return Said(group.queue, f"{task.membership.owner}: {group.queue_field}", task.namespace)
    if task.queue is not None:
        return Said(task.queue, task.queue_field, task.namespace)
    if labels.get(QUEUE):
        return Said(labels[QUEUE], f"Namespace {task.namespace}: {label(QUEUE)}", task.namespace)
    return Said(DEFAULT_QUEUE.name, None, task.namespace)


def slip(said: Said, labels: Mapping[str, str]) -> str | None:
    """Return what is wrong with the namespace's labels where nobody names a queue: one of them may have meant to."""
    wrong = mistaken("Namespace", "label", labels) if said.field is None else None
    return wrong and f"Namespace {said.namespace}: {wrong[0]}: {wrong[1]}"


def answer(tree: Tree, name: str) -> Answer:
    """Return who may use a queue."""
    row = tree.row.get(name)
    if row is None:
        why = tree.missing.get(name)
        return f"Queue {name} is set aside: {why}" if why else f"there is no Queue {name}{_meant(tree, name)}"
    if row in tree.children:
        leaves = _few(tree.queues[leaf].name for leaf in _leaves(tree, row))
        return f"Queue {name} has queues below it, and pods live in leaves: {leaves}"
    queue = tree.queues[row]
    return Doors(queue.namespaces, queue.granted, queue.hold)


def objection(said: Said, given: Answer) -> str | None:
    """Return why a gang must not use the queue that it is in; None: it may."""
    start = f"{said.field}: " if said.field else f"{label(QUEUE)}: missing, and "
    if isinstance(given, str):
        return start + given
    if given.granted and not (said.field and said.field.endswith(label(QUEUE))):
        return f"{start}Queue {said.queue} is for who was granted it, and is named by the label {QUEUE} alone"
    if given.namespaces is None or said.namespace in given.namespaces:
        return None
    only = f"only those of {_few(sorted(given.namespaces))}" if given.namespaces else "and those of no other"
    return f"{start}Queue {said.queue} does not take pods of namespace {said.namespace}, {only}"


def _meant(tree: Tree, name: str) -> str:
    """Name the queue that differs in case and dashes alone. A better search would cost a second with many of both."""
    plain = _plain(name)
    close = next((queue.name for queue in tree.queues if _plain(queue.name) == plain), None)
    return "" if close is None else f", did you mean {close}?"


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _leaves(tree: Tree, row: int) -> Iterable[int]:
    """Return some leaves below a queue, enough for a message."""
    found: list[int] = []
    open_rows = list(reversed(tree.children[row]))
    while open_rows and len(found) <= _NAMED_MAX:
        at = open_rows.pop()
        if at in tree.children:
            open_rows.extend(reversed(tree.children[at]))
        else:
            found.append(at)
    return found


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:_NAMED_MAX]) + (", and more" if len(listed) > _NAMED_MAX else "")
