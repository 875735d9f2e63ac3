# SPDX-License-Identifier: Apache-2.0
"""A small client of the WebDriver protocol for headless Chromium, with the standard library only."""
import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

PROGRAMS = ("chromedriver", "chromium")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync", "--no-first-run",
         "--metrics-recording-only", "--window-size=1200,800"]


def is_installed():
    return all(shutil.which(program) for program in PROGRAMS)


class Browser:
    """A context manager: Chromium with a fresh profile. It ends with the block."""

    def __enter__(self):
        self._profile = tempfile.mkdtemp(prefix="zklock-page.")
        self._driver = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", shutil.which("chromedriver"), "--port=0"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            port = next(found[1] for line in self._driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
            self._base = f"http://127.0.0.1:{port}"
            options = {"binary": shutil.which("chromium"), "args": [*FLAGS, f"--user-data-dir={self._profile}"]}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
            self._base += f"/session/{answer['sessionId']}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if "/session/" in getattr(self, "_base", ""):
            try:
                self._call("DELETE", "")
            except (OSError, RuntimeError):
                pass
        self._driver.terminate()
        self._driver.wait()
        self._driver.stdout.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Returns the result of JavaScript: the body of a function."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """As run(), but the last argument of the script is the function that receives the result."""
        return self._call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments, timeout=20):
        """Waits until the JavaScript returns something true, and returns that."""
        end = time.monotonic() + timeout
        while True:
            found = self.run(script, *arguments)
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"not true in {timeout} s: {script}\n{self.run('return document.body.innerText')}")
            time.sleep(0.1)

    def keys(self, text):
        """Presses the keys one after the other. \\ue013, \\ue015: up, down; \\ue007: Enter; \\ue00c: Escape."""
        actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def devtools(self, command, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        return self._call("POST", "/se/log", {"type": "browser"})

    def screenshot(self, file):
        with open(file, "wb") as picture:
            picture.write(base64.b64decode(self._call("GET", "/screenshot")))
