#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Types the commands of zklock/guides/tls.md, with a real server behind TLS, and checks what the page says.

    tests/tls/guide_test.py ZKLOCK STUB

STUB: a library that stands in for a C client with TLS. In the commands, the ports are replaced by free ones, and zk1.example.com:2281 by the loopback. Exit status 77: a needed
program is not installed.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
sys.dont_write_bytecode = True
import server  # noqa: E402  pylint: disable=wrong-import-position

GUIDE = HERE.parents[1] / "zklock/guides/tls.md"
NETTY_JARS = [f"/usr/share/java/netty-{part}.jar"
              for part in ("buffer", "codec", "common", "handler", "resolver", "transport",
                           "transport-native-epoll", "transport-native-unix-common")]
SKIPPED = 77
NAME = "CN=nightly,OU=Billing,O=Example"
TIMEOUT = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what):
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"not within {TIMEOUT} s: {what}")


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


class Host:
    """A folder with the guide's files, and the processes that the guide starts."""

    def __init__(self, zklock, stub):
        self.stub = stub
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="zklock-tls."))
        self.secure = free_port()
        self.plain = free_port()
        self.processes = []
        (self.folder / "bin").mkdir()
        (self.folder / "bin/zklock").symlink_to(zklock)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("ZKLOCK_")}
        self.environment["PATH"] = f"{self.folder / 'bin'}:{os.environ['PATH']}"

    def adapted(self, text):
        text = text.replace("zk1.example.com:2281", f"127.0.0.1:{self.secure}")
        text = text.replace("secureClientPort=2281", f"secureClientPort={self.secure}")
        return text.replace("127.0.0.1:2181", f"127.0.0.1:{self.plain}")

    def sh(self, script, code=0):
        """Returns what the script writes."""
        done = subprocess.run(["bash", "-ec", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False)
        assert code in (None, done.returncode), f"{script}exit status {done.returncode}: {done.stdout}"
        return done.stdout

    def start(self, name, command):
        with open(self.folder / f"{name}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(server.dies_with_us(command), cwd=self.folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def start_zookeeper(self, lines):
        (self.folder / "zoo.cfg").write_text(f"tickTime=500\ndataDir={self.folder / 'data'}\nadmin.enableServer=false\n"
                                             f"secureClientPortAddress=127.0.0.1\n{lines}", encoding="utf-8")
        self.start("zookeeper", [server.java(), "-Xmx128m", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1",
                                 "-Dzookeeper.jmx.log4j.disable=true", "-cp",
                                 ":".join([server.CLASS_PATH, *NETTY_JARS]),
                                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"])
        wait_until(lambda: listens(self.secure), "the server listens")

    def start_stunnel(self, name, command=None):
        """Returns the port on which this stunnel accepts."""
        port = int(re.search(r"^accept = 127.0.0.1:(\d+)", (self.folder / f"{name}.conf").read_text(encoding="utf-8"),
                             re.MULTILINE)[1])
        self.start(name, (command or f"stunnel {name}.conf").split())
        wait_until(lambda: listens(port), "stunnel listens")
        return port

    def changed_stunnel(self, name, *changes):
        """Starts a stunnel with other lines. Returns its port."""
        text = (self.folder / "zookeeper.conf").read_text(encoding="utf-8")
        for old, new in (*changes, (f"127.0.0.1:{self.plain}", f"127.0.0.1:{free_port()}")):
            assert old in text, old
            text = text.replace(old, new)
        (self.folder / f"{name}.conf").write_text(text, encoding="utf-8")
        return self.start_stunnel(name)

    def close(self):
        for process in reversed(self.processes):
            server.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)


def type_commands(host):
    """Returns the output of all commands."""
    output = ""
    for omitted, language, block in re.findall(r"(^<!-- not typed: .*? -->\n)?^```(\w*)\n(.*?)^```",
                                               GUIDE.read_text(encoding="utf-8"), re.M | re.S):
        if omitted:
            continue
        block = host.adapted(block)
        if language == "ini":
            (host.folder / "zookeeper.conf").write_text(block, encoding="utf-8")
        elif language == "" and "secureClientPort" in block:
            host.start_zookeeper(block)
        elif block.startswith("stunnel "):
            stunnel, block = block.split(" &\n", 1)
            host.start_stunnel("zookeeper", stunnel)
            output += host.sh(block)
        elif language == "sh":
            output += host.sh(block)
    return output


def check_output(output):
    for line in ("granted", f"subject={NAME}", "Verification: OK", "notAfter="):
        assert line in output, f"{line!r} is missing in {output}"


def connects(host, port):
    """Returns whether a lock is granted, and the error output."""
    done = subprocess.run(["zklock", "-z", f"127.0.0.1:{port}", "-T", "10s", "run", "-w", "3s", "/a", "true"],
                          env=host.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
    return done.returncode == 0, done.stderr


def wrong_peers_are_refused(host):
    host.sh("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj /CN=stranger "
            "-keyout stranger.key -out stranger.pem")
    for name, *change in (("other_host", "checkHost = zk1.example.com", "checkHost = zk2.example.com"),
                          ("other_authority", "CAfile = ca.pem", "CAfile = stranger.pem"),
                          ("no_certificate", "cert = client.pem\nkey = client.key\n", ""),
                          ("stranger", "cert = client.pem\nkey = client.key\n",
                           "cert = stranger.pem\nkey = stranger.key\n")):
        granted, error = connects(host, host.changed_stunnel(name, change))
        assert not granted, f"{name}: {host.log(name)}"
        assert "closed the connection" in error, error
    assert "CERT: Subject checks failed" in host.log("other_host"), host.log("other_host")
    granted, error = connects(host, host.secure)
    assert not granted, "without TLS"


def kazoo_client(host, port):
    from kazoo.client import KazooClient  # pylint: disable=import-outside-toplevel,import-error
    client = KazooClient(hosts=f"127.0.0.1:{port}", timeout=4)
    client.start(timeout=TIMEOUT)
    return client


def id_has_the_order_of_rfc_2253(host):
    from kazoo.exceptions import NoAuthError  # pylint: disable=import-outside-toplevel,import-error
    from kazoo.security import make_acl  # pylint: disable=import-outside-toplevel,import-error
    client = kazoo_client(host, host.plain)
    try:
        for path, name, permitted in (("/right", NAME, True), ("/reverse", "O=Example,OU=Billing,CN=nightly", False)):
            client.create(path, b"x", acl=[make_acl("x509", name, all=True)])
            try:
                client.get(path)
                assert permitted, path
            except NoAuthError:
                assert not permitted, path
    finally:
        client.stop()
        client.close()


def renamed_certificate_is_used(host):
    """Changes the certificate of a running stunnel."""
    host.sh("openssl req -new -key client.key -subj /O=Example/CN=new -out new.csr\n"
            "openssl x509 -req -in new.csr -CA ca.pem -CAkey ca.key -days 2 -extfile client.ext -out new.pem\n"
            "mv new.pem client.pem")
    os.kill(host.processes[1].pid, signal.SIGHUP)
    wait_until(lambda: "Configuration successful" in host.log("zookeeper").partition("reload")[2] or
               host.log("zookeeper").count("Configuration successful") > 1, "stunnel has read its files")
    from kazoo.security import make_acl  # pylint: disable=import-outside-toplevel,import-error
    client = kazoo_client(host, host.plain)
    try:
        client.create("/renamed", b"x", acl=[make_acl("x509", "CN=new,O=Example", all=True)])
        client.get("/renamed")
    finally:
        client.stop()
        client.close()


def one_program_has_both_c_clients(host):
    """Runs the same program with a C client that has TLS, and with Debian's."""
    (host.folder / "zklock.conf").write_text(
        "".join(f"tls-{key} = {host.folder / file}\n"
                for key, file in (("ca", "ca.pem"), ("certificate", "both.pem"), ("key", "both.pem"))), encoding="utf-8")
    command = f"zklock -z 127.0.0.1:{host.plain} --config zklock.conf run /both echo granted"
    assert "the ZooKeeper C client was built without TLS" in host.sh(command, code=None)
    # The stub precedes the runtime of AddressSanitizer.
    command = f"export ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD={host.stub}; exec {command}"
    assert "the limit of open files is 1025" in host.sh(f"ulimit -Sn 1025; {command}", code=None)
    output = host.sh(f"ulimit -Sn 1024; {command}")
    assert "granted" in output, output


def answers_in_plain_text():
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        connection, _ = listener.accept()
        connection.recv(4096)
        connection.sendall(b"this is no TLS\n")
        connection.close()
    threading.Thread(target=answer, daemon=True).start()
    return listener.getsockname()[1]


def causes_are_as_the_table_says(host):
    table = GUIDE.read_text(encoding="utf-8").split("## Find a cause", 1)[1]
    command = host.adapted(re.search(r"^```sh\n(.*?)^```", table, re.M | re.S)[1])
    at = f"127.0.0.1:{host.secure}"
    swapped = free_port()
    host.sh("cp client.pem new.pem")
    host.start("swapped", f"openssl s_server -accept 127.0.0.1:{swapped} -cert new.pem -key client.key -quiet".split())
    wait_until(lambda: listens(swapped), "s_server listens")
    for expected, *changes in (
            ("Verification: OK",),
            ("unable to get local issuer certificate", ("-CAfile ca.pem", "-CAfile stranger.pem -no-CApath")),
            ("hostname mismatch", ("-verify_hostname zk1", "-verify_hostname zk2")),
            ("unsuitable certificate purpose", (at, f"127.0.0.1:{swapped}"), ("-verify_hostname zk1.example.com ", "")),
            ("alert bad certificate", ("-cert client.pem -key client.key", "")),
            ("alert certificate unknown", ("-cert client.pem -key client.key", "-cert stranger.pem -key stranger.key")),
            ("wrong version number", (at, f"127.0.0.1:{answers_in_plain_text()}"))):
        changed = command
        for old, new in changes:
            assert old in changed, old
            changed = changed.replace(old, new)
        output = host.sh(changed, code=None)
        assert expected in output, f"{expected!r} is missing in {output}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    missing = [name for name in ("openssl", "stunnel", "keytool", server.java()) if not shutil.which(name)]
    missing += [jar for jar in NETTY_JARS if not os.path.exists(jar)]
    try:
        import kazoo  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import,import-error
    except ImportError:
        missing.append("python3-kazoo")
    if missing:
        print("not installed:", " ".join(missing))
        return SKIPPED
    host = Host(*map(os.path.abspath, sys.argv[1:]))
    try:
        check_output(type_commands(host))
        for test in (one_program_has_both_c_clients, wrong_peers_are_refused, id_has_the_order_of_rfc_2253, renamed_certificate_is_used,
                     causes_are_as_the_table_says):
            test(host)
            print("passed", test.__name__, flush=True)
    except BaseException:
        print(host.log("zookeeper")[-3000:])
        raise
    finally:
        host.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
