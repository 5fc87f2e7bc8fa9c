// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running,terminated,killed,to-other,from-other,restore-terminated
#include "network.hpp"
#include "zdtm.hpp"

namespace {

// Leaves out the carrier state, which depends on the peer device.
zdtm::Sights look() {
    return zdtm::Sights({"ip -o link | sed -E 's,<.*> ,,; s, state [A-Z]*,,; s,qdisc [a-z]*,,'", "ip -o -4 addr",
                         "ip route | sed 's, linkdown,,'"});
}

}  // namespace

ZDTM("veth pairs between network namespaces of a tree, which have ids for each other; a bridge joins two of them") {
    zdtm::enter_new_network();
    zdtm::output_of(
        "ip link add br0 address 02:00:00:00:00:40 type bridge && ip link set br0 up && "
        "ip addr add 10.3.0.1/24 dev br0");
    std::vector<pid_t> children;
    for (const int number : {2, 3}) {
        const std::string n = std::to_string(number);
        zdtm::output_of("ip link add inner index 7" + n + " mtu 1400 address 02:00:00:00:01:0" + n +
                        " type veth peer name port" + n + " index 5" + n + " address 02:00:00:00:02:0" + n +
                        " && ip link set port" + n + " master br0 up");
        children.push_back(me.start_child([n](zdtm::Task& task) {
            zdtm::enter_new_network();
            zdtm::output_of("nsenter --net=/proc/" + std::to_string(getppid()) + "/ns/net ip link set inner netns " +
                            std::to_string(getpid()) + " name eth0 && ip link set eth0 up && ip addr add 10.3.0." + n +
                            "/24 dev eth0 && ip route add default via 10.3.0.1");
            const zdtm::Sights sights = look();
            task.wait_for_check();
            sights.check();
        }));
    }
    const zdtm::Sights sights = look();
    me.wait_for_check();
    sights.check();
    for (const pid_t child : children)
        me.finish(child);
}
