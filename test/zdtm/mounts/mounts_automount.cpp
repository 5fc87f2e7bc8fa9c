// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it finds no directory below a mount, which the daemon has open
// zdtm: restore-options --root /
// zdtm: may-differ mount /mnt/gone: options:, autofs: pgrp:
#include <fcntl.h>
#include <linux/auto_fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>
#include <regex>
#include <thread>
#include <vector>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

// Descriptors of the daemon that serves one autofs mount.
struct Served {
    std::string place;
    int control = -1;  // /dev/autofs
    int root = -1;
    int pipe = -1;
};

// Returns the options of the autofs at a path. The pipe's inode number changes with a restore, so it is left out.
std::string options_at(const std::string& place) {
    std::string found;
    std::ifstream lines("/proc/self/mountinfo");
    for (std::string line; std::getline(lines, line);)
        if (line.find(" " + place + " ") != std::string::npos && line.find(" autofs ") != std::string::npos)
            found = line.substr(line.find(" autofs "));
    found = std::regex_replace(found, std::regex("pipe_ino=[0-9]+"), "pipe");
    return std::regex_replace(found, std::regex("fd=-1,pgrp=[0-9]+"), "no daemon");
}

// Copy of struct autofs_dev_ioctl: <linux/auto_dev-ioctl.h> doesn't compile as C++.
struct Order {
    std::uint32_t version[2] = {1, 0};
    std::uint32_t size = sizeof(Order);
    std::int32_t root = -1;
    std::uint64_t value = 0;  // or a 32-bit value in the first half
};
constexpr unsigned long kReady = _IOWR(AUTOFS_IOCTL, 0x76, Order);
constexpr unsigned long kTimeout = _IOWR(AUTOFS_IOCTL, 0x7a, Order);

void give_order(const Served& served, unsigned long command, std::uint64_t value) {
    Order order;
    order.root = served.root;
    order.value = value;
    SYS(ioctl(served.control, command, &order));
}

// Mounts a tmpfs for each request. A file in it holds the number of earlier requests.
void serve(const Served& served) {
    autofs_v5_packet_union packet;
    for (int count = 0; read(served.pipe, &packet, sizeof(packet)) == sizeof(packet); ++count) {
        const autofs_v5_packet& wanted = packet.v5_packet;
        std::string place = served.place;
        if (wanted.hdr.type == autofs_ptype_missing_indirect) {
            place += "/" + std::string(wanted.name, wanted.len);
            if (mkdir(place.c_str(), 0755) < 0)
                CHECK(errno == EEXIST, "%s: %s", place.c_str(), strerror(errno));
        }
        zdtm::mount_on(place, "tmpfs", "size=64k");
        zdtm::write_file((place + "/count").c_str(), std::to_string(count));
        give_order(served, kReady, wanted.wait_queue_token);
    }
}

// Starts a daemon for an autofs at `place`. `keeps`: the daemon keeps both ends of the pipe.
pid_t start_daemon(zdtm::Task& me, const std::string& place, const char* type, bool keeps) {
    return me.start_child([&](zdtm::Task& task) {
        SYS(setpgid(0, 0));
        const int control = SYS(open("/dev/autofs", O_RDONLY | O_CLOEXEC));
        int ends[2];
        SYS(pipe2(ends, O_CLOEXEC));
        zdtm::mount_on(
            place, "autofs",
            "fd=" + std::to_string(ends[1]) + ",pgrp=" + std::to_string(getpgrp()) + ",minproto=5,maxproto=5," + type);
        const Served served{place, control, SYS(open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ends[0]};
        if (!keeps)
            SYS(close(ends[1]));
        give_order(served, kTimeout, 3456);
        if (type == std::string("indirect")) {
            SYS(mkdir((place + "/empty").c_str(), 0755));
            SYS(symlink("empty", (place + "/link").c_str()));
        }
        std::thread([served] { serve(served); }).detach();
        task.wait_for_check();
        if (type == std::string("indirect"))
            CHECK(access((place + "/empty").c_str(), F_OK) == 0, "a directory is gone: %s", strerror(errno));
        _exit(0);  // _exit(2), because the other thread still reads
    });
}

void check_count(const std::string& place, int count) {
    const int file = open((place + "/count").c_str(), O_RDONLY);
    CHECK(file >= 0, "%s: %s", place.c_str(), strerror(errno));
    char text[8] = {};
    SYS(read(file, text, sizeof(text) - 1));
    SYS(close(file));
    CHECK(std::to_string(count) == text, "%s: %s, not %d", place.c_str(), text, count);
}

}  // namespace

ZDTM("autofs mounts whose daemons serve requests again after a restore") {
    if (access("/dev/autofs", R_OK) < 0)
        zdtm::skip("the kernel has no autofs");
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    const char* const places[] = {"/mnt/direct", "/mnt/indirect", "/mnt/later", "/mnt/gone"};
    for (const char* const place : places)
        SYS(mkdir(place, 0755));
    const pid_t direct = start_daemon(me, places[0], "direct", false);
    const pid_t indirect = start_daemon(me, places[1], "indirect", true);
    const pid_t later = start_daemon(me, places[2], "direct", false);
    SYS(mkdir("/mnt/again", 0755));
    zdtm::bind_on(places[1], "/mnt/again");
    const pid_t gone = start_daemon(me, places[3], "indirect", false);
    zdtm::kill_and_reap(gone);
    signal(SIGPIPE, SIG_IGN);  // a request without a reader sends SIGPIPE
    CHECK(access("/mnt/gone/wanted", F_OK) < 0, "a mount without a daemon serves");  // the kernel finds the daemon gone

    check_count("/mnt/direct", 0);
    check_count("/mnt/indirect/one", 0);
    const int file = SYS(open("/mnt/indirect/one/count", O_RDONLY));
    std::vector<std::string> before;
    for (const char* const place : places)
        before.push_back(options_at(place));
    CHECK(before[1].find("timeout=3456") != std::string::npos, "%s", before[1].c_str());
    CHECK(before[3].find("no daemon") != std::string::npos, "%s", before[3].c_str());

    me.wait_for_check();

    for (std::size_t at = 0; at < before.size(); ++at)
        CHECK(options_at(places[at]) == before[at], "%s, not %s", options_at(places[at]).c_str(), before[at].c_str());
    char byte = 0;
    CHECK(read(file, &byte, 1) == 1 && byte == '0', "a file on what a daemon has mounted");
    SYS(close(file));
    check_count("/mnt/direct", 0);
    check_count("/mnt/indirect/one", 0);
    check_count("/mnt/indirect/two", 1);
    check_count("/mnt/indirect/empty", 2);
    char target[16] = {};
    SYS(readlink("/mnt/indirect/link", target, sizeof(target) - 1));
    CHECK(target == std::string("empty"), "the link leads to %s", target);
    check_count("/mnt/later", 0);
    CHECK(options_at("/mnt/again") == options_at(places[1]), "the bind mount shows another autofs");
    CHECK(access("/mnt/gone/wanted", F_OK) < 0, "a mount without a daemon serves");
    SYS(umount2("/mnt/direct", 0));
    check_count("/mnt/direct", 1);
    me.finish(direct);
    me.finish(indirect);
    me.finish(later);
}
