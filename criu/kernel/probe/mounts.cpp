// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"
#include "criu/kernel/proc/mountinfo.hpp"

namespace criu::kernel::probe {

namespace {

/// Mount point for probes. Any directory works, because the probe has a private mount namespace.
constexpr const char* kPlace = "/tmp";

/// Enters a new mount namespace. The kernel removes it when the calling child ends.
void newMountNs() {
    sys(::unshare(CLONE_NEWNS), "create a mount namespace");
    sys(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
}

/// Mounts an empty tmpfs and makes it the current directory.
void enterTmpfs() {
    sys(::mount("criu-probe", kPlace, "tmpfs", 0, nullptr), "mount a tmpfs on {}", kPlace);
    sys(::chdir(kPlace), "go to {}", kPlace);
}

void makeDirectory(const char* name) {
    makeDirectory(AT_FDCWD, name, IfThere::Refused);
}

}  // namespace

bool autofs() {
    return inChild([] {
        const ProcPid self = ProcDir().self();
        newMountNs();
        int ends[2];
        sys(::pipe2(ends, O_CLOEXEC), "create a pipe");
        const std::string options = fmt::format("fd={},pgrp={},minproto=5,maxproto=5,direct", ends[1], ::getpgrp());
        sys(::mount("criu-probe", kPlace, "autofs", 0, options.c_str()), "mount autofs on {}", kPlace);
        ProcBuffer buffer;
        const MountTable mounts = readMountInfo(self, buffer);
        for (const MountInfo& mount : mounts.all())
            if (mount.fsType == "autofs" && mount.source == "criu-probe")
                return mount.superOptions.find("pipe_ino=") != std::string::npos;
        return false;
    });
}

bool moveMountSetGroup() {
    return inChild([] {
        newMountNs();
        enterTmpfs();
        makeDirectory("from");
        makeDirectory("to");
        sys(::mount(kPlace, "from", nullptr, MS_BIND, nullptr), "bind a mount");
        sys(::mount(kPlace, "to", nullptr, MS_BIND, nullptr), "bind a mount");
        sys(::mount(nullptr, "from", nullptr, MS_SHARED, nullptr), "share a mount");
        constexpr unsigned setGroup = 0x100;  // MOVE_MOUNT_SET_GROUP, Linux 5.15
        return ::syscall(SYS_move_mount, AT_FDCWD, "from", AT_FDCWD, "to", setGroup) == 0;
    });
}

bool overlayfsMaps() {
    return inChild([] {
        newMountNs();
        enterTmpfs();
        for (const char* const name : {"lower", "upper", "work", "merged"})
            makeDirectory(name);
        sys(::mount("criu-probe", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work"),
            "mount an overlayfs");
        const UniqueFd file(sys(::open("merged/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "create a file"));
        void* const start = ::mmap(nullptr, machinePageSize(), PROT_READ, MAP_SHARED, file.get(), 0);
        if (start == MAP_FAILED)
            failErrno("map a file");
        const Mapping area(start, machinePageSize());
        struct stat status {};
        sys(::fstat(file.get(), &status), "stat a file");
        for (const Vma& vma : readMaps(ProcDir().self()))
            if (vma.start == reinterpret_cast<std::uint64_t>(start))
                return vma.inode == status.st_ino && vma.devMajor == major(status.st_dev) &&
                       vma.devMinor == minor(status.st_dev);
        return false;
    });
}

bool mountApi() {
    return UniqueFd(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", 1 /* FSOPEN_CLOEXEC */))).valid();
}

}  // namespace criu::kernel::probe
