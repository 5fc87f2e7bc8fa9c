// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
// zdtm: may-differ usk\.name_dir:
#include <sys/stat.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("socket names that are deleted, used again by another socket, or in deleted directories") {
    const auto name = zdtm::Name::path("name");
    SYS(mkdir("outer", 0755));
    SYS(mkdir("outer/inner", 0755));
    const auto deep = zdtm::Name::path("outer/inner/deep");
    const int first = zdtm::bound_socket(SOCK_DGRAM, name);
    const int to_first = zdtm::connected_socket(SOCK_DGRAM, name);
    SYS(unlink("name"));
    const int second = zdtm::bound_socket(SOCK_DGRAM, name);
    const int to_second = zdtm::connected_socket(SOCK_DGRAM, name);
    SYS(unlink("name"));
    const int third = zdtm::listening_socket(SOCK_STREAM, name);
    const int to_third = zdtm::connected_socket(SOCK_STREAM, name);
    const int in_depth = zdtm::bound_socket(SOCK_DGRAM, deep);
    const int to_depth = zdtm::connected_socket(SOCK_DGRAM, deep);
    SYS(unlink("outer/inner/deep"));
    SYS(rmdir("outer/inner"));
    zdtm::send_message(to_first, "before");
    me.wait_for_check();

    CHECK(zdtm::receive(first) == "before", "data got lost");
    zdtm::check_connected(to_first, first, "first");
    zdtm::check_connected(to_second, second, "second");
    zdtm::check_connected(to_third, SYS(accept(third, nullptr, nullptr)), "third");
    zdtm::check_connected(to_depth, in_depth, "in a directory that is gone");
    for (const int fd : {first, second, third}) {
        CHECK(zdtm::Name::of(fd).shown() == "name", "%s", zdtm::Name::of(fd).shown().c_str());
    }
    CHECK(access("outer", F_OK) == 0 && access("outer/inner", F_OK) == -1, "a directory came back or is lost");
    const int fresh = zdtm::connected_socket(SOCK_STREAM, name);
    zdtm::check_connected(fresh, SYS(accept(third, nullptr, nullptr)), "by the name");
}
