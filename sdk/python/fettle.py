"""Providers for external types of Fettle, in Python 3.9 or newer, with the standard library only.

Copy this file beside your program. Derive a class from SimpleProvider, or from Provider to read or change many
resources at once, and call run with an object of it:

    import fettle

    class Note(fettle.SimpleProvider):
        def read(self, resource): ...
        def create(self, resource): ...
        def update(self, resource): ...
        def delete(self, resource): ...

    fettle.run(Note())

A program for several types calls run with a dict of providers by kind. The protocol, Fettle/1, is described in docs/external-types.md. Everything that a provider prints goes to stderr.
"""

import json
import sys

PROTOCOL = "Fettle/1"


class Error(Exception):
    """Why a resource could not be read or changed. Its text is shown to people: it must contain no secret."""


class PropertiesError(Error):
    """Why single attributes could not be set, as a dict of texts by name."""

    def __init__(self, errors):
        super().__init__("; ".join("%s: %s" % e for e in sorted(errors.items())))
        self.errors = errors


class NothingToRefresh(Exception):
    """The resource does not need a refresh, such as a service that does not run."""


class Resource:
    """One resource of a request.

    name       the namevar; of several, their values joined
    should     the desired attributes that are managed, as a dict with ensure
    absent     whether the resource is to be removed
    current    the attributes as they were read before, for changes; None if the resource does not exist
    changes    the names of the attributes that are out of sync, for changes
    sensitive  the names of the attributes whose values must not be shown
    related    the resources of the catalog that relations with sendDesired find, as dicts with kind, name, should (their
               desired attributes) and omitted (the names of attributes that are set but not sent)
    notes      lines for the report; append to it
    in_sync    for reads: a dict of True, False or (False, reason) by attribute, for those that Fettle should not compare
    """

    def __init__(self, request):
        self.name = request["name"]
        self.should = request.get("should") or {}
        self.absent = self.should.get("ensure") == "absent"
        self.current = request.get("is")
        self.changes = request.get("changes") or []
        self.sensitive = request.get("sensitive") or []
        self.related = [{"should": {}, "omitted": [], **r} for r in request.get("related") or []]
        self.notes = []
        self.in_sync = {}


class Provider:
    """Reads and changes many resources at once.

    Each method gets a list of Resources. It returns a dict with the answer for each name, or it yields pairs of a name and
    an answer, which are then sent one by one. An answer can be an Exception, which fails that resource alone; an exception
    that is raised fails all that have no answer yet.

    hello has the kind, version and provider of the type.
    """

    hello = {}

    def get(self, resources):
        """Return the current attributes of each resource, None or nothing for one that does not exist."""
        raise NotImplementedError

    def set(self, resources):
        """Create, change or remove each resource. The answers of those that succeed are None, or missing."""
        raise NotImplementedError

    def list(self):
        """Return the attributes of all existing resources, by name."""
        raise Error("this provider cannot list resources")

    def canonicalize(self, resources):
        """Return the desired attributes of each resource in the form in which get returns them."""
        return {r.name: r.should for r in resources}

    def validate(self, resources):
        """Return why changes would fail. Nothing may be changed."""
        return {}

    def check(self, resources):
        """Return an Error for each resource because of which the whole run must not take place. Nothing may be changed, and
        nothing was changed yet. Any other exception ends the program: then only its resources fail."""
        return {}

    def refresh(self, resources):
        """React to a notification."""
        raise Error("this provider cannot refresh resources")


class SimpleProvider(Provider):
    """Reads and changes one resource at a time."""

    def read(self, resource):
        """Return the current attributes, or None if the resource does not exist."""
        raise NotImplementedError

    def create(self, resource):
        raise NotImplementedError

    def update(self, resource):
        raise NotImplementedError

    def delete(self, resource):
        raise NotImplementedError

    def get(self, resources):
        return _each(resources, self.read)

    def set(self, resources):
        return _each(resources, self._change)

    def _change(self, resource):
        if resource.absent:
            return self.delete(resource)
        if resource.current is None:
            return self.create(resource)
        return self.update(resource)


def _each(resources, method):
    for r in resources:
        try:
            yield r.name, method(r)
        except Exception as e:  # it fails this resource alone
            yield r.name, e


def run(provider, requests=sys.stdin, answers=sys.stdout):
    """Answer all requests, and exit. Errors of single resources are part of the answers."""
    if answers is sys.stdout:
        sys.stdout = sys.stderr  # a print would not be an answer
    for line in requests:
        if not line.strip():
            continue
        request = json.loads(line)
        if request["request"] == "hello":
            provider = _hello(provider, request)
            _write(answers, {"answer": "hello", "protocol": PROTOCOL})
        else:
            _answer(provider, request, answers)


def _hello(provider, request):
    if request["protocol"].split("/")[0] != PROTOCOL.split("/")[0]:
        raise SystemExit("unknown protocol %s" % request["protocol"])
    if isinstance(provider, dict):
        if request["kind"] not in provider:
            raise SystemExit("this program has no kind %s" % request["kind"])
        provider = provider[request["kind"]]
    provider.hello = request
    return provider


def _answer(provider, request, answers):
    name = request["request"]
    if name == "list":
        _list(provider, answers)
        return
    resources = [Resource(r) for r in request.get("resources") or []]
    handle = {
        "get": _Answers("state", provider.get),
        "canonicalize": _Answers("state", provider.canonicalize),
        "set": _Answers(None, provider.set),
        "validate": _Answers(None, provider.validate),
        "check": _Answers(None, provider.check, only=Error),
        "refresh": _Answers(None, provider.refresh),
    }.get(name)
    if handle is None:
        for r in resources:
            _write(answers, {"answer": name, "name": r.name, "error": "unknown request %s" % name})
        return
    handle.write(name, resources, answers)


def _list(provider, answers):
    try:
        for name, state in sorted(provider.list().items()):
            _write(answers, {"answer": "list", "name": name, "state": state})
    except Exception as e:
        _write(answers, {"answer": "list", "error": _text(e)})


class _Answers:
    def __init__(self, field, method, only=Exception):
        self.field, self.method, self.only = field, method, only  # only: exceptions that are answers

    def write(self, request, resources, answers):
        """Write an answer for each resource as soon as it is known."""
        open_ = {r.name: r for r in resources}
        try:
            result = self.method(resources) or {}
            for name, answer in result.items() if isinstance(result, dict) else result:
                if name in open_:
                    if isinstance(answer, Exception) and not isinstance(answer, self.only):
                        raise answer
                    _write(answers, self._line(request, open_.pop(name), answer))
        except self.only as e:
            for r in open_.values():
                _write(answers, self._line(request, r, e))
            return
        for r in open_.values():
            _write(answers, self._line(request, r, None))

    def _line(self, request, resource, answer):
        line = {"answer": request, "name": resource.name}
        if resource.notes:
            line["notes"] = resource.notes
        if isinstance(answer, NothingToRefresh):
            line["nothingToRefresh"] = True
        elif isinstance(answer, PropertiesError):
            line["errors"] = answer.errors
        elif isinstance(answer, BaseException):
            line["error"] = _text(answer)
        elif self.field:
            line[self.field] = answer
            if resource.in_sync:
                line["inSync"] = resource.in_sync
        return line


def _text(error):
    text = str(error)
    if not text or not isinstance(error, Error):
        text = ("%s: %s" % (type(error).__name__, text)).rstrip(": ")
    return text


def _write(to, line):
    to.write(json.dumps(line, separators=(",", ":")) + "\n")
    to.flush()
