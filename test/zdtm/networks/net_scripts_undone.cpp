// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --action-script /mnt/note
// zdtm: refused userfaultfd
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "network.hpp"
#include "zdtm.hpp"

ZDTM("action scripts that locked the network unlock it when the dump fails") {
    // The mount is in the mount namespace of criu and of the script.
    SYS(mount("none", "/mnt", "tmpfs", 0, ""));
    zdtm::write_file("/mnt/note", "#!/bin/sh\necho $CRTOOLS_SCRIPT_ACTION >>/mnt/notes\n");
    SYS(chmod("/mnt/note", 0755));
    zdtm::enter_new_network();
    if (syscall(SYS_userfaultfd, O_CLOEXEC) == -1) {
        zdtm::skip("no userfaultfd here: %s", strerror(errno));
    }
    me.wait_for_check();
    const std::string notes = zdtm::read_file("/mnt/notes");
    CHECK(notes == "pre-dump\nnetwork-lock\nnetwork-unlock\n", "%s", notes.c_str());
}
