# SPDX-License-Identifier: GPL-2.0-only
"""Checks of an OCI image layout by the rules of image-spec 1.0."""

import gzip
import hashlib
import json
import os
import tarfile

TYPE = "application/vnd.oci.image"


class Invalid(Exception):
    """Rule that a layout violates."""


def _require(condition, text):
    if not condition:
        raise Invalid(text)


class Layout:
    """An image layout whose index names one image."""

    def __init__(self, folder):
        self._folder = folder
        self._known = set()
        with open(os.path.join(folder, "oci-layout"), encoding="utf-8") as file:
            _require(json.load(file) == {"imageLayoutVersion": "1.0.0"}, "oci-layout has another version")
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            index = json.load(file)
        _require(index["schemaVersion"] == 2 and len(index["manifests"]) == 1, "index.json doesn't have one manifest")
        self.manifest = self._document(index["manifests"][0], f"{TYPE}.manifest.v1+json")
        self.config = self._document(self.manifest["config"], f"{TYPE}.config.v1+json")
        _require(self.manifest["schemaVersion"] == 2 and len(self.manifest["layers"]) == 1, "the manifest doesn't have one layer")
        self.layer = self._blob(self.manifest["layers"][0], f"{TYPE}.layer.v1.tar+gzip")
        _require(self.config["os"] == "linux" and self.config["rootfs"]["type"] == "layers", "the config is for another system")
        with gzip.open(self.layer) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        _require(self.config["rootfs"]["diff_ids"] == [f"sha256:{digest}"], "the digest of the unpacked layer is wrong")
        _require(set(os.listdir(os.path.join(folder, "blobs", "sha256"))) == self._known, "a blob isn't used")

    def _blob(self, descriptor, media_type):
        """Returns the path of a blob that has the digest and the size of its descriptor."""
        _require(descriptor["mediaType"] == media_type, f"{descriptor['mediaType']} in place of {media_type}")
        algorithm, value = descriptor["digest"].split(":")
        path = os.path.join(self._folder, "blobs", algorithm, value)
        _require(os.path.getsize(path) == descriptor["size"], f"{value} has another size")
        with open(path, "rb") as file:
            _require(hashlib.file_digest(file, algorithm).hexdigest() == value, f"{value} has another content")
        self._known.add(value)
        return path

    def _document(self, descriptor, media_type):
        """Returns the content of a JSON blob."""
        with open(self._blob(descriptor, media_type), encoding="utf-8") as file:
            return json.load(file)

    def compare(self, folder):
        """Throws Invalid unless the layer has the content of a folder, as /opt/criu."""
        expected = {"opt", "opt/criu"}
        for path, folders, files in os.walk(folder):
            expected |= {os.path.join("opt/criu", os.path.relpath(os.path.join(path, name), folder)) for name in folders + files}
        found = set()
        with tarfile.open(self.layer) as archive:
            for member in archive:
                found.add(member.name)
                source = os.path.join(folder, os.path.relpath(member.name, "opt/criu"))
                _require(member.uid == member.gid == 0 and not member.mode & 0o022, f"{member.name} has another owner or mode")
                if member.issym():
                    _require(os.readlink(source) == member.linkname, f"{member.name} links to {member.linkname}")
                elif member.isreg():
                    _require(bool(member.mode & 0o100) == os.access(source, os.X_OK), f"{member.name} has mode {member.mode:o}")
                    with open(source, "rb") as file:
                        _require(archive.extractfile(member).read() == file.read(), f"{member.name} has another content")
        _require(found == expected, f"differences: {sorted(found ^ expected)}")
