#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `zklock run` on a terminal: keys, job control and the size.

    tests/cli/tty_test.py --zklock PROGRAM --request PROGRAM [NAME...]
"""
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import sys
import termios

from harness import (LOOP, children_of, expect, expect_match, expect_of_short_stop, guardian_of, main, stop,
                     stop_for_a_second, wait_for)


class Terminal:
    """A session with a pseudo-terminal. Its leader plays the shell, and starts one job in the foreground."""

    def __init__(self, case, script, options=(), has_input=True, after="", timeout="8s"):
        """`after`: what the job does after zklock."""
        self.output = b""
        self.has_input = has_input
        self.is_job = not after
        status_read, self.status_write = os.pipe()
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            os.close(status_read)
            arguments = case.arguments(["sh", "-c", script], options, timeout)
            self.be_shell(["/bin/sh", "-c", f'"$@"; {after}', "sh", *arguments] if after else arguments)
        os.close(self.status_write)
        self.status = os.fdopen(status_read, "rb", buffering=0)

    def be_shell(self, arguments):
        """Starts the job, puts it into the foreground, and reports its states. SIGUSR1 continues the job."""
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.close(self.status_write)
            if not self.has_input:
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.execv(arguments[0], arguments)

        def foreground(*_):
            os.tcsetpgrp(0, job)
            os.killpg(job, signal.SIGCONT)

        signal.signal(signal.SIGUSR1, foreground)
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.tcsetpgrp(0, os.getpgrp())
                os.write(self.status_write, b"stopped\n")
            else:
                os.write(self.status_write, f"{os.waitstatus_to_exitcode(status)}\n".encode())
                os._exit(0)

    def read(self):
        """Reads for a moment. Returns all output so far."""
        os.set_blocking(self.master, False)
        try:
            while chunk := os.read(self.master, 4096):
                self.output += chunk
        except OSError:
            pass
        return self.output.decode(errors="replace")

    def await_output(self, text):
        wait_for(lambda: text in self.read(), f"the output {text}")

    def type(self, text):
        os.write(self.master, text.encode())

    def next_state(self):
        assert select.select([self.status], [], [], 60)[0], f"the job does not stop or end: {self.read()}"
        return self.status.readline().decode().strip()

    def zklock(self):
        """Returns the pid of zklock."""
        job, = children_of(self.shell)
        return job if self.is_job else next(iter(children_of(job)))

    def await_running(self):
        """Waits until the command has printed READY, and zklock knows that the command runs.

        zklock forwards a signal only then. The command prints RUNS when it receives SIGUSR2.
        """
        self.await_output("READY")
        os.kill(self.zklock(), signal.SIGUSR2)
        self.await_output("RUNS")

    def hang_up(self):
        os.close(self.master)
        self.master = None

    def close(self):
        os.kill(self.shell, signal.SIGKILL)
        os.waitpid(self.shell, 0)
        if self.master is not None:
            os.close(self.master)


def interrupt_reaches_child_once(case):
    terminal = Terminal(case, "trap 'echo INTERRUPTED' INT; trap 'exit 5' USR1; trap 'echo RUNS' USR2; echo READY; "
                        + LOOP)
    terminal.await_running()
    # The guardian forwards signals in their order when it continues. An interrupt would be the first.
    guardian = guardian_of(terminal.zklock())
    stop(guardian)
    terminal.type("\x03")
    terminal.await_output("INTERRUPTED")
    os.kill(terminal.zklock(), signal.SIGUSR1)
    os.kill(guardian, signal.SIGCONT)
    expect(terminal.next_state(), "5")
    expect(terminal.read().count("INTERRUPTED"), 1)
    terminal.close()


def interrupt_while_waiting_withdraws(case):
    case.start_ready()
    terminal = Terminal(case, "echo READY")
    case.await_contenders(2)
    terminal.type("\x03")
    expect(terminal.next_state(), "130")
    assert "READY" not in terminal.read()
    terminal.close()


def child_reads_the_terminal(case):
    terminal = Terminal(case, "echo READY; read line; echo \"GOT $line\"; exit 4")
    terminal.await_output("READY")
    terminal.type("hello\n")
    terminal.await_output("GOT hello")
    expect(terminal.next_state(), "4")
    terminal.close()


def child_reads_the_terminal_beside_other_input(case):
    terminal = Terminal(case, "echo READY; read line </dev/tty; echo \"GOT $line\"; exit 4", has_input=False)
    terminal.await_output("READY")
    terminal.type("hello\n")
    terminal.await_output("GOT hello")
    expect(terminal.next_state(), "4")
    terminal.close()


def interrupt_reaches_child_of_another_group(case):
    terminal = Terminal(case, "exec perl -e 'setpgrp; exec @ARGV' "
                        f"sh -c \"trap 'echo INTERRUPTED; exit 5' INT; echo READY; {LOOP}\"")
    terminal.await_output("READY")
    terminal.type("\x03")
    expect(terminal.next_state(), "5")
    assert "INTERRUPTED" in terminal.read()
    terminal.close()


def hangup_reaches_child_of_another_session(case):
    file = pathlib.Path(case.folder, "hangup")
    terminal = Terminal(case, f"exec setsid sh -c \"trap 'echo >{file}; exit 8' HUP; echo READY; {LOOP}\"")
    terminal.await_output("READY")
    terminal.hang_up()
    wait_for(file.exists, "the child receives HUP")
    terminal.close()


def killed_child_leaves_the_terminal_as_it_was(case):
    program = ("import os, signal, time; signal.signal(signal.SIGTTOU, signal.SIG_IGN); os.setpgid(0, 0); "
               "os.tcsetpgrp(0, os.getpgrp()); os.system(\"stty -echo\"); print(\"READY\", flush=True); "
               "time.sleep(1000)")
    terminal = Terminal(case, f"exec {sys.executable} -c '{program}'",
                        after="echo CODE $?; set -- $(cat /proc/$$/stat); [ $8 = $$ ] && echo IN FOREGROUND; exit 0")
    terminal.await_output("READY")
    assert not termios.tcgetattr(terminal.master)[3] & termios.ECHO
    os.kill(guardian_of(terminal.zklock()), signal.SIGKILL)
    terminal.await_output("CODE 137")
    expect(terminal.next_state(), "0")
    assert "IN FOREGROUND" in terminal.read()
    assert termios.tcgetattr(terminal.master)[3] & termios.ECHO
    terminal.close()


def short_stop_changes_nothing(case):
    def attempt():
        terminal = Terminal(case, "echo READY; read line; exit 3", timeout="8s")
        terminal.await_output("READY")

        def stop_it():
            terminal.type("\x1a")
            expect(terminal.next_state(), "stopped")
        seconds, waits = stop_for_a_second(case, stop_it, lambda: os.kill(terminal.shell, signal.SIGUSR1))
        terminal.type("a line\n")
        state = terminal.next_state()
        terminal.close()
        return seconds, (waits, state)
    expect_of_short_stop(attempt, (True, "3"))


def long_stop_loses_the_lock(case):
    terminal = Terminal(case, "echo READY; sleep 1000")
    terminal.await_output("READY")
    terminal.type("\x1a")
    expect(terminal.next_state(), "stopped")
    expect(case.run(["true"], ["-w", "60s"])[0], 0)
    os.kill(terminal.shell, signal.SIGUSR1)
    expect(terminal.next_state(), "79")
    expect_match("the lock was lost", terminal.read())
    terminal.close()


def size_reaches_child(case):
    file = pathlib.Path(case.folder, "resized")
    terminal = Terminal(case, f"trap 'echo > {file}; exit 8' WINCH; echo READY; {LOOP}")
    terminal.await_output("READY")
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    expect(terminal.next_state(), "8")
    terminal.close()


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__" and name[0].islower()]

if __name__ == "__main__":
    sys.exit(main(TESTS, lanes=1))
