"""Services: by which labels those that select a task do so. Known only where the policy asks for it."""

from collections import Counter
from collections.abc import Iterable, Mapping

from phalanx.model.task import Task
from phalanx.world.indexes import subtract


class Services:
    """Takes Services in, by namespace."""

    def __init__(self) -> None:
        #: Shapes tell of Services: some plugin looks at them.
        self.wanted = False
        #: By namespace and name: whom it selects.
        self._known: dict[str, dict[str, Mapping[str, str]]] = {}
        #: The keys of all selectors.
        self._keys: Counter[str] = Counter()

    @property
    def keys(self) -> Iterable[str]:
        """Return the labels of pods that Services read."""
        return self._keys if self.wanted else ()

    def put(self, full_name: str, selector: Mapping[str, str] | None) -> bool:
        """Take in a Service; None: it is gone, or selects nobody. Tell whether it changed."""
        namespace, _, name = full_name.partition("/")
        there = self._known.get(namespace, {})
        if there.get(name) == (selector or None):
            return False
        subtract(self._keys, there.pop(name, {}))
        if selector:
            self._known.setdefault(namespace, {})[name] = selector
            self._keys.update(selector.keys())
        elif not there:
            self._known.pop(namespace, None)
        return True

    def selecting(self, task: Task) -> tuple[tuple[str, str], ...]:
        """Return the labels by which the Services of its namespace select a task, those of all together."""
        if not self.wanted or task.namespace not in self._known:
            return ()
        labels, found = task.labels, dict[str, str]()
        for selector in self._known[task.namespace].values():
            if all(labels.get(key) == value for key, value in selector.items()):
                found.update(selector)
        return tuple(sorted(found.items()))
