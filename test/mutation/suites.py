# SPDX-License-Identifier: GPL-2.0-only
"""Tests that can notice a planted mistake, and the command of each.

A command has {build} for a build directory, {tree} for the tree, and {scratch} for an empty folder. Lists of tests are
made where the build is (`run list`), so that a machine that only runs tests needs no further tool.
"""

import json
import os
import subprocess
import sys

# Tests of the same kind as their own part of the source come first; among these, quick suites.
ORDER = ["unit", "compel", "compel_tool", "compel_c", "memory", "cli", "completion", "manual", "zdtm", "mistakes", "rpc", "jobs", "rights",
         "crit", "plugin", "cuda", "together", "pages"]
# Names of cases, printed by a program that loads the runner of a suite.
LOADER = """
import importlib.machinery, importlib.util, json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(sys.argv[1]))
loader = importlib.machinery.SourceFileLoader("suite_runner", sys.argv[1])
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("suite_runner", loader))
sys.argv = [sys.argv[1]]
loader.exec_module(runner)
"""
CASES = LOADER + "print(json.dumps([case if isinstance(case, str) else case.__name__ for case in runner.CASES]))"
SITUATIONS = LOADER + "print(json.dumps([each.name for each in runner.SITUATIONS]))"
# All programs in mode once, every scenario, and a part of the other modes.
ZDTM = LOADER + """
import types
made = []
def build(**more):
    arguments = types.SimpleNamespace(build="/", criu="/", peer=False, jobs=1, modes=None, tests=None, seed=1, sample=False, turns=None,
                                      tested=None, all_programs=False, scratch="/tmp", no_repeat=True, keep=False, list=False)
    vars(arguments).update(more)
    suite = runner.Suite(arguments)
    made.append(suite.scratch)
    return list(suite.runs)
names = dict.fromkeys(build(modes="once") + build(sample=True))
for folder in made:
    runner.shutil.rmtree(folder)
print(json.dumps(list(names)))
"""


def _python(code, *words):
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def _catch(program):
    """Returns the names of the test cases of a Catch2 program."""
    done = subprocess.run([program, "--list-test-names-only"], check=False, stdout=subprocess.PIPE, text=True)
    return [line for line in done.stdout.splitlines() if line]


def _catch_name(name):
    """Escapes a name for Catch2's command line, where a leading dash would begin an option."""
    if name.startswith("-"):
        name = "*" + name[1:]
    return "".join("\\" + letter if letter in "\\,[" else letter for letter in name)


def collect(tree, build):
    """Returns all tests, as dictionaries with suite, name and words."""
    test = os.path.join(tree, "test")
    tests = []

    def add(suite, name, *words):
        tests.append({"suite": suite, "name": f"{suite} {name}" if name else suite, "words": list(words)})

    for suite, program in (("unit", "test/unit/unit_tests"), ("compel", "compel/test/compel_tests"), ("memory", "test/memory/memory_tests")):
        for name in _catch(os.path.join(build, program)):
            add(suite, name, f"{{build}}/{program}", _catch_name(name))
    add("compel_tool", "", "{tree}/compel/test/tool_test.sh", "{build}/compel/compel", "c++", "{tree}/compel")
    add("compel_c", "", "{tree}/compel/test/c_test.sh", "{build}/compel/compel", "cc", "{tree}/compel", "{build}/compel/libcompel.so")
    add("cli", "", "{tree}/test/cli/cli_test.sh", "{build}/bin/criu")
    add("plugin", "", "{tree}/test/plugin/plugin_test.sh", "{build}/bin/criu", "{build}/test/plugin/device_user", "{build}/test/plugin/plugins")
    add("completion", "", "{tree}/test/completion/run", "--build", "{build}")
    for name in ("test_live", "test_images", "test_damaged", "test_compressed", "test_command", "test_cuda_plugin"):
        add("crit", name, "{tree}/test/crit/run", "--build", "{build}", name)
    add("manual", "", "{tree}/scripts/manpage", "--check", "{build}/bin/criu")
    for page in _python(LOADER + "print(json.dumps(runner.PAGES))", os.path.join(test, "pages", "run")):
        add("pages", page, "{tree}/test/pages/run", "--build", "{build}", "--jobs", "2", page)
    for suite in ("mistakes", "rpc", "jobs", "together"):
        for name in _python(CASES, os.path.join(test, suite, "run")):
            add(suite, name, f"{{tree}}/test/{suite}/run", "--build", "{build}", "-j1", "--scratch", "{scratch}", "-t", name)
    for name in _python(SITUATIONS, os.path.join(test, "rights", "run")):
        add("rights", name, "{tree}/test/rights/run", "--build", "{build}", "-j2", "--scratch", "{scratch}", "-t", name)
    for name in _python(CASES, os.path.join(test, "cuda", "run")):
        add("cuda", name, "{tree}/test/cuda/run", "--build", "{build}", "--jobs", "1", name)
    for name in _python(ZDTM, os.path.join(test, "zdtm", "run")):
        program, mode = name.split(":")
        add("zdtm", name, "{tree}/test/zdtm/run", "--build", "{build}", "-j1", "--no-repeat", "--seed", "1", "--scratch", "{scratch}",
            "-m", mode, "-t", program)
    return tests
