import asyncio

import pytest

from rails.review.session_list import SessionList
from rails.review.tui.app import ReviewApp


@pytest.fixture
def review(tmp_path):
    """Run the application over the sessions below ``tmp_path``: ``steps`` is a coroutine that gets the pilot."""

    def run(steps, session_id=None, size=(120, 36)):
        async def main():
            app = ReviewApp(SessionList(tmp_path / ".rails"), session_id)
            async with app.run_test(size=size) as pilot:
                await pilot.pause()
                await steps(pilot)

        asyncio.run(main())

    return run


@pytest.fixture
def settled():
    """Wait until what threads are reading is on the screen."""

    async def wait(pilot):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    return wait
