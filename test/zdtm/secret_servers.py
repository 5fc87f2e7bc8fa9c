# SPDX-License-Identifier: GPL-2.0-only
"""Page servers that store encrypted pages."""

import os
import re
import shutil

from page_servers import Certificates, Server, together
from secrecy import Keys, flip, pre_dump, require_refused, require_restored
from secret_chains import Attacked, largest, relink, replace, sizes, whole
from secret_pages import require_dump_refused, require_encrypted
from subject import Failed, Skipped
import modes


class Way:
    """Dumps that send pages to a page server over TLS, all encrypted for the same recipients."""

    def __init__(self, subject, encrypt):
        self.subject = subject
        self.encrypt = encrypt
        self.tls = Certificates(subject.images("certificates")).options("good")

    def server(self, name, options=None):
        """Returns a page server that encrypts, or one with the given options."""
        return Server(self.subject, name, [*self.tls, *(self.encrypt if options is None else options)])

    def sender(self, server, *options):
        """Returns the options of a dump that uses the server."""
        return [*server.options, *self.tls, *self.encrypt, *options]

    def pre_dump(self, name, *options):
        """Makes a pre-dump. Returns the names of its directory and of the server's."""
        server = self.server(f"{name}-stored")
        run = self.subject.ours.run("pre-dump", self.subject.images(name), "pre-dump.log",
                                    ["-t", str(self.subject.root), *self.sender(server, *options)])
        self.subject.require_success(run)
        server.wait()
        return name, f"{name}-stored"

    def dump(self, name, earlier, stored, *options):
        """Makes a dump that builds on a pre-dump. Returns the name of the directory with all its images."""
        server = self.server(f"{name}-stored", [*self.encrypt, "--prev-images-dir", f"../{stored}"])
        self.subject.dump(self.subject.ours, name,
                          self.sender(server, "--track-mem", "--prev-images-dir", f"../{earlier}", *options))
        server.wait()
        for folder in (name, f"{name}-stored"):
            require_encrypted(self.subject.images(folder))
        return together(self.subject, name, f"{name}-stored")


def require_sides_agree(subject, own, way):
    """Requires both sides to encrypt for the same recipients; otherwise nothing must be sent."""
    require_dump_refused(subject, ["--page-server", "--address", "127.0.0.1", "--port", "1", *way.encrypt], "need --tls")
    run = subject.ours.run("page-server", subject.images("refused"), "server.log", ["--address", "127.0.0.1", *way.encrypt])
    if run.code != 1 or not any("need --tls" in line for line in modes.criu_runs.error_lines(run.log)):
        raise Failed(f"a page server should fail without TLS: {run.describe()}")
    gone = "have a page server encrypt pages"
    for name, options, sender, refused, why in (
            ("plain", [], way.encrypt, gone, "and this server doesn't"),
            ("stranger", own.encrypt("stranger"), way.encrypt, gone, "for other recipients"),
            ("alone", way.encrypt, [], "closed the connection|Connection reset|Broken pipe|gone", "the sender doesn't encrypt")):
        server = way.server(f"stored-{name}", options)
        require_dump_refused(subject, [*server.options, *way.tls, *sender], refused)
        server.require_end(why)
        if left := [file for file in os.listdir(subject.images(f"stored-{name}")) if file.endswith(".img")]:
            raise Failed(f"a page server that has refused has made {left}")


def encrypted_page_server(subject, _task):
    """Makes a pre-dump and a dump whose pages a page server encrypts. A restore needs both sets of images, and must
    find each change, exchange or removal in them."""
    if not shutil.which("openssl"):
        raise Skipped("openssl isn't installed")
    own = Keys(subject)
    way = Way(subject, own.encrypt())
    require_sides_agree(subject, own, way)
    early, stored = way.pre_dump("early")
    images = way.dump("images", early, stored)
    if sizes(subject.images(images)) > sizes(subject.images(stored)) * 3 / 4:
        raise Failed("the dump has all pages itself")
    require_restored(subject, images, own.decrypt())
    early_again, stored_again = way.pre_dump("other-early")
    other = way.dump("other", early_again, stored_again, "--connections", "3")
    attacked = Attacked(subject, [other, stored_again], own.decrypt())

    def pages_of(folder):
        return [name for name in os.listdir(folder) if re.fullmatch(r"(encrypted-pages-\d+|encryption-pages)\.img", name)]

    def without_pages(last, _):
        for name in pages_of(last):
            os.unlink(os.path.join(last, name))

    def other_pages(last, _):
        without_pages(last, _)
        for name in pages_of(subject.images(images)):
            shutil.copyfile(os.path.join(subject.images(images), name), os.path.join(last, name))

    attacked.require_refused("the pages are of another dump", other_pages, "are of another dump")
    attacked.require_refused("there are no pages", without_pages, r"encryption-pages\.img")
    attacked.require_refused("a page was changed", lambda last, _: flip(largest(last)), r"encrypted-(pages-)?\d+\.img .*bytes at offset")
    attacked.require_refused("the pages' head was changed", lambda last, _: flip(os.path.join(last, "encryption-pages.img")),
                             r"encryption-pages\.img")
    attacked.require_refused("the pages' list is gone", lambda last, _: os.unlink(os.path.join(last, "encrypted-pages-0.img")),
                             r"encrypted-pages-0\.img")
    attacked.require_refused("a page of the parent was changed", lambda _, parent: flip(largest(parent)), r"encrypted-pages-\d+\.img .*bytes at")
    attacked.require_refused("the parent is of another chain", lambda _, parent: replace(parent, subject.images(stored)),
                             "aren't those that the next ones build on")
    attacked.require_refused("the link is gone", lambda last, _: relink(last, None), "have no link to them")
    attacked.require_refused("the parent is gone", lambda _, parent: shutil.rmtree(parent), "parent")
    attacked.require_refused("there is one more", lambda _, parent: relink(parent, f"../{stored}"), "but have a link to earlier ones")
    attacked.require_refused("pages in clear were added",
                             lambda last, _: shutil.copyfile(largest(last), os.path.join(last, "pages-65537.img")), "isn't of this dump")
    require_refused(subject, other, own.decrypt("stranger"), "for none of the keys given")
    require_restored(subject, other, own.decrypt())
    require_mixed(subject, own, way)
    subject.check()


def require_mixed(subject, own, way):
    """Requires dumps to be complete if they would mix local images with a page server's. The images of a server can be
    verified alone, but not restored."""
    name, stored = way.pre_dump("away")
    verified = subject.ours.run("verify", subject.images(stored), "verify.log", own.decrypt())
    subject.require_success(verified)
    whole(subject, "home", name, way.encrypt)
    require_refused(subject, stored, own.decrypt(), r"inventory\.img")
    require_restored(subject, "home", own.decrypt())
    pre_dump(subject, "here", way.encrypt)
    server = way.server("mixed-stored", [*way.encrypt, "--prev-images-dir", "../here"])
    whole(subject, "mixed", "here", way.sender(server))
    server.wait()
    mixed = together(subject, "mixed", "mixed-stored")
    if os.path.lexists(os.path.join(subject.images(mixed), "parent")):
        raise Failed("pages that a page server has have a link to images that they don't build on")
    require_restored(subject, mixed, own.decrypt())


MODES = [
    modes.Mode("encrypted-page-server", encrypted_page_server, scenario=True, beyond_42=True),
]
