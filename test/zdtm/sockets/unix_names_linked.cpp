// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
// zdtm: fails-with-4.2 it makes only the name of bind(2)
// zdtm: may-differ usk\.name_dir:
#include <sys/stat.h>
#include <unistd.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {

void check_listener(int listener, int type, const char* name, const char* address) {
    const int fresh = zdtm::connected_socket(type, zdtm::Name::path(name));
    zdtm::check_connected(fresh, SYS(accept(listener, nullptr, nullptr)), name);
    const std::string shown = zdtm::Name::of(listener).shown();
    CHECK(shown == address, "%s is called %s", name, shown.c_str());
}

}  // namespace

ZDTM("sockets whose files have hard links beside the name of bind(2), or in place of it") {
    // Some servers do this, so that the name appears at once, and only if it is free.
    const int server = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path("server.passing"));
    SYS(link("server.passing", "server"));
    SYS(unlink("server.passing"));
    const int both = zdtm::listening_socket(SOCK_SEQPACKET, zdtm::Name::path("both"));
    SYS(link("both", "both.second"));
    SYS(link("both", "both.third"));
    SYS(mkdir("folder", 0755));
    const int below = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path("folder/below.passing"));
    SYS(link("folder/below.passing", "folder/below"));
    SYS(link("folder/below", "folder/below.second"));
    SYS(unlink("folder/below.passing"));
    me.wait_for_check();

    check_listener(server, SOCK_STREAM, "server", "server.passing");
    for (const char* const name : {"both", "both.second", "both.third"}) {
        check_listener(both, SOCK_SEQPACKET, name, "both");
    }
    for (const char* const name : {"folder/below", "folder/below.second"}) {
        check_listener(below, SOCK_STREAM, name, "folder/below.passing");
    }
    struct stat status {};
    SYS(stat("both.third", &status));
    CHECK(status.st_nlink == 3, "%lu names", static_cast<unsigned long>(status.st_nlink));
    for (const char* const gone : {"server.passing", "folder/below.passing"}) {
        CHECK(access(gone, F_OK) == -1, "there is a %s", gone);
    }
}
