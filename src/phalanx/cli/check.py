"""`phalanx check`: the doctor. Looks at everything that `phalanx run` needs, and changes nothing."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

_BARE: dict[str, Any] = {"negative": (), "show_default": False}


def register(app: App) -> None:
    """Add the command."""
    app.command(check)


def check(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    policy: str = "default",
    policy_config_map: str | None = None,
    scheduler_name: Annotated[tuple[str, ...], Parameter(**_BARE)] = (),
    lease_namespace: str = "phalanx-system",
    lease_name: str = "phalanx",
    address: str = "127.0.0.1",
    port: int = 10261,
    dry_run: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"])] = "text",
    grant: str | None = None,
) -> int:
    """Look at everything that `phalanx run` needs on a cluster, and say what mends what is wrong.

    Nothing is written. The exit status is 0 when `phalanx run` works as it is, 2 when something failed.

    Parameters
    ----------
    kubeconfig
        A kubeconfig file. Without it: KUBECONFIG, the usual file, or the service account of the pod we run in.
    context
        The context in it, if not the current one.
    policy
        The name of a preset, or a policy file.
    policy_config_map
        `namespace/name` of a ConfigMap whose key policy.yaml is the policy.
    scheduler_name
        A scheduler name to serve besides the policy's; may be given several times.
    lease_namespace
        The namespace of the lease.
    lease_name
        The name of the lease.
    address
        Where /healthz, /readyz and /metrics would be served.
    port
        The port for them; 0 takes a free one.
    dry_run
        What `phalanx run --dry-run` needs, which is less: it writes nothing.
    output
        text for people, json for programs.
    grant
        Look at nothing; print the manifests that give this user what `phalanx run` needs, for kubectl apply -f -.
    """
    # The network libraries are loaded only now: `phalanx --help` does without.
    from phalanx.cli import checking  # noqa: PLC0415
    from phalanx.kube.doctor.wish import Wish  # noqa: PLC0415

    config_map = None
    if policy_config_map is not None:
        namespace, slash, name = policy_config_map.partition("/")
        if not (namespace and slash and name):
            raise Mistake(f"check: --policy-config-map: found {policy_config_map}, allowed is namespace/name")
        config_map = (namespace, name)
    lease = (lease_namespace, lease_name)
    wish = Wish(kubeconfig, context, policy, config_map, scheduler_name, lease, address, port, dry_run)
    return checking.granted(grant, wish) if grant is not None else checking.checked(wish, output)
