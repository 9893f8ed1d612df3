#!/usr/bin/env python3
"""Zones and records of a PowerDNS server, for the types DNSZone and DNSRecord."""

import ipaddress
import json
import re
import urllib.error
import urllib.parse
import urllib.request

import fettle

SERVER = "http://127.0.0.1:8081"
CREDENTIALS = "/etc/fettle/powerdns.key"
TIMEOUT = 30  # seconds


class Refused(fettle.Error):
    """The server did not accept a request."""


class Server:
    """The HTTP API of one server."""

    def __init__(self, attributes):
        self.url = attributes.get("server", SERVER).rstrip("/") + "/api/v1/servers/localhost/zones"
        try:
            with open(attributes.get("credentialsFile", CREDENTIALS), encoding="ascii") as file:
                self.key = file.read().strip()
        except OSError as e:
            raise fettle.Error("cannot read credentialsFile: %s" % e.strerror) from e

    def call(self, method, path="", body=None):
        """Return the answer, None if what the path names does not exist."""
        request = urllib.request.Request(self.url + path, method=method, headers={"X-API-Key": self.key})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as e:
            if e.code == 404:
                return None
            raise Refused("the server answered %s" % reason(e)) from e
        except OSError as e:
            raise fettle.Error("cannot reach %s: %s" % (self.url, getattr(e, "reason", e))) from e


def reason(error):
    try:
        return "%d: %s" % (error.code, json.loads(error.read())["error"])
    except (ValueError, KeyError):
        return str(error.code)


def absolute(name):
    return name.rstrip(".").lower() + "."


def relative(name):
    return name.rstrip(".").lower()


def path(zone):
    return "/" + urllib.parse.quote(absolute(zone))


class Zones(fettle.SimpleProvider):
    def read(self, resource):
        return self.state(Server(resource.should).call("GET", path(resource.name) + "?rrsets=false"))

    @staticmethod
    def state(zone):
        return zone and {"ensure": "present", "name": relative(zone["name"]), "kind": zone["kind"]}

    def create(self, resource):
        should = resource.should
        Server(should).call("POST", body={
            "name": absolute(should["name"]),
            "kind": should.get("kind", "Native"),
            "nameservers": [absolute(n) for n in should.get("nameservers", [])],
        })

    def update(self, resource):
        Server(resource.should).call("PUT", path(resource.name), {"kind": resource.should["kind"]})

    def delete(self, resource):
        Server(resource.should).call("DELETE", path(resource.name))

    def list(self):
        zones = Server({}).call("GET") or []
        return {relative(z["name"]): self.state(z) for z in zones}


class Records(fettle.Provider):
    """A record is a set of values with one name and type. All records of a zone are read and changed in one request."""

    def canonicalize(self, resources):
        return {r.name: dict(r.should, **canonical(r.should)) for r in resources}

    def get(self, resources):
        for zone in by_zone(resources):
            try:
                found = records(zone.server.call("GET", path(zone.name)))
            except fettle.Error as e:
                yield from ((r.name, e) for r in zone.resources)
                continue
            for r in zone.resources:
                yield r.name, found.get(key(r.should))

    def set(self, resources):
        for zone in by_zone(resources):
            yield from self.patch(zone, zone.resources)

    def patch(self, zone, resources):
        """Change a part of a zone. The server makes all changes or none, so a refused part is divided."""
        try:
            if zone.server.call("PATCH", path(zone.name), {"rrsets": [change(r) for r in resources]}) is None:
                raise fettle.Error("the server has no zone %s: create a DNSZone, or correct zone" % zone.name)
        except Refused as e:
            if len(resources) == 1:
                yield resources[0].name, e
                return
            half = len(resources) // 2
            yield from self.patch(zone, resources[:half])
            yield from self.patch(zone, resources[half:])
        except fettle.Error as e:
            yield from ((r.name, e) for r in resources)
        else:
            yield from ((r.name, None) for r in resources)

    def list(self):
        server, all_ = Server({}), {}
        for zone in server.call("GET") or []:
            for (name, type_), state in records(server.call("GET", path(zone["name"]))).items():
                if type_ != "SOA" and (name, type_) != (relative(zone["name"]), "NS"):  # those belong to the zone
                    all_["%s/%s" % (name, type_)] = dict(state, zone=relative(zone["name"]))
        return all_


class Zone:
    def __init__(self, name, server):
        self.name, self.server, self.resources = name, server, []


def by_zone(resources):
    """Group resources by zone, whose DNSZone knows the server."""
    zones = {}
    for r in resources:
        name = relative(r.should["zone"])
        if name not in zones:
            zones[name] = Zone(name, Server(next((o["should"] for o in r.related if o["kind"] == "DNSZone"), {})))
        zones[name].resources.append(r)
    return zones.values()


def key(attributes):
    return relative(attributes["name"]), attributes["type"]


def records(zone):
    """Return the state of each set of records of a zone, none if the zone does not exist."""
    return {
        (relative(s["name"]), s["type"]): {
            "ensure": "present", "name": relative(s["name"]), "type": s["type"], "ttl": s["ttl"],
            "values": values(s["type"], [r["content"] for r in s["records"] if not r["disabled"]]),
        }
        for s in (zone or {}).get("rrsets", [])
    }


def canonical(attributes):
    """Return the values of a record in the form in which they are read."""
    if "values" not in attributes or "type" not in attributes:
        return {}
    return {"values": values(attributes["type"], attributes["values"])}


def values(type_, texts):
    """Return contents of a type in one form each, without those that are the same."""
    return list(dict.fromkeys(FORMS.get(type_, words)(t) for t in texts))


def address(text):
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        return text  # the server refuses it


def host(text):
    """Return a domain name in lower case, with a dot at its end; other letters than those of ASCII as IDNA has them."""
    if text in ("", "@"):
        return text  # the server refuses them
    try:
        return absolute(text.encode("idna").decode() if not text.isascii() else text)
    except UnicodeError:
        return text


def words(text):
    return " ".join(text.split())


def hosts(text):
    """Return words of which the last one is a domain name, such as 10 mail.example.org."""
    *before, last = text.split() or [text]
    return " ".join(before + [host(last)])


STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def strings(text):
    """Return texts of at most 255 bytes in quotes, each after one space. A text without quotes is one."""
    text = text.strip()
    found = STRING.findall(text)
    if found and not STRING.sub("", text).strip():
        return " ".join(escaped(f) for f in found)
    if '"' in text:
        return text  # the server refuses it
    raw = text.replace("\\", "\\\\").encode()
    return " ".join('"%s"' % escaped(raw[i:i + 255].decode(errors="surrogateescape")) for i in range(0, len(raw) or 1, 255))


def escaped(text):
    """Return a text with bytes outside of ASCII as a zone file has them, such as \\195\\188."""
    return "".join(chr(b) if 32 <= b < 127 else "\\%03d" % b for b in text.encode(errors="surrogateescape"))


def authority(text):
    """Return the flags, the property and the value of a CAA, the last one in quotes."""
    flags, _, rest = text.strip().partition(" ")
    property_, _, value = rest.strip().partition(" ")
    return " ".join((flags, property_.lower(), strings(value)))


FORMS = {"A": address, "AAAA": address, "CAA": authority, "CNAME": hosts, "MX": hosts, "NS": hosts, "PTR": hosts, "SRV": hosts, "TXT": strings}


def change(resource):
    """Return one element of a PATCH."""
    should = resource.should
    rrset = {"name": absolute(should["name"]), "type": should["type"], "changetype": "DELETE" if resource.absent else "REPLACE"}
    if not resource.absent:
        current = resource.current or {}
        rrset["ttl"] = should.get("ttl", current.get("ttl", 3600))
        contents = should.get("values", current.get("values", []))
        rrset["records"] = [{"content": v, "disabled": False} for v in contents]
    return rrset


if __name__ == "__main__":
    fettle.run({"DNSZone": Zones(), "DNSRecord": Records()})
