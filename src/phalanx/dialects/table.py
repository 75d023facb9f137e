"""The dialects that are read, each one row; the order is the precedence."""

from phalanx.dialects.core.row import CORE
from phalanx.dialects.dialect import Table
from phalanx.dialects.hami.row import HAMI
from phalanx.dialects.kai.row import KAI
from phalanx.dialects.koordinator.row import KOORDINATOR
from phalanx.dialects.kueue.row import KUEUE
from phalanx.dialects.native.row import NATIVE
from phalanx.dialects.numa.row import NUMA
from phalanx.dialects.unread import UNREAD
from phalanx.dialects.volcano.row import VOLCANO
from phalanx.dialects.workload.row import WORKLOAD

ROWS = (CORE, NATIVE, WORKLOAD, KAI, HAMI, KOORDINATOR, KUEUE, VOLCANO, NUMA, UNREAD)

#: Read through the module (`table.TABLE`), so that a test can put another row in.
TABLE = Table(ROWS)
