"""A mail server on the loopback interface. It accepts all mail and rejects every sign-in."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"220 mail.example ESMTP\r\n")
        for line in self.rfile:
            self.wfile.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"250 ok\r\n")
            if line.upper().startswith(b"QUIT"):
                return


@contextmanager
def running_mail_server() -> Iterator[int]:
    """Serve on a free port; yield the port."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Session) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
