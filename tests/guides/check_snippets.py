#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ blocks of README.md and the guides, as one source.

    tests/guides/check_snippets.py [COMPILER]

A block is either a part of a function, or it declares functions and types. The parts use the names that PARTS declares. A
block that is one of the programs in examples/ is left out, because the build compiles those. So are the twins in TWIN_PAGES,
and the blocks with Boost.Asio if it is missing.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from pages import PAGES, ROOT, TWIN_PAGES, blocks  # noqa: E402

HEADER = """
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <zklock/zklock.h>
using namespace std::chrono_literals;
void log(const std::string&);
void make_report(zklock::FencingToken, std::stop_token);
"""
ASIO = "#include <boost/asio.hpp>\n"
# The parameters of the function around a part. A block that declares one of these names hides it.
PARTS = ("zklock::Client& client", "zklock::ClientOptions& options", "zklock::ReentrantMutex& mutex",
         "boost::asio::io_context& io")
DECLARES = re.compile(r"\s*(?:template\b|struct\b|class\b|[\w:<>]+ \w+\([^;]*\) (?:try )?\{)")


def has_asio(compiler):
    run = subprocess.run([compiler, "-std=c++20", "-E", "-x", "c++", "-", "-o", "/dev/null"], input=ASIO, text=True,
                         stderr=subprocess.DEVNULL)
    return run.returncode == 0


def function(number, text, with_asio):
    names = [part for part in PARTS if with_asio or "asio" not in part]
    return f"void part_{number}({', '.join('[[maybe_unused]] ' + name for name in names)}) {{ {{\n{text}}} }}\n"


def source(with_asio):
    parts = [HEADER, ASIO if with_asio else ""]
    count = 0
    for page in [each for each in PAGES if each not in TWIN_PAGES]:
        for line, text in blocks(page, "cpp"):
            if "SPDX-License-Identifier" in text or ("asio::" in text and not with_asio):
                continue
            count += 1
            code = text if DECLARES.match(text) else function(count, text, with_asio)
            begin = line if code is text else line - 1
            parts.append(f'namespace block_{count} {{\n#line {begin} "{page.relative_to(ROOT)}"\n')
            parts.append(code + "}\n")
            if code is text:
                parts.append(f"using namespace block_{count};\n")
    return "".join(parts), count


def main(compiler):
    text, count = source(has_asio(compiler))
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "snippets.cpp"
        path.write_text(text, encoding="utf-8")
        run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable",
                              f"-I{ROOT}/include", str(path)], check=False)
    print(f"{count} blocks")
    return run.returncode or count == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "g++"))
