// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
#include <fcntl.h>
#include <sys/stat.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {
void check_reached(int fd, const zdtm::Name& name, const char* what) {
    const int sender = zdtm::connected_socket(SOCK_DGRAM, name);
    zdtm::check_connected(sender, fd, what);
    SYS(close(sender));
}
}  // namespace

ZDTM(
    "socket names of all kinds: absolute, relative to another directory, abstract with zero bytes, chosen by the "
    "kernel") {
    char cwd[4096];
    CHECK(getcwd(cwd, sizeof cwd) != nullptr, "%s", strerror(errno));
    SYS(mkdir("inner", 0755));
    const auto absolute = zdtm::Name::path(std::string(cwd) + "/absolute");
    const auto plain = zdtm::Name::path("plain");
    const auto dotted = zdtm::Name::path("./dotted");
    const auto abstract = zdtm::Name::abstract(std::string_view("with\0zero\0", 10));
    const int by_absolute = zdtm::bound_socket(SOCK_DGRAM, absolute);
    const int by_plain = zdtm::bound_socket(SOCK_DGRAM, plain);
    const int by_abstract = zdtm::bound_socket(SOCK_DGRAM, abstract);
    SYS(chdir("inner"));
    const int by_dotted = zdtm::bound_socket(SOCK_DGRAM, dotted);
    const int automatic = SYS(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    sockaddr family{AF_UNIX, {}};
    SYS(bind(automatic, &family, sizeof family.sa_family));
    const auto chosen = zdtm::Name::of(automatic);
    me.wait_for_check();

    check_reached(by_absolute, absolute, "absolute");
    check_reached(by_dotted, dotted, "./");
    check_reached(by_abstract, abstract, "abstract");
    CHECK(zdtm::Name::of(automatic).shown() == chosen.shown(), "%s", zdtm::Name::of(automatic).shown().c_str());
    check_reached(automatic, chosen, "chosen by the kernel");
    CHECK(zdtm::Name::of(by_dotted).shown() == "./dotted", "%s", zdtm::Name::of(by_dotted).shown().c_str());
    SYS(chdir(".."));
    check_reached(by_plain, plain, "relative");
    SYS(unlink("inner/dotted"));
}
