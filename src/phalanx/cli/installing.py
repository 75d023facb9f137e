"""What was chosen about an installation: files of values, and the options that count more."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from phalanx.cli.output import Mistake
from phalanx.kube.install import Installation, InstallError, ValuesError, image_of, read_values


@contextmanager
def mistakes(command: str) -> Iterator[None]:
    """Turn what is wrong with a choice into one line."""
    try:
        yield
    except (InstallError, ValuesError) as error:
        raise Mistake(f"{command}: {error}") from None
    except OSError as error:
        raise Mistake(f"{command}: --values {error.filename}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise Mistake(f"{command}: --values: not UTF-8 text at byte {error.start}") from None


def installation(
    name: str,
    namespace: str,
    files: tuple[Path, ...],
    image: str | None = None,
    scheduler_names: tuple[str, ...] = (),
    *,
    admission: bool = False,
) -> Installation:
    """Return what was chosen; an option counts more than a file."""
    values = read_values([(str(file), file.read_text("utf-8")) for file in files])
    if image is not None:
        given = image_of(image)
        values = msgspec.structs.replace(
            values,
            image=msgspec.structs.replace(
                values.image, repository=given.repository, tag=given.tag, digest=given.digest
            ),
        )
    if scheduler_names:
        values = msgspec.structs.replace(values, scheduler_names=list(scheduler_names))
    if admission:
        values = msgspec.structs.replace(values, admission=msgspec.structs.replace(values.admission, enabled=True))
    return Installation(name, namespace, values)
