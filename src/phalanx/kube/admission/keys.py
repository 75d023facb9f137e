"""Keys under `phalanx.dev/` on pods, templates of pods and namespaces, checked when somebody applies them."""

from phalanx.dialects.core.parts import DEVICES, DEVICES_ALLOWED, FRACTION, FRACTION_ALLOWED, ONE_OF_THEM
from phalanx.dialects.mistakes import NAME, NAME_ALLOWED, NAME_MAX
from phalanx.dialects.native.annotations import (
    COUNT,
    COUNT_ALLOWED,
    COUNT_MAX,
    FLAGS,
    LABEL,
    LABEL_ALLOWED,
    LEVEL,
    LEVEL_ALLOWED,
)
from phalanx.dialects.native.device_wishes import (
    MEMORY,
    MEMORY_ALLOWED,
    MODELS,
    MODELS_ALLOWED,
    TOGETHER,
    TOGETHER_ALLOWED,
)
from phalanx.dialects.native.parts import GROUPS, GROUPS_ALLOWED
from phalanx.dialects.timestamps import DURATION_ALLOWED
from phalanx.kube.admission import names, templates
from phalanx.kube.admission.document import SCHEDULER_NAMES, Document, Rule, matched, nothing_wrong, validating
from phalanx.kube.admission.durations import seconds
from phalanx.kube.admission.expressions import choice, listed, pattern, shown, text
from phalanx.model.keys import (
    GANG,
    GPU_DEVICES,
    GPU_FRACTION,
    GPU_MEMORY,
    KEYS,
    MAXIMUM,
    MINIMUM,
    PREFIX,
    SCHEDULER_NAME,
    SUBGROUP,
    SUBGROUP_MINIMUM,
    SUBGROUP_TOPOLOGY_EXCLUSIVE,
    TOPOLOGY_EXCLUSIVE,
    TOPOLOGY_EXCLUSIVE_AGAINST,
    Value,
    annotation,
    label,
)

#: What each kind of value allows, in the words of the reader, and when a text `v` is one.
_ALLOWED = {
    Value.NAME: (NAME_ALLOWED, f"v.size() <= {NAME_MAX} && v.matches({pattern(NAME.pattern)})"),
    Value.COUNT: (
        COUNT_ALLOWED,
        f"v.matches({pattern(COUNT.pattern)}) && int(v) >= 1 && int(v) <= {COUNT_MAX}",
    ),
    Value.DURATION: (DURATION_ALLOWED, f"{seconds('v')} >= 0.0"),
    Value.SPAN: (DURATION_ALLOWED, f"{seconds('v')} >= 0.0"),
    Value.FLAG: (", ".join(FLAGS), f"v in {listed(FLAGS)}"),
    Value.LEVEL: (LEVEL_ALLOWED, f"v.matches({pattern(LEVEL.pattern)})"),
    Value.LABEL: (LABEL_ALLOWED, f"v.matches({pattern(LABEL.pattern)})"),
    Value.FRACTION: (FRACTION_ALLOWED, f"v.matches({pattern(FRACTION.pattern)})"),
    Value.DEVICE_COUNT: (DEVICES_ALLOWED, f"v.matches({pattern(DEVICES.pattern)})"),
    Value.GROUPS: (GROUPS_ALLOWED, f"v.matches({pattern(GROUPS.pattern)})"),
    Value.MODELS: (MODELS_ALLOWED, f"v.matches({pattern(MODELS.pattern)})"),
    Value.TOGETHER: (TOGETHER_ALLOWED, f"v.matches({pattern(TOGETHER.pattern)})"),
    Value.MEMORY: (MEMORY_ALLOWED, f"v.matches({pattern(MEMORY.pattern)})"),
}
_OWNERS = "dyn(object).metadata.?ownerReferences.orValue([])"
_L = "variables.labels"
_SPANS = [one.key for one in KEYS if one.value == Value.SPAN]


def policy() -> list[Document]:
    """Return the policy for pods and templates of pods.

    The server reads an object anew for the conditions, for the checks and for the messages, and works out a message
    whether it needs one or not. So the condition already says whether anything is wrong, and an object that is
    right costs no more than that.
    """
    annotations, labels = templates.annotations(), templates.labels()
    wrong = f"[{annotations}].exists(a, [{labels}].exists(l, {_something_wrong()}))"
    astray = templates.astray()
    wrong = " || ".join([wrong, *(f"{keys}.size() > 0" for keys in astray.values())])
    changed = templates.changed([annotations, labels, templates.count(), templates.scheduler(), *astray.values()])
    # What controllers make was judged as a template. If that was before this policy, the scheduler tells.
    by_people = f"!{_OWNERS}.exists(o, o.?controller.orValue(false))"
    return validating(
        "keys",
        matched([templates.PODS, *templates.WITH_TEMPLATE]),
        {"is-wrong": f"{by_people} && ({wrong}) && ({changed})"},
        {
            "annotations": annotations,
            "labels": labels,
            "at": templates.AT,
            "ours": _is_ours(),
            "unknownAnnotation": names.mistaken("Pod", "annotation", "variables.annotations", "variables.at"),
            "unknownLabel": names.mistaken("Pod", "label", _L, "variables.at"),
            "astrayAnnotations": astray["annotation"],
            "astrayLabels": astray["label"],
            "astrayAnnotation": names.astray("annotation", "variables.astrayAnnotations", "variables.at"),
            "astrayLabel": names.astray("label", "variables.astrayLabels", "variables.at"),
            "sentence": f"[variables.annotations].map(a, [{_L}].map(l, {_sentences()})[0])[0]",
            "wrong": "variables.ours ? variables.sentence : ''",
        },
        [nothing_wrong(f"a key under {PREFIX} is wrong")],
    )


def namespaces() -> list[Document]:
    """Return the policy for the labels of namespaces."""
    known = [one for one in KEYS if "Namespace" in one.on]
    name = _ALLOWED[Value.NAME]
    bad = f"{listed(one.key for one in known)}.filter(k, k in {_L} && ![{_L}[k]].all(v, v == '' || ({name[1]})))"
    cases = [
        ("variables.mistaken != ''", "variables.mistaken"),
        ("variables.bad.size() > 0", _found("label", _L, "variables.bad[0]", text(name[0]), "''")),
    ]
    labels = "dyn(object).metadata.?labels.orValue({})"
    return validating(
        "namespaces",
        matched([Rule("", ("namespaces",))]),
        {
            "carries-our-keys": f"{labels}.exists(k, k.startsWith({text(PREFIX)}))",
            "new-or-changed": templates.changed([labels]),
        },
        {
            "labels": labels,
            "mistaken": names.mistaken("Namespace", "label", _L, "''"),
            "bad": bad,
            "wrong": choice(cases, "''"),
        },
        [nothing_wrong(f"a label under {PREFIX} is wrong")],
    )


def _is_ours() -> str:
    """Tell a pod that this installation schedules, or will once the namespace's label has given it a scheduler."""
    chosen = SCHEDULER_NAMES
    given = f"dyn(namespaceObject).metadata.?labels[?{text(SCHEDULER_NAME)}].orValue('') in {chosen}"
    return f"[{templates.scheduler()}].all(s, s in {chosen} || (s == 'default-scheduler' && {given}))"


def _keys_of(value: Value, place: str) -> list[str]:
    return [one.key for one in KEYS if one.value == value and one.place == place and "Pod" in one.on]


def _something_wrong() -> str:
    """Tell whether there is a sentence to say of the annotations `a` and the labels `l`."""
    found = []
    for place, carried in (("annotation", "a"), ("label", "l")):
        known = [(keys, fits) for value, (_, fits) in _ALLOWED.items() if (keys := _keys_of(value, place))]
        bad = choice([(f"k in {listed(keys)}", f"!({fits})") for keys, fits in known], "true")
        found.append(f"{carried}.exists(k, k.startsWith({text(PREFIX)}) && [{carried}[k]].exists(v, {bad}))")
    return " || ".join([*found, *(f"({condition})" for condition, _ in [*_needs(), *_zeros(), *_together()])])


def _sentences() -> str:
    """Return what is wrong with the keys of a pod; a wrong key comes first: often it is why another is missing."""
    first = ("unknownAnnotation", "unknownLabel", "astrayAnnotation", "astrayLabel")
    cases = [(f"variables.{name} != ''", f"variables.{name}") for name in first]
    cases += _needs()
    for place, carried in (("annotation", "a"), ("label", "l")):
        for value, (allowed, fits) in _ALLOWED.items():
            keys = _keys_of(value, place)
            bad = f"{listed(keys)}.filter(k, k in {carried} && ![{carried}[k]].all(v, {fits}))"
            if keys:
                cases.append((f"{bad}.size() > 0", _found(place, carried, f"{bad}[0]", text(allowed))))
    return choice([*cases, *_zeros(), *_together()], "''")


def _needs() -> list[tuple[str, str]]:
    return [
        (
            f"{text(one.key)} in a && !({text(one.needs)} in a)",
            _of(one.key, text(f"means nothing without {one.needs}")),
        )
        for one in KEYS
        if one.needs
    ]


def _zeros() -> list[tuple[str, str]]:
    return [
        (
            f"{text(key)} in a && {seconds(f'a[{text(key)}]')} == 0.0",
            _of(key, text("found 0, allowed is more than zero")),
        )
        for key in _SPANS
    ]


def _found(place: str, carried: str, key: str, allowed: str, at: str = "variables.at") -> str:
    start, end = (annotation if place == "annotation" else label)("\n").split("\n")
    found = shown(f"{carried}[{key}]")
    return " + ".join([at, text(start), key, text(f"{end}: found "), found, "', allowed is '", allowed])


def _of(key: str, *sentence: str) -> str:
    """Return a sentence about one annotation."""
    return " + ".join(["variables.at", text(f"{annotation(key)}: "), *sentence])


def _together() -> list[tuple[str, str]]:
    """Return what cannot stand together though each value is fine."""
    minimum, maximum, part = (f"int(a[{text(key)}])" for key in (MINIMUM, MAXIMUM, SUBGROUP_MINIMUM))
    has = {key: f"{text(key)} in a" for key in (GANG, MINIMUM, MAXIMUM, SUBGROUP, SUBGROUP_MINIMUM)}
    below = text(f", allowed is at least {MINIMUM}, which is ")
    alone = text(f", allowed only with {SUBGROUP}")
    count = templates.count()
    parts = text(f"; the parts of a gang of several objects are named with {SUBGROUP}")
    most = [f"string({minimum})", "', allowed is at most '", templates.COUNT_FIELD, "', which is '", f"string({count})"]
    fraction, memory, devices = (f"{text(key)} in a" for key in (GPU_FRACTION, GPU_MEMORY, GPU_DEVICES))
    exclusive = [f"!({text(key)} in a)" for key in (TOPOLOGY_EXCLUSIVE, SUBGROUP_TOPOLOGY_EXCLUSIVE)]
    return [
        (
            " && ".join([f"{text(TOPOLOGY_EXCLUSIVE_AGAINST)} in a", *exclusive]),
            _of(TOPOLOGY_EXCLUSIVE_AGAINST, text(f"means nothing without {TOPOLOGY_EXCLUSIVE}")),
        ),
        (f"{fraction} && {memory}", _of(GPU_FRACTION, text(f"contradicts {annotation(GPU_MEMORY)}: {ONE_OF_THEM}"))),
        (
            f"{devices} && !({fraction}) && !({memory})",
            _of(GPU_DEVICES, text(f"means nothing without {annotation(GPU_FRACTION)} or {annotation(GPU_MEMORY)}")),
        ),
        (f"{has[GANG]} && !({has[MINIMUM]})", _of(MINIMUM, text("required with a gang, missing"))),
        (
            f"{has[MINIMUM]} && {has[MAXIMUM]} && {maximum} < {minimum}",
            _of(MAXIMUM, "'found '", f"string({maximum})", below, f"string({minimum})"),
        ),
        (
            f"{has[SUBGROUP_MINIMUM]} && !({has[SUBGROUP]})",
            _of(SUBGROUP_MINIMUM, "'found '", f"string({part})", alone),
        ),
        # A gang of several objects has parts, and its minimum is that of all together.
        (
            f"{has[MINIMUM]} && !({has[SUBGROUP]}) && {count} > 0 && {minimum} > {count}",
            _of(MINIMUM, "'found '", *most, parts),
        ),
    ]
