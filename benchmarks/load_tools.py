"""What benchmarks of servers share: one HTTP exchange, and what processes use."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path


async def exchange(port: int, request: bytes) -> int:
    """Send one request on a connection of its own, as a device does; the status, or 0 if there was no whole answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return 0
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        place = head.lower().find(b"content-length: ")
        if place >= 0:
            await reader.readexactly(int(head[place + 16 : head.find(b"\r", place)]))
        return int(head[9:12])
    except (OSError, asyncio.IncompleteReadError, ValueError):
        return 0
    finally:
        writer.close()


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def processor_seconds(process: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
