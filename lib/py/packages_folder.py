# SPDX-License-Identifier: GPL-2.0-only
"""Prints the folder below a prefix in which this interpreter looks for packages. usage: packages_folder.py PREFIX"""

import sys
import sysconfig

prefix = sys.argv[1].rstrip("/")
schemes = sysconfig.get_scheme_names()
# Debian has separate folders for its packages and for locally installed ones.
if prefix == "/usr" and "deb_system" in schemes:
    print(sysconfig.get_path("purelib", "deb_system", {"base": prefix}))
elif prefix == "/usr/local" and "posix_local" in schemes:
    print(sysconfig.get_path("purelib", "posix_local", {"base": "/usr"}))
else:
    print(sysconfig.get_path("purelib", "posix_prefix", {"base": prefix}))
