# SPDX-License-Identifier: GPL-2.0-only
"""Writes a folder as an image layout of the Open Container Initiative (image-spec 1.0): one image with one layer."""

import gzip
import hashlib
import json
import os
import shutil
import tarfile
import time

FOLDER = "opt/criu"  # folder of the bundle in the image
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # OCI uses Go's names
TYPE = "application/vnd.oci.image"


class _Hashed:
    """File that is written and hashed at the same time."""

    def __init__(self, file):
        self._file = file
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, data):
        """Writes and hashes data."""
        self._file.write(data)
        self.hash.update(data)
        self.size += len(data)
        return len(data)

    def flush(self):
        """Passes written data on."""
        self._file.flush()

    def digest(self):
        """Returns the digest of the written data."""
        return f"sha256:{self.hash.hexdigest()}"


def _add_tree(archive, source, target, moment):
    """Adds a folder to a tar archive. The same content gives the same archive."""
    def member(path, name):
        info = archive.gettarinfo(path, name)
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = moment
        info.mode &= ~0o022
        if info.islnk():  # a second name of a file is a file of its own
            info.type = tarfile.REGTYPE
            info.size = os.path.getsize(path)
        if info.isreg():
            with open(path, "rb") as file:
                archive.addfile(info, file)
        else:
            archive.addfile(info)

    parts = target.split("/")
    for count in range(1, len(parts)):
        info = tarfile.TarInfo("/".join(parts[:count]))
        info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, moment
        archive.addfile(info)
    member(source, target)
    for folder, folders, files in os.walk(source):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            member(path, f"{target}/{os.path.relpath(path, source)}")


def _add_blob(blobs, content, media_type):
    """Writes a JSON document as a blob, and returns its descriptor."""
    data = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(data).hexdigest()
    with open(os.path.join(blobs, digest), "wb") as file:
        file.write(data)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _add_layer(blobs, source, target, moment):
    """Writes the layer. Returns its descriptor and the digest of the tar archive in it."""
    path = os.path.join(blobs, "layer")
    with open(path, "wb") as file:
        packed = _Hashed(file)
        # Without name and time, so that the same content gives the same blob.
        with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0, compresslevel=6) as compressed:
            plain = _Hashed(compressed)
            with tarfile.open(mode="w|", fileobj=plain, format=tarfile.GNU_FORMAT) as archive:
                _add_tree(archive, source, target, moment)
    os.rename(path, os.path.join(blobs, packed.hash.hexdigest()))
    descriptor = {"mediaType": f"{TYPE}.layer.v1.tar+gzip", "digest": packed.digest(), "size": packed.size}
    return descriptor, plain.digest()


def write(source, layout, version, machine, moment):
    """Writes the folder `source` as an image with the folder /opt/criu. `layout`: folder to create. `machine`: processor,
    as uname(2) calls it. `moment`: time of all files, in seconds since 1970.
    """
    shutil.rmtree(layout, ignore_errors=True)
    blobs = os.path.join(layout, "blobs", "sha256")
    os.makedirs(blobs)
    layer, plain = _add_layer(blobs, source, FOLDER, moment)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    labels = {"org.opencontainers.image.title": "criu", "org.opencontainers.image.version": version,
              "org.opencontainers.image.licenses": "GPL-2.0-only"}
    config = {"created": created, "architecture": ARCHITECTURES[machine], "os": "linux",
              "config": {"Entrypoint": [f"/{FOLDER}/bin/criu"], "Env": [f"PATH=/{FOLDER}/bin"], "Labels": labels},
              "rootfs": {"type": "layers", "diff_ids": [plain]},
              "history": [{"created": created, "created_by": "make bundle"}]}
    manifest = {"schemaVersion": 2, "mediaType": f"{TYPE}.manifest.v1+json",
                "config": _add_blob(blobs, config, f"{TYPE}.config.v1+json"), "layers": [layer], "annotations": labels}
    entry = _add_blob(blobs, manifest, f"{TYPE}.manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": version}
    entry["platform"] = {"architecture": ARCHITECTURES[machine], "os": "linux"}
    for name, content in (("oci-layout", {"imageLayoutVersion": "1.0.0"}),
                          ("index.json", {"schemaVersion": 2, "mediaType": f"{TYPE}.index.v1+json", "manifests": [entry]})):
        with open(os.path.join(layout, name), "w", encoding="utf-8") as file:
            json.dump(content, file, sort_keys=True)
            file.write("\n")
