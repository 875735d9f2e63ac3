# SPDX-License-Identifier: Apache-2.0
"""A proxy of a server."""
import socket
import threading


class Proxy:
    """Forwards connections to a server. A context manager."""

    def __init__(self, hosts, address="127.0.0.1", port=0):
        host, server_port = hosts.split(",")[0].rsplit(":", 1)
        self.target = (host, int(server_port))
        self.sockets = []
        self.listener = socket.create_server((address, port))
        self.port = self.listener.getsockname()[1]
        self.hosts = f"{address}:{self.port}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def close(self):
        """Breaks all connections, and refuses new ones."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._break(self.sockets)

    def passes(self, data):  # pylint: disable=unused-argument
        """Returns whether `data` is forwarded. If not, its connection breaks."""
        return True

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            upstream = socket.create_connection(self.target)
            for source, sink in ((client, upstream), (upstream, client)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()
            self.sockets += [client, upstream]

    def _forward(self, source, sink):
        try:
            while (data := source.recv(65536)) and self.passes(data):
                sink.sendall(data)
        except OSError:
            pass
        self._break((source, sink))

    @staticmethod
    def _break(sockets):
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class CuttingProxy(Proxy):
    """Breaks the first connection that sends `mark`, without forwarding that."""

    def __init__(self, hosts, mark):
        super().__init__(hosts)
        self.mark = mark
        self.has_cut = False

    def passes(self, data):
        if self.mark not in data or self.has_cut:
            return True
        self.has_cut = True
        return False


class SilentProxy(Proxy):
    """Forwards nothing after silence(). Its connections stay open."""

    def __init__(self, hosts):
        super().__init__(hosts)
        self._speaks = threading.Event()
        self._speaks.set()

    def __exit__(self, *_):
        self._speaks.set()
        super().__exit__()

    def silence(self):
        self._speaks.clear()

    def passes(self, data):
        self._speaks.wait()
        return True
