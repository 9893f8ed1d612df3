#!/usr/bin/env python3
"""Runs an Ansible module as the program of an external type of Fettle. It needs Ansible on the host: Debian's ansible or
ansible-core.

    fettle_ansible.py MODULE [--state=VALUE]

MODULE is the full name of a module, such as ansible.builtin.lineinfile. With --state, the value of ensure is the option
state of the module, and VALUE is the one of something that exists and is to be removed. The other attributes are options, except for two: task is only a name, and converged is what this
program answers.

A read runs the module in check mode, for each resource: it is converged if the module has nothing to change. A write
runs it for real. Modules get their options by memory, never by argument, and write nothing to the system's log.
"""

import difflib
import importlib.util
import json
import os
import runpy
import sys
import tempfile

PROTOCOL = "Fettle/1"
OWN = ("task", "converged", "ensure")
MAX_DIFF = 40  # lines


class Module:
    """A module of Ansible's."""

    def __init__(self, name, present):
        self.name = python_name(name)
        self.present = present
        if importlib.util.find_spec(self.name) is None:
            raise SystemExit("Ansible has no module %s on this host: install the package ansible" % name)
        import ansible.module_utils.basic  # once, for all resources

        self.basic = ansible.module_utils.basic

    def run(self, should, check, ensure=None):
        """Run the module, and return its result, a dict."""
        options = {k: v for k, v in should.items() if k not in OWN}
        if self.present:
            options["state"] = ensure or should["ensure"]
        with tempfile.TemporaryDirectory(prefix="fettle-ansible-") as directory:
            options.update(
                _ansible_check_mode=check, _ansible_diff=True, _ansible_no_log=True, _ansible_tmpdir=directory, _ansible_remote_tmp=directory,
                _ansible_keep_remote_files=False, _ansible_module_name=self.name, _ansible_shell_executable="/bin/sh", _ansible_selinux_special_fs=[],
                _ansible_string_conversion_action="ignore", _ansible_verbosity=0, _ansible_debug=False,
            )
            return self._result(json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode())

    def _result(self, arguments):
        """Run the module in a process of its own, because modules exit and change their process."""
        reader, writer = os.pipe()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._become(arguments, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as output:
            text = output.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for line in reversed(text.decode("utf-8", "replace").splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        return {"failed": True, "msg": "the module exited with %d without a result" % status}

    def _become(self, arguments, writer):
        """Become the module. Never returns."""
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writer, 1)
            sys.stdin, sys.stdout = open(0), open(1, "w", closefd=False)
            self.basic._ANSIBLE_ARGS = arguments
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as e:
            code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        except BaseException as e:  # its text may have options
            print("the module ended with %s" % type(e).__name__, file=sys.stderr)
        finally:
            sys.stdout.flush()
            os._exit(code)


def python_name(module):
    """Return the name of a module in Python."""
    parts = module.split(".")
    if len(parts) < 3 or not all(p.isidentifier() for p in parts):
        raise SystemExit("%s is not the full name of a module, such as ansible.builtin.lineinfile" % module)
    if parts[:2] == ["ansible", "builtin"]:
        return "ansible.modules." + ".".join(parts[2:])
    return "ansible_collections.%s.%s.plugins.modules.%s" % (parts[0], parts[1], ".".join(parts[2:]))


def read(module, resource):
    """Return the answer to get."""
    should = resource["should"]
    ensure = should["ensure"]
    if ensure == "absent" and not module.present:
        return {"state": None}  # nothing undoes the module
    result = module.run(should, check=True)
    if failed(result):
        return {"error": message(result)}
    exists = {"task": resource["name"], "ensure": ensure, "converged": True}
    if ensure == "absent":
        exists["ensure"] = module.present
        return {"state": exists if result.get("changed") else None}
    if not result.get("changed"):
        return {"state": exists}
    shown = difference(result, resource)
    if module.present:
        removal = module.run(should, check=True, ensure="absent")
        if failed(removal) or not removal.get("changed"):
            return {"state": None, "inSync": {"ensure": [False, shown]}}
    exists["converged"] = False
    return {"state": exists, "inSync": {"converged": [False, shown]}}


def write(module, resource):
    """Return the answer to set."""
    should = resource["should"]
    if should["ensure"] == "absent" and not module.present:
        return {"error": "this module of Ansible cannot undo what it did"}
    result = module.run(should, check=False)
    if failed(result):
        return {"error": message(result)}
    notes = [result["msg"]] if result.get("msg") and isinstance(result["msg"], str) else []
    return {"notes": notes} if notes else {}


def failed(result):
    return bool(result.get("failed") or result.get("skipped"))


def message(result):
    return str(result.get("msg") or "the module failed without a message")


def difference(result, resource):
    """Return the difference that the module reports as text. The former state may have former secrets, so there is none if
    the resource has secrets."""
    if resource.get("sensitive"):
        return ""
    lines = []
    parts = result.get("diff") or []
    for part in parts if isinstance(parts, list) else [parts]:
        if "prepared" in part:
            lines += str(part["prepared"]).splitlines()
            continue
        before, after = text(part.get("before")), text(part.get("after"))
        lines += difflib.unified_diff(before, after, part.get("before_header") or "before", part.get("after_header") or "after", n=1, lineterm="")
    if len(lines) > MAX_DIFF:
        lines[MAX_DIFF:] = ["and %d lines more" % (len(lines) - MAX_DIFF)]
    return "\n".join(lines)


def text(value):
    if value is None:
        return []
    if not isinstance(value, str):
        value = json.dumps(value, indent=1, sort_keys=True)
    return value.splitlines()


def answer(module, request, resource):
    handle = {"get": read, "set": write}.get(request)
    if handle is None:
        return {"error": "unknown request %s" % request}
    try:
        return handle(module, resource)
    except Exception as e:  # it fails this resource alone
        return {"error": type(e).__name__}


def main(name, flag="--state="):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what modules print is no answer
    os.environ.update(HOME=tempfile.gettempdir(), LC_ALL="C.UTF-8")
    requests = [json.loads(line) for line in sys.stdin.buffer if line.strip()]
    if not requests or requests[0]["request"] != "hello" or requests[0]["protocol"].split("/")[0] != PROTOCOL.split("/")[0]:
        raise SystemExit("expected hello with %s" % PROTOCOL)
    module = Module(name, flag[len("--state="):])
    send(answers, {"answer": "hello", "protocol": PROTOCOL})
    for request in requests[1:]:
        for resource in request.get("resources") or []:
            send(answers, {"answer": request["request"], "name": resource["name"], **answer(module, request["request"], resource)})


def send(answers, line):
    answers.write(json.dumps(line, separators=(",", ":")) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
