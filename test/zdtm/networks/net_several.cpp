// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running,terminated,killed,to-other,from-other,restore-terminated
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
#include <sys/socket.h>
#include <sys/stat.h>

#include <optional>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

namespace {

// Returns the inode number of a process' network namespace. The kernel uses numbers again, so only numbers of one
// moment compare.
ino_t network(pid_t process) {
    struct stat about {};
    SYS(stat(("/proc/" + std::to_string(process) + "/ns/net").c_str(), &about));
    return about.st_ino;
}

// Sockets, an address and a setting of a namespace, which check() compares after the restore.
struct Content {
    explicit Content(int number) : number_(number) {
        const std::string address = "10.77." + std::to_string(number) + ".1/32";
        zdtm::output_of("ip addr add " + address + " dev lo && echo " + std::to_string(10 + number) +
                        " >/proc/sys/net/unix/max_dgram_qlen");
        sights_.emplace(
            std::vector<std::string>{"ip -o addr show dev lo", "cat /proc/sys/net/unix/max_dgram_qlen", "ip -o link"});
        // All namespaces use the same port, which works in different network namespaces only.
        listener_ = SYS(socket(AF_INET, SOCK_STREAM, 0));
        zdtm::Inet any = zdtm::Inet::loopback(AF_INET, 7070);
        SYS(bind(listener_, any.get(), any.length));
        SYS(listen(listener_, 5));
        pair_ = zdtm::tcp_connection(AF_INET);
    }

    void check() const {
        sights_->check();
        zdtm::check_flows(pair_.client, pair_.server, "there");
        zdtm::check_flows(pair_.server, pair_.client, "back");
        const int fresh = zdtm::tcp_connected(zdtm::Inet::loopback(AF_INET, 7070));
        const int accepted = SYS(accept(listener_, nullptr, nullptr));
        zdtm::check_flows(fresh, accepted, "new connection");
        SYS(close(fresh));
        SYS(close(accepted));
    }

private:
    int number_;
    int listener_;
    zdtm::Connection pair_;
    std::optional<zdtm::Sights> sights_;
};

}  // namespace

ZDTM("processes in several network namespaces, with the same addresses in each") {
    zdtm::enter_new_network();
    const Content content(1);
    const pid_t children[] = {me.start_child([&](zdtm::Task& task) {
                                  zdtm::enter_new_network();
                                  const Content own(2);
                                  const pid_t grandchild = task.start_child([&](zdtm::Task& below) {
                                      below.wait_for_check();
                                      own.check();
                                  });
                                  task.wait_for_check();
                                  own.check();
                                  task.finish(grandchild);
                                  CHECK(network(getpid()) != network(getppid()), "all are in one");
                              }),
                              me.start_child([](zdtm::Task& task) {
                                  zdtm::enter_new_network();
                                  const Content own(3);
                                  task.wait_for_check();
                                  own.check();
                              })};
    me.wait_for_check();
    content.check();
    for (const pid_t child : children)
        me.finish(child);
}
