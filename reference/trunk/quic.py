"""A QUIC server and client of aioquic: the client asks for a file and writes what it gets.

  quic.py serve ADDRESS PORT FILE CERTIFICATE KEY
  quic.py fetch ADDRESS PORT FILE"""

import asyncio
import ssl
import sys

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration

WINDOW = 16_000_000


def configuration(**words):
    # Windows are never the limit.
    return QuicConfiguration(
        alpn_protocols=["file"], idle_timeout=60, max_data=WINDOW, max_stream_data=WINDOW, **words
    )


async def run_server(address, port, path, certificate, key):
    options = configuration(is_client=False)
    options.load_cert_chain(certificate, key)
    with open(path, "rb") as file:
        content = file.read()

    async def answer(reader, writer):
        await reader.read()
        writer.write(content)
        writer.write_eof()

    def spawn(reader, writer):
        tasks.add(asyncio.get_running_loop().create_task(answer(reader, writer)))

    tasks = set()
    await serve(address, int(port), configuration=options, stream_handler=spawn)
    await asyncio.Future()


async def run_client(address, port, path):
    options = configuration(verify_mode=ssl.CERT_NONE)
    async with connect(address, int(port), configuration=options) as client:
        reader, writer = await client.create_stream()
        writer.write(b"get")
        writer.write_eof()
        content = await reader.read()
    with open(path, "wb") as file:
        file.write(content)


asyncio.run({"serve": run_server, "fetch": run_client}[sys.argv[1]](*sys.argv[2:]))
