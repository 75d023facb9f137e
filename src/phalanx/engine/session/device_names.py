"""The names of shared devices: the ids of the groups that sit on them."""

from phalanx.model.sharing import NOWHERE, SharedTable


class Names(dict[int, tuple[str, ...]]):
    """The id of the group on each row, worked out when it is asked for, as what a task that shares it alone says."""

    def __init__(self, table: SharedTable) -> None:
        super().__init__((row, (name,)) for row, name in table.groups.items())
        self[NOWHERE] = ()
        self._index = table.index

    def __missing__(self, row: int) -> tuple[str, ...]:
        name = self[row] = (str(int(self._index[row])),)
        return name
