// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
// zdtm: fails-with-4.2 it binds sockets to the names that their files had at first
// zdtm: may-differ usk\.name_dir:
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {
std::string here() {
    char directory[PATH_MAX];
    CHECK(getcwd(directory, sizeof(directory)) != nullptr, "getcwd: %s", strerror(errno));
    return directory;
}
}  // namespace

ZDTM("sockets whose files or directories were renamed after bind(2)") {
    // Some servers do this to replace the socket of an earlier instance at once.
    const auto passing = zdtm::Name::path("passing");
    const int first = zdtm::listening_socket(SOCK_STREAM, passing);
    SYS(rename("passing", "first"));
    const int client = zdtm::connected_socket(SOCK_STREAM, zdtm::Name::path("first"));
    const int accepted = SYS(accept(first, nullptr, nullptr));
    const int second = zdtm::listening_socket(SOCK_STREAM, passing);
    SYS(rename("passing", "second"));
    const auto whole = zdtm::Name::path(here() + "/whole.passing");
    const int absolute = zdtm::listening_socket(SOCK_SEQPACKET, whole);
    SYS(rename("whole.passing", "whole"));
    SYS(mkdir("old", 0755));
    const int carried = zdtm::bound_socket(SOCK_DGRAM, zdtm::Name::path("old/carried"));
    SYS(rename("old", "new"));
    // rename(2) puts one socket's file in place of another's, which loses its name.
    const int beneath = zdtm::bound_socket(SOCK_DGRAM, zdtm::Name::path("covered"));
    const int to_beneath = zdtm::connected_socket(SOCK_DGRAM, zdtm::Name::path("covered"));
    const int above = zdtm::bound_socket(SOCK_DGRAM, zdtm::Name::path("covering"));
    SYS(rename("covering", "covered"));
    SYS(chmod("second", 0604));
    me.wait_for_check();

    zdtm::check_connected(client, accepted, "the connection of before");
    const auto check_listener = [](int listener, int type, const char* name, const std::string& address) {
        const int fresh = zdtm::connected_socket(type, zdtm::Name::path(name));
        zdtm::check_connected(fresh, SYS(accept(listener, nullptr, nullptr)), name);
        const std::string shown = zdtm::Name::of(listener).shown();
        CHECK(shown == address, "%s is called %s", name, shown.c_str());
    };
    check_listener(first, SOCK_STREAM, "first", "passing");
    check_listener(second, SOCK_STREAM, "second", "passing");
    check_listener(absolute, SOCK_SEQPACKET, "whole", here() + "/whole.passing");
    zdtm::check_connected(zdtm::connected_socket(SOCK_DGRAM, zdtm::Name::path("new/carried")), carried, "new/carried");
    zdtm::check_connected(to_beneath, beneath, "one without a name");
    zdtm::check_connected(zdtm::connected_socket(SOCK_DGRAM, zdtm::Name::path("covered")), above, "covered");
    CHECK(zdtm::Name::of(accepted).shown() == "passing", "%s", zdtm::Name::of(accepted).shown().c_str());
    for (const char* const gone : {"passing", "whole.passing", "old", "covering"}) {
        CHECK(access(gone, F_OK) == -1, "there is a %s", gone);
    }
    struct stat status {};
    SYS(stat("second", &status));
    CHECK((status.st_mode & 07777) == 0604, "mode %o", status.st_mode);
}
