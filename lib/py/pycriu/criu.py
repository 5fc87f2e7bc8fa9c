# SPDX-License-Identifier: LGPL-2.1-only
"""Requests to criu: to its service, over an open connection, or to a program that is started for them.

    request = pycriu.criu()
    request.opts.pid = 1234
    request.opts.images_dir_fd = os.open("images", os.O_DIRECTORY)
    request.dump()
"""

from __future__ import annotations

import errno
import socket
import subprocess
from typing import Any

from . import rpc_pb2 as _rpc

rpc: Any = _rpc  # type checkers can't know the names of rpc.proto

CR_DEFAULT_SERVICE_ADDRESS = "./criu_service.socket"


class CRIUException(Exception):
    """Error of a request. `typ` is the request's type, one of rpc's criu_req_type."""

    typ: int | None = None


class CRIUExceptionInternal(CRIUException):
    """Error for a request without a valid reply: the connection failed."""

    def __init__(self, typ: int, s: str) -> None:
        super().__init__(f"{rpc.criu_req_type.Name(typ)} failed with internal error: {s}")
        self.typ = typ


class CRIUExceptionExternal(CRIUException):
    """Error that criu reports. `errno` is the reason, `errmsg` its text, if criu sent one."""

    def __init__(self, req_typ: int, resp_typ: int, errno: int, errmsg: str = "") -> None:  # pylint: disable=redefined-outer-name
        self.typ = req_typ
        self.resp_typ = resp_typ
        self.errno = errno
        self.errmsg = errmsg
        super().__init__(self._words())

    def _words(self) -> str:
        reasons = {(None, errno.EBADRQC): "Bad options", (rpc.DUMP, errno.ESRCH): "No process with such pid",
                   (rpc.RESTORE, errno.EEXIST): "Process with requested pid already exists"}
        reason = reasons.get((None, self.errno)) or reasons.get((self.typ, self.errno)) or "Unknown"
        unexpected = "" if self.typ == self.resp_typ else f"Unexpected response type {self.resp_typ}: "
        return (f"{rpc.criu_req_type.Name(self.typ)} failed: {unexpected}Error({self.errno}): {reason}" +
                (f": {self.errmsg}" if self.errmsg else ""))


class _Service:
    """Connections to the service's socket."""

    def __init__(self, path: str) -> None:
        self._path = path

    def connect(self, detached: bool) -> socket.socket:  # pylint: disable=unused-argument
        """Opens a connection."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(self._path)
        except FileNotFoundError:
            connection.close()
            raise FileNotFoundError("Socket file not found.") from None
        except ConnectionRefusedError:
            connection.close()
            raise ConnectionRefusedError("Service not running.") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def disconnect(self, connection: socket.socket) -> None:
        """Closes the connection."""
        connection.close()


class _Descriptor:
    """A connection that the caller owns; each request uses a duplicate."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def connect(self, detached: bool) -> socket.socket:  # pylint: disable=unused-argument
        """Returns a duplicate of the descriptor."""
        return socket.fromfd(self._descriptor, socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def disconnect(self, connection: socket.socket) -> None:
        """Closes the duplicate."""
        connection.close()


class _Program:
    """A criu process that is started for each connection (criu swrk)."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._child: subprocess.Popen[bytes] | None = None

    def connect(self, detached: bool) -> socket.socket:
        """Starts criu. With `detached` it isn't a descendant of this process, which is to be dumped with its
        descendants.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            words = [self._path, "swrk", str(theirs.fileno())]
            if detached:
                # The shell ends at once, so that criu gets another parent.
                words = ["/bin/sh", "-c", '"$@" &', "sh", *words]
            child = subprocess.Popen(words, pass_fds=[theirs.fileno()], start_new_session=detached,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if detached:
                child.wait()
            else:
                self._child = child
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def disconnect(self, connection: socket.socket) -> None:
        """Closes the connection, which ends criu."""
        connection.close()
        if self._child:
            self._child.wait()
            self._child = None


class criu:  # pylint: disable=invalid-name
    """Connection to criu with options. `opts` is a message criu_opts, used by all requests.

    Each method throws CRIUExceptionExternal if criu reports a failure, and CRIUExceptionInternal if the connection
    fails. Not thread-safe.
    """

    def __init__(self) -> None:
        self.opts: Any = rpc.criu_opts(images_dir_fd=-1)
        self.sk: socket.socket | None = None  # connection that page_server_chld() keeps open
        self._communication: _Service | _Descriptor | _Program = _Program("criu")

    def use_sk(self, sk_name: str = CR_DEFAULT_SERVICE_ADDRESS) -> None:
        """Uses the service that listens at this path."""
        self._communication = _Service(sk_name)

    def use_fd(self, fd: int) -> None:
        """Uses an open connection, which the caller keeps."""
        self._communication = _Descriptor(fd)

    def use_binary(self, bin_name: str) -> None:
        """Starts this program for each request. The default is criu in $PATH."""
        self._communication = _Program(bin_name)

    def _ask(self, kind: int, *, options: bool = True, keep_open: bool = False, **fields: Any) -> Any:
        """Sends a request and returns its reply."""
        request = rpc.criu_req(type=kind, **fields)
        if options:
            request.opts.CopyFrom(self.opts)
        if keep_open:
            request.keep_open = True
        try:
            answer = self._exchange(request)
        except Exception as error:
            raise CRIUExceptionInternal(kind, str(error)) from error
        if not answer.success:
            raise CRIUExceptionExternal(kind, answer.type, answer.cr_errno, answer.cr_errmsg)
        return answer

    def _exchange(self, request: Any) -> Any:
        # A dump without a pid dumps this process.
        detached = request.type == rpc.DUMP and not request.opts.HasField("pid")
        connection = self.sk or self._communication.connect(detached)
        self.sk = None
        kept = False
        try:
            connection.sendall(request.SerializeToString())
            # With MSG_TRUNC the call returns the size of the waiting packet.
            size = connection.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC)
            if size == 0:
                raise ConnectionError("criu has closed the connection without an answer")
            answer = rpc.criu_resp.FromString(connection.recv(size))
            if request.keep_open:
                self.sk, kept = connection, True
            return answer
        finally:
            if not kept:
                self._communication.disconnect(connection)

    def check(self) -> None:
        """Checks that this kernel has the features that criu needs."""
        self._ask(rpc.CHECK)

    def dump(self) -> Any:
        """Dumps the tree of opts.pid, or this process' tree without a pid. Returns criu_dump_resp."""
        return self._ask(rpc.DUMP).dump

    def pre_dump(self) -> Any:
        """Dumps memory of the tree of opts.pid, which continues to run. Returns criu_dump_resp."""
        return self._ask(rpc.PRE_DUMP).dump

    def restore(self) -> Any:
        """Restores a tree. Returns criu_restore_resp, whose pid is that of the root."""
        return self._ask(rpc.RESTORE).restore

    def page_server_chld(self) -> Any:
        """Starts a page server as a child of criu, for wait_pid(). Returns criu_page_server_info."""
        return self._ask(rpc.PAGE_SERVER_CHLD, keep_open=True).ps

    def wait_pid(self, pid: int) -> int:
        """Waits for a child of criu; returns its status in the format of waitpid(2)."""
        return self._ask(rpc.WAIT_PID, options=False, pid=pid).status

    def version(self) -> Any:
        """Returns the version of criu, as criu_version."""
        return self._ask(rpc.VERSION).version

    def feature_check(self, *features: str) -> dict[str, bool]:
        """Returns which of the features (mem_track, lazy_pages, pidfd_store) this kernel has."""
        answer = self._ask(rpc.FEATURE_CHECK, features=rpc.criu_features(**{name: True for name in features}))
        return {name: getattr(answer.features, name) for name in features}
