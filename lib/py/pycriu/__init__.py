# SPDX-License-Identifier: LGPL-2.1-only
"""Python interface of criu: requests (criu) and image files (images)."""

from . import images
from . import rpc_pb2 as rpc
from .criu import CR_DEFAULT_SERVICE_ADDRESS, CRIUException, CRIUExceptionExternal, CRIUExceptionInternal, criu
from .version import __version__

__all__ = ["CRIUException", "CRIUExceptionExternal", "CRIUExceptionInternal", "CR_DEFAULT_SERVICE_ADDRESS", "__version__",
           "criu", "images", "rpc"]
