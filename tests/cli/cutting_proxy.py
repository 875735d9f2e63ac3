# SPDX-License-Identifier: Apache-2.0
"""A proxy of a server that loses one request."""
import socket
import threading


class CuttingProxy:
    """Forwards connections to a server. It closes the first one that sends `mark`, without forwarding that."""

    def __init__(self, hosts, mark):
        host, port = hosts.split(",")[0].rsplit(":", 1)
        self.target = (host, int(port))
        self.mark = mark
        self.has_cut = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.hosts = f"127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            upstream = socket.create_connection(self.target)
            for source, sink in ((client, upstream), (upstream, client)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source, sink):
        try:
            while data := source.recv(65536):
                if self.mark in data and not self.has_cut:
                    self.has_cut = True
                    break
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
