# SPDX-License-Identifier: GPL-2.0-only
"""An asyncio server with clients in the same process, and a pool of processes that computes for it."""

import asyncio
import hashlib
import multiprocessing
import signal
import sys


def compute(number):
    """Work for the pool."""
    value = str(number).encode()
    for _ in range(2000):
        value = hashlib.sha256(value).digest()
    return value.hex()


async def serve(pool, reader, writer):
    """Answers each line with its number's hash."""
    loop = asyncio.get_running_loop()
    while line := await reader.readline():
        answer = loop.create_future()
        pool.apply_async(compute, [int(line) % 50],
                         callback=lambda value, to=answer: loop.call_soon_threadsafe(to.set_result, value))
        writer.write((await answer + "\n").encode())
        await writer.drain()
    writer.close()


async def ask(ending, known, port):
    """A client: the same question has to get the same answer, over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = 0
    while not ending.is_set() or number < 20:
        number += 1
        writer.write(f"{number}\n".encode())
        answer = (await reader.readline()).decode().strip()
        assert len(answer) == 64 and known.setdefault(number % 50, answer) == answer, f"{number}: {answer!r}"
        await asyncio.sleep(0.001)
    writer.close()
    return number


async def run(pool):
    """Until SIGTERM."""
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    server = await asyncio.start_server(lambda reader, writer: serve(pool, reader, writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    known = {}
    clients = [asyncio.create_task(ask(ending, known, port)) for _ in range(8)]
    await asyncio.sleep(0.5)
    print("READY", flush=True)
    counts = await asyncio.gather(*clients)
    assert min(counts) >= 20 and all(known[number] == compute(number) for number in known)
    server.close()


def main():
    """The tree's root."""
    multiprocessing.set_start_method("spawn" if "spawn" in sys.argv else "fork")
    with multiprocessing.Pool(3) as pool:
        try:
            asyncio.run(run(pool))
        except (AssertionError, OSError) as error:
            print(f"FAIL {error}", flush=True)
            return 1
        pool.close()
        pool.join()
    print("PASS", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
