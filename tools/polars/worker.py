"""A worker as the double of the scheduler knows one: it listens on a port of its own, and registers by its name.

The name is in PC_CUBLET__instance_id, where a Polars node finds it. It registers by a line `NAME PORT` to the address
in OSTLER_DOUBLE, if there is one, and is ready when it has. SIGTERM ends it politely.
"""
import os
import pathlib
import signal
import socket
import sys
import tempfile

NAME = os.environ["PC_CUBLET__instance_id"]
MARK = pathlib.Path(os.environ.get("OSTLER_READY_DIR", f"{tempfile.gettempdir()}/ostler-polars")) / NAME


def stop(*_):
    MARK.unlink(missing_ok=True)
    sys.exit(0)


def main():
    signal.signal(signal.SIGTERM, stop)
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    registered = None
    if "OSTLER_DOUBLE" in os.environ:
        host, double = os.environ["OSTLER_DOUBLE"].rsplit(":", 1)
        registered = socket.create_connection((host, int(double)))  # open for as long as it lives
        registered.sendall(f"{NAME} {port}\n".encode())
    MARK.parent.mkdir(parents=True, exist_ok=True)
    MARK.write_text(f"{port}\n")
    while True:
        server.accept()[0].close()


if __name__ == "__main__":
    main()
