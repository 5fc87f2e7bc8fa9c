// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ \(.*file\) holds a file lock \(.*--file-locks\)
// zdtm: fails-with-4.2 its message names no file
#include <fcntl.h>
#include <sys/file.h>

#include "zdtm.hpp"

ZDTM("without --file-locks a dump refuses a locked file; the error names it") {
    SYS(flock(SYS(open("file", O_RDWR | O_CREAT, 0644)), LOCK_SH));
    me.wait_for_check();
}
