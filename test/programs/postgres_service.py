# SPDX-License-Identifier: GPL-2.0-only
"""PostgreSQL with a transaction that is open all the time, and others that come and go."""

import glob
import os
import pwd
import subprocess
import sys

import service
from service import require


class Session:
    """psql, spoken to over pipes."""

    def __init__(self, folder, user):
        self.process = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "postgres", "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, user=user)

    def run(self, command):
        """The lines that a command gives."""
        self.process.stdin.write(command + ";\n\\echo done\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) != "done\n":
            require(line != "", f"psql ended after {command}: {lines}")
            lines.append(line.strip())
        return lines

    def end(self):
        """Ends it."""
        self.process.stdin.close()
        require(self.process.wait(60) == 0, "psql failed")


def main():
    """The tree's root."""
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    folder = os.path.abspath("base")
    os.mkdir(folder)
    account = pwd.getpwnam("postgres")
    os.chown(folder, account.pw_uid, account.pw_gid)
    subprocess.run([f"{binaries}/initdb", "-D", folder, "-A", "trust", "-N", "--no-instructions"], check=True,
                   user=account.pw_uid, group=account.pw_gid, extra_groups=[], cwd=folder, stdout=subprocess.DEVNULL)
    server = service.start([f"{binaries}/postgres", "-D", folder, "-k", folder, "-c", "listen_addresses=127.0.0.1",
                            "-c", "fsync=off", "-c", "shared_buffers=16MB"], "postgres.log", user=account.pw_uid,
                           group=account.pw_gid, extra_groups=[], cwd=folder)
    service.until(lambda: os.path.exists(os.path.join(folder, ".s.PGSQL.5432")), 60, "socket of postgres")
    service.until(lambda: subprocess.run(["psql", "-X", "-q", "-h", folder, "-U", "postgres", "-c", "select 1",
                                          "postgres"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         check=False).returncode == 0, 60, "answer of postgres")
    one = Session(folder, None)
    other = Session("127.0.0.1", None)
    one.run("create table items (id int primary key, value text)")
    one.run("begin")
    count = 0

    def turn():
        nonlocal count
        count += 1
        one.run(f"insert into items select n, md5(n::text) from generate_series({count * 10}, {count * 10 + 9}) n")
        require(one.run("select count(*) from items") == [str(count * 10)], "the transaction lost rows")
        require(other.run("select count(*) from items") == ["0"], "rows that aren't committed were seen")

    def finish():
        one.run("commit")
        require(other.run("select count(*), count(distinct value), bool_and(value = md5(id::text)) from items") ==
                [f"{count * 10}|{count * 10}|t"], "rows were lost or changed")
        one.end()
        other.end()
        service.stop(server)

    service.work(turn, finish)


sys.exit(main())
