"""How a point and the server that forks for it talk: one request, one answer, on a Unix socket.

The request is JSON with the descriptors of the log and of the GPU's lock; half-closing the
connection asks for the end of the worker; the answer is the worker's return code. It may come while
the worker ends, if it had nothing left to do: the lock of its GPU is held until it has.
"""

import json
import socket
import struct
import time

MOST_BYTES = 2**20  # an environment is a few KiB


def peer_uid(connection: socket.socket) -> int:
    """Who is at the other end, as the kernel says (SO_PEERCRED)."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", credentials)[1]


def send_request(connection: socket.socket, request: dict, fds: list[int]) -> None:
    """Length, JSON, and the descriptors with the first byte."""
    text = json.dumps(request).encode()
    socket.send_fds(connection, [struct.pack("!I", len(text))], fds)
    connection.sendall(text)


def receive_request(connection: socket.socket, within_s: float) -> tuple[dict, list[int]]:
    """(request, descriptors). Raises OSError, TimeoutError or ValueError for anything else."""
    end = time.monotonic() + within_s
    connection.settimeout(within_s)
    head, fds, _, _ = socket.recv_fds(connection, 4, 2)
    try:
        (length,) = struct.unpack("!I", head)
        if length > MOST_BYTES or not fds:
            raise ValueError(f"{length} bytes and {len(fds)} descriptors")
        return json.loads(_exactly(connection, length, end)), fds
    except (struct.error, ValueError) as error:
        raise ValueError(f"not a request: {error}") from error


def send_answer(connection: socket.socket, returncode: int) -> None:
    connection.sendall(struct.pack("!i", returncode))


def receive_answer(connection: socket.socket) -> int | None:
    """The return code; None where the server ended without one. Raises TimeoutError."""
    data = connection.recv(4, socket.MSG_WAITALL)
    return struct.unpack("!i", data)[0] if len(data) == 4 else None


def _exactly(connection: socket.socket, length: int, end: float) -> bytes:
    data = b""
    while len(data) < length:
        connection.settimeout(max(0.001, end - time.monotonic()))
        part = connection.recv(length - len(data))
        if not part:
            raise ValueError("it ends early")
        data += part
    return data
