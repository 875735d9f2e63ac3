# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper server, `zklock serve` on it, and contenders that are planted by hand."""
import http.client
import importlib.util
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench"))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from proxy import Proxy  # noqa: E402
from server import Servers, dies_with_us, end, is_installed  # noqa: E402,F401

SKIPPED = 77


def missing():
    """Returns what is not installed, or nothing."""
    if not is_installed():
        return "ZooKeeper's server"
    return None if importlib.util.find_spec("kazoo") else "python3-kazoo"


STREAMED = 5_000  # locks in the stream of the page
LEFT_OUT = f"/many/lock-{STREAMED - 1}"


def plant_more_than_streamed(tree):
    """Plants more locks than the page receives. The last one by path is stuck, and LEFT_OUT is left out."""
    tree.contenders_at([f"/many/lock-{i:04}" for i in range(STREAMED)])
    for held, owner in (("/zz/dead-a", "p-1"), ("/zz/dead-b", "p-2"), ("/zz/dead-b", "p-1"), ("/zz/dead-a", "p-2")):
        tree.contender(held, owner=owner, bound=1)
    tree.contender("/zz/stuck", held_for=5400, note="nightly")
    for _ in range(3):
        tree.contender("/zz/stuck", host="web9")


class Tree:
    """Plants znodes of contenders, in sessions of its own."""

    def __init__(self, hosts):
        # pylint: disable=import-outside-toplevel
        from kazoo.client import KazooClient
        from kazoo.security import make_digest_acl
        self.secret = [make_digest_acl("tree", "secret", all=True)]  # only for this client
        self.client = KazooClient(hosts=hosts, timeout=20, auth_data=[("digest", "tree:secret")])
        self.client.start(timeout=30)

    def close(self):
        self.client.stop()
        self.client.close()

    def contender(self, path, prefix="lock-", held_for=None, **texts):
        """Creates a contender's znode. With `held_for`, in seconds, also its hold marker. Returns its name."""
        fields = {"host": "db7", "pid": 812, "application": "billing", **texts}
        if held_for is not None:  # a marker that is older than its contender is ignored
            fields["since"] = int((time.time() - held_for - 1) * 1000)
        data = "zklock 1\n" + "".join(f"{key}={value}\n" for key, value in fields.items())
        return self.plant(path, prefix, data, held_for)

    def plant(self, path, prefix, data="", held_for=None, is_secret=False):
        self.client.ensure_path(path)
        node = self.client.create(f"{path}/{prefix}", data.encode(), ephemeral=True, sequence=True,
                                  acl=self.secret if is_secret else None)
        if held_for is not None:
            since = int((time.time() - held_for) * 1000)
            self.client.create(f"{path}/held-{since}-{node[-10:]}", b"", ephemeral=True)
        return node

    def contenders_at(self, paths):
        """Creates one contender's znode at each of many paths."""
        for first in range(0, len(paths), 1000):
            some = paths[first:first + 1000]
            for parent in {path.rpartition("/")[0] for path in some}:
                self.client.ensure_path(parent)
            for sent in [self.client.create_async(path) for path in some]:
                sent.get()
            data = b"zklock 1\nhost=web1\npid=77\napplication=shop\n"
            for sent in [self.client.create_async(f"{path}/lock-", data, ephemeral=True, sequence=True) for path in some]:
                sent.get()

    def delete(self, node):
        self.client.delete(node)
        parent, _, name = node.rpartition("/")
        for child in self.client.get_children(parent):
            if child.startswith("held-") and child.endswith(name[-10:]):
                self.client.delete(f"{parent}/{child}")


class SlowLink(Proxy):
    """Passes on each packet of the server after `seconds`."""

    def __init__(self, hosts, seconds):
        super().__init__(hosts)
        self.seconds = seconds

    def _forward(self, source, sink):
        if source.getsockname()[1] == self.port:  # from the client
            return super()._forward(source, sink)
        packets = queue.Queue()
        threading.Thread(target=self._read, args=(source, packets), daemon=True).start()
        while True:
            due, data = packets.get()
            time.sleep(max(0, due - time.monotonic()))
            try:
                sink.sendall(data)
            except OSError:
                data = b""
            if not data:
                return self._break((source, sink))

    def _read(self, source, packets):
        data = True
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            packets.put((time.monotonic() + self.seconds, data))


class Serve:
    """A context manager: the process `zklock serve`."""

    def __init__(self, program, hosts, *arguments, root="/", interval="200ms"):
        self.command = [program, "-z", hosts, "serve", "--listen", "127.0.0.1:0", "--interval", interval, *arguments, root]

    def __enter__(self):
        self.process = subprocess.Popen(dies_with_us(self.command), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if found:
                self.port = int(found[1])
                return self
        raise RuntimeError(f"serve ended with {self.process.wait()}")

    def __exit__(self, *_):
        end(self.process)
        self.process.stderr.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def get(self, path, method="GET", **headers):
        """Returns the status, the header fields and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def locks(self):
        """Returns the locks by path; none before the first pass."""
        status, _, body = self.get("/api/locks")
        return {lock["path"]: lock for lock in json.loads(body)["locks"]} if status == 200 else {}

    def sums(self):
        """Returns the sums of /metrics over all paths; none before the first pass."""
        sums = {}
        for line in self.get("/metrics")[2].splitlines():
            found = re.fullmatch(r"zklock_observed_(\w+)(?:\{.*\})? (\S+)", line)
            if found:
                sums[found[1]] = sums.get(found[1], 0) + float(found[2])
        return sums

    def find(self, query):
        """Returns the answer to a query of the locks. REQUIRES: there was a pass."""
        return json.loads(self.get(f"/api/locks?{query}")[2])

    def past(self, path):
        """Returns what is remembered of a lock. REQUIRES: there was a pass."""
        return json.loads(self.get(f"/api/history?path={urllib.parse.quote(path)}")[2])

    def as_of(self):
        """Returns when the newest pass was, in milliseconds. REQUIRES: there was one."""
        return json.loads(self.get("/api/locks")[2])["as_of_ms"]


def wait(condition, timeout=20):
    """Waits until the function returns something true, and returns that."""
    limit = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > limit:
            raise AssertionError(f"not true in {timeout} s")
        time.sleep(0.05)
    return found
