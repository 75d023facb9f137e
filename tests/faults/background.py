"""Run an async story beside a test that is not: on a loop and a thread of its own, until a block ends."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

Story = Callable[[Callable[[], None]], Coroutine[None, None, None]]


@contextmanager
def beside(story: Story) -> Iterator[asyncio.AbstractEventLoop]:
    """Start `story(ready)`, go on once it has called `ready`, cancel it at the end. Its failure is the block's."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    failure: list[BaseException] = []

    async def whole() -> None:
        await story(ready.set)

    task = loop.create_task(whole())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 (raised again where somebody sees it)
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        if not failure:
            yield loop
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.run_until_complete(_leave())
        loop.close()
        if failure:
            raise failure[0]


async def _leave() -> None:
    """End what the story left running, and close its connections, whether or not the other side says farewell."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await asyncio.sleep(0.05)
    for transport in list(loop._transports.values()):  # type: ignore[attr-defined]
        transport.abort()
    await asyncio.sleep(0)
