// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 0 stat
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
// zdtm: may-differ fd 4: reg\.inode:
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("mounts as container engines make them, on a private root") {
    zdtm::enter_new_root();
    zdtm::mount_on("/proc", "proc", "", MS_NOSUID | MS_NODEV | MS_NOEXEC);
    zdtm::mount_on("/sys", "sysfs", "", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY);
    zdtm::mount_on("/dev", "tmpfs", "mode=755,size=64k", MS_NOSUID | MS_STRICTATIME, "devices");
    SYS(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)));
    SYS(mknod("/dev/zero", S_IFCHR | 0666, makedev(1, 5)));
    SYS(symlink("/proc/self/fd", "/dev/fd"));
    SYS(symlink("pts/ptmx", "/dev/ptmx"));
    zdtm::mount_on("/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620", MS_NOSUID | MS_NOEXEC, "devpts");
    zdtm::mount_on("/dev/shm", "tmpfs", "mode=1777,size=1m", MS_NOSUID | MS_NODEV | MS_NOEXEC, "shm");
    zdtm::mount_on("/dev/mqueue", "mqueue", "", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mqueue");
    // Container engines hide some parts of /proc and make others read-only.
    zdtm::bind_on("/dev/null", "/proc/timer_list");
    zdtm::bind_on("/proc/sys", "/proc/sys");
    SYS(mount(nullptr, "/proc/sys", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr));
    zdtm::mount_on("/proc/irq", "tmpfs", "size=0", MS_RDONLY);

    const int shared = SYS(open("/dev/shm/segment", O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(ftruncate(shared, 8192));
    const std::span<std::byte> memory = zdtm::map(8192, PROT_READ | PROT_WRITE, MAP_SHARED, shared);
    memory[5000] = std::byte{42};
    const int null = SYS(open("/dev/null", O_WRONLY));
    const int setting = SYS(open("/proc/sys/kernel/ostype", O_RDONLY));
    SYS(chdir("/dev/shm"));
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    CHECK(memory[5000] == std::byte{42}, "the mapped file changed");
    char byte = 0;
    SYS(pread(shared, &byte, 1, 5000));
    CHECK(byte == 42, "the file has %d", byte);
    SYS(write(null, "x", 1));
    char text[16] = {};
    SYS(pread(setting, text, sizeof(text) - 1, 0));
    CHECK(std::string(text) == "Linux\n", "%s", text);
    SYS(access("segment", R_OK));
    CHECK(open("/proc/sys/kernel/hostname", O_WRONLY) == -1 && errno == EROFS, "it can be written");
}
