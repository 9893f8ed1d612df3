"""Writes what the spec of an ExternalType has about an Ansible module as JSON, for fettle type new:

    fettle_ansible_describe.py MODULE

The types of options come from the module's code, their descriptions from its documentation.
"""

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile

import fettle_ansible

TYPES = {"str": "string", "path": "string", "raw": "string", "jsonarg": "string", "json": "string", "bytes": "string", "bits": "string",
         "bool": "boolean", "int": "integer", "float": "number"}
SECRET = re.compile(r"passw|passphrase|secret|token|private_?key|credential", re.IGNORECASE)


class Recorded(Exception):
    """The arguments of AnsibleModule."""


def documentation(name):
    """Return the documentation of a module."""
    run = subprocess.run(["ansible-doc", "--json", "--type", "module", name], capture_output=True, text=True)
    found = json.loads(run.stdout or "{}")
    if not found:
        raise SystemExit("Ansible has no module %s" % name)
    (full, page), = found.items()
    doc = page["doc"]
    if doc.get("has_action"):
        raise SystemExit("part of the module %s runs on Ansible's controller, which Fettle does not have: use a kind of Fettle, or another module" % name)
    if not doc["filename"].endswith(".py"):
        raise SystemExit("the module %s is not written in Python" % name)
    return "%s.%s" % (doc["collection"], full.split(".")[-1]), doc


def arguments(full):
    """Return the arguments with which a module makes its AnsibleModule."""
    import ansible.module_utils.basic as basic

    def record(self, argument_spec, *args, **kwargs):
        names = ("bypass_checks", "no_log", "mutually_exclusive", "required_together", "required_one_of", "add_file_common_args", "supports_check_mode")
        raise Recorded(argument_spec, dict(zip(names, args), **kwargs))

    basic.AnsibleModule.__init__ = record
    try:
        runpy.run_module(fettle_ansible.python_name(full), run_name="__main__", alter_sys=True)
    except Recorded as e:
        spec, rest = e.args
        if rest.get("add_file_common_args"):
            spec = {**basic.FILE_COMMON_ARGUMENTS, **spec}
        return spec, rest
    raise SystemExit("the module %s does not say what its options are" % full)


def schema(option):
    kind = option.get("type", "str")
    if not isinstance(kind, str):
        return {"type": "string"}
    if kind == "list":
        element = dict(option, type=option.get("elements", "str"))
        return {"type": "array", "items": schema({k: v for k, v in element.items() if k != "elements"})}
    if kind == "dict":
        fields = option.get("options")
        if not fields:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        required = sorted(k for k, o in fields.items() if o.get("required"))
        return {"type": "object", "properties": {k: schema(o) for k, o in fields.items()}, **({"required": required} if required else {})}
    result = {"type": TYPES.get(kind, "string")}
    if option.get("choices") and result["type"] != "boolean":
        result["enum"] = list(option["choices"])
    return result


def plain(lines):
    """Return documentation without Ansible's marks."""
    text = " ".join(lines if isinstance(lines, list) else [lines or ""])
    return re.sub(r"\b[A-Z]\(([^)]*)\)", r"\1", re.sub(r"\s+", " ", text)).strip()


def attribute(name, option, page):
    described = plain(page.get("description"))[:2000] or "The option %s of the module." % name
    default = option.get("default")
    if default not in (None, ""):
        described += " Ansible's default is %s." % json.dumps(default)
    found = {"name": name, "description": described, "behaviour": "Parameter", "schema": schema(option)}
    if option.get("required"):
        found["required"] = True
    if option.get("no_log") or option.get("no_log") is None and SECRET.search(name):
        found["sensitive"] = True
    return found


def describe(name):
    full, doc = documentation(name)
    options, rest = arguments(full)
    if not rest.get("supports_check_mode"):
        raise SystemExit("the module %s has no check mode, so Fettle cannot tell whether it has something to change: run it in an Exec with a condition" % full)
    reserved = sorted({"task", "converged", "ensure"} & set(options))
    if reserved:
        raise SystemExit("the module %s has the option %s, which is a name of Fettle's: write a program of your own" % (full, reserved[0]))
    state = options.get("state", {})
    choices = state.get("choices") or []
    values = [c for c in choices if c != "absent"] if "absent" in choices else []
    values.sort(key=lambda c: c != "present")
    spec = {
        "description": plain(doc.get("short_description")) + ".\n\n" + plain(doc.get("description"))[:8000],
        "attributes": [
            {"name": "task", "behaviour": "Namevar", "schema": {"type": "string"}, "description": "The name of the task, in any words. Defaults to metadata.name."},
            {"name": "converged", "default": "true", "schema": {"type": "boolean", "enum": [True]},
             "description": "Whether the module has nothing to change, which it tells in check mode."},
        ],
        "providers": [{"name": "ansible", "command": ["./fettle_ansible.py", full] + (["--state=" + values[0]] if values else []),
                       "needs": {"commands": ["python3", "ansible"], "remedy": "install the package ansible"}}],
    }
    if values:
        spec["ensure"] = {"values": values, **({"default": state["default"]} if state.get("default") in values else {})}
    else:
        spec["description"] += "\n\nNothing undoes what the module did: a resource that is absent is ignored."
    pages = doc.get("options") or {}
    for name in sorted(options, key=lambda n: (not options[n].get("required"), n)):
        if not (values and name == "state"):
            spec["attributes"].append(attribute(name, options[name], pages.get(name, {})))
    spec["relations"] = [{"relation": "require", "kind": "File", "name": "$" + n} for n in sorted(options) if options[n].get("type") == "path"]
    return spec


if __name__ == "__main__":
    directory = tempfile.mkdtemp(prefix="fettle-ansible-")
    os.environ.update(HOME=directory, ANSIBLE_LOCAL_TEMP=directory, LC_ALL="C.UTF-8")
    print(json.dumps(describe(sys.argv[1])))
