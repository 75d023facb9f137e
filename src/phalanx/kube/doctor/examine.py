"""The whole examination: one thing after the other, and nothing that rests on what failed before."""

from collections.abc import Awaitable
from dataclasses import replace

from phalanx.engine.policy import Policy
from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import Access, AccessError, load_access
from phalanx.kube.doctor import admission, clock, kinds, lease, neighbours, port, queue_definition, rights, server
from phalanx.kube.doctor.finding import Finding, Mark, all_skipped, failed, ok, skipped, unread
from phalanx.kube.doctor.grant import grant_command
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.fault import Fault, Trouble, silent
from phalanx.kube.policy_source import PolicyWatch, config_map_source
from phalanx.policy.load import PolicyError, load_policy

KUBECONFIG, POLICY, RIGHTS, KINDS = "kubeconfig", "policy", "rights", "kinds"
#: Puts our definition of Queues on the cluster.
DEFINE = "phalanx install --print --crds-only | kubectl apply -f -"
#: Puts the policies on it that check what people apply.
ADMIT = "install with --admission (the chart: --set admission.enabled=true)"
_AFTER_SERVER = (
    clock.ABOUT, server.IDENTITY, RIGHTS, KINDS, lease.ABOUT, neighbours.ABOUT, queue_definition.ABOUT,
    admission.ABOUT,
)  # fmt: skip
_AFTER_IDENTITY = _AFTER_SERVER[2:]


async def examine(wish: Wish, our_clock: Clock | None = None) -> list[Finding]:
    """Look at everything that `phalanx run` needs."""
    here = await port.look_at_port(wish.address, wish.port)
    try:
        access = load_access(wish.kubeconfig, wish.context)
    except AccessError as error:
        bad = failed(KUBECONFIG, str(error), "give another --kubeconfig or --context, or mend the file")
        return [bad, *all_skipped((server.SERVER, *_AFTER_SERVER), "see kubeconfig"), here]
    async with Client(access, connections=8) as client:
        found = await Examination(client, access, wish, our_clock or Clock()).all()
    return [*found, here]


class Examination:
    """One look at one cluster."""

    def __init__(self, client: Client, access: Access, wish: Wish, our_clock: Clock) -> None:
        self._client = client
        self._access = access
        self._wish = wish
        self._clock = our_clock
        self._user: server.User | None = None

    def explain(self, fault: Fault) -> Fault:
        """Say of refused credentials what can be seen on them."""
        return server.refused_credentials(fault, self._access, self._clock.now())

    async def all(self) -> list[Finding]:
        """Return every finding about the cluster, in order."""
        found = await server.look_at_server(self._client, self._access, self._clock)
        if found[-1].mark is Mark.FAILED:
            there = {one.about for one in found}
            rest = [about for about in _AFTER_SERVER if about not in there]
            return [*found, *all_skipped(rest, f"see {found[-1].about}"), *await self._names_only()]
        identity, user = await server.look_at_identity(self._client, self._access, self._clock.now())
        if identity.mark is Mark.FAILED:
            unasked = all_skipped(_AFTER_IDENTITY, "see identity")
            return [*found, identity, *unasked, *await self._names_only()]
        self._user = user
        found += [identity, await self._try(RIGHTS, self._rights())]
        try:
            found += await kinds.look_at_kinds(self._client)
        except Unanswered as silence:
            found.append(skipped(KINDS, silent(silence).why))
        return found + await self._others()

    async def _others(self) -> list[Finding]:
        wish, client = self._wish, self._client
        policy, finding = await self._policy()
        found = []
        if wish.lease is not None and not wish.dry_run:
            found.append(await self._try(lease.ABOUT, lease.look_at_lease(client, wish.lease)))
        found += await self._surroundings(policy, events=True)
        names = policy.scheduler_names if policy is not None else ()
        found.append(await self._try(admission.ABOUT, admission.look_at_admission(client, ADMIT, names)))
        return [*found, finding]

    async def surroundings(self) -> list[Finding] | None:
        """Look at what `phalanx run` does not find out by itself; None: the server is away."""
        found = await server.look_at_server(self._client, self._access, self._clock)
        if found[-1].mark is Mark.FAILED:
            return None
        return [*found, *await self._surroundings((await self._policy())[0], events=False)]

    async def lacking(self) -> Fault | None:
        """Return the fault of missing rights, if there are any."""
        if self._user is None:
            self._user = (await server.look_at_identity(self._client, self._access, self._clock.now()))[1]
        needed = self._needed()
        try:
            lacked = await rights.missing(self._client, needed)
        except rights.RightsUnknown:
            return None
        if not lacked:
            return None
        finding = self._lacked(lacked)
        blocking = any(right.blocking for right in lacked)
        return Fault(Trouble.RIGHTS, finding.says, finding.remedy, blocking=blocking)

    async def _surroundings(self, policy: Policy | None, *, events: bool) -> list[Finding]:
        look = queue_definition.look_at_queue_definition(self._client, DEFINE)
        # A dry run gets in nobody's way.
        others = [] if self._wish.dry_run else [await self._neighbours(policy, events=events)]
        return [*others, await self._try(queue_definition.ABOUT, look)]

    def _needed(self) -> list[rights.Right]:
        return rights.needed(self._wish)

    async def _rights(self) -> Finding:
        needed = self._needed()
        try:
            lacked = await rights.missing(self._client, needed)
        except rights.RightsUnknown as unknown:
            return unread(RIGHTS, unknown.reply)
        return self._lacked(lacked) if lacked else ok(RIGHTS, f"all that a {self._who} needs")

    @property
    def _who(self) -> str:
        return "dry run" if self._wish.dry_run else "scheduler"

    def _lacked(self, lacked: list[rights.Right]) -> Finding:
        user = self._user.name if self._user is not None else "this user"
        remedy = grant_command(user, self._wish)
        return failed(RIGHTS, rights.lacking(user, lacked, self._needed(), self._who), remedy)

    async def _neighbours(self, policy: Policy | None, *, events: bool) -> Finding:
        if policy is None:
            return skipped(neighbours.ABOUT, "the policy, which says the scheduler names, cannot be read")
        look = neighbours.look_at_neighbours(self._client, policy.scheduler_names, self._wish.lease, events=events)
        return await self._try(neighbours.ABOUT, look)

    async def _names_only(self) -> list[Finding]:
        """Without a server a policy in a ConfigMap cannot be read; any other can."""
        if self._wish.policy_config_map is not None:
            return [skipped(POLICY, "it is in a ConfigMap")]
        return [(await self._policy())[1]]

    async def _policy(self) -> tuple[Policy | None, Finding]:
        wish = self._wish
        try:
            if wish.policy_config_map is not None:
                policy = await PolicyWatch(config_map_source(self._client, *wish.policy_config_map)).first()
            else:
                policy = load_policy(wish.policy)
        except PolicyError as error:
            return None, failed(POLICY, str(error), self._policy_remedy())
        names = tuple(dict.fromkeys((*policy.scheduler_names, *wish.scheduler_names)))
        says = f"{policy.name}: schedules pods whose schedulerName is {' or '.join(names)}"
        return replace(policy, scheduler_names=names), ok(POLICY, says)

    def _policy_remedy(self) -> str:
        if self._wish.policy_config_map is None:
            return "give another --policy; `phalanx policy check FILE` names every mistake in a file"
        namespace, name = self._wish.policy_config_map
        return f"kubectl -n {namespace} edit configmap {name}; the policy is its key policy.yaml"

    async def _try(self, about: str, look: Awaitable[Finding]) -> Finding:
        """A server that goes away in the middle is no reason to say nothing."""
        try:
            return await look
        except Unanswered as silence:
            return skipped(about, silent(silence).why)
