#!/usr/bin/env python3
"""Manages files below /var/lib/PLURAL."""
import os

import fettle

DIRECTORY = "/var/lib/PLURAL"


class KIND(fettle.SimpleProvider):
    def read(self, resource):
        """Return the current attributes, or None if the resource does not exist."""
        return state(resource.name)

    def create(self, resource):
        os.makedirs(DIRECTORY, exist_ok=True)
        self.update(resource)

    def update(self, resource):
        """Write the file as a whole: an interrupted write leaves the old one."""
        temporary = path("." + resource.name)
        mode = resource.should.get("mode") or (resource.current or {}).get("mode") or "0644"
        with open(temporary, "w") as file:
            os.chmod(temporary, int(mode, 8))  # before others could read the content
            file.write(resource.should["content"])
        os.rename(temporary, path(resource.name))

    def delete(self, resource):
        os.remove(path(resource.name))

    def list(self):
        """Return the attributes of all existing resources, by name."""
        names = os.listdir(DIRECTORY) if os.path.isdir(DIRECTORY) else []
        return {name: state(name) for name in names if not name.startswith(".")}


def path(name):
    return os.path.join(DIRECTORY, name)


def state(name):
    try:
        with open(path(name)) as file:
            mode = os.fstat(file.fileno()).st_mode
            return {"name": name, "content": file.read(), "mode": "%04o" % (mode & 0o777)}
    except FileNotFoundError:
        return None


fettle.run(KIND())
