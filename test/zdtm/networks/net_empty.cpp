// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --empty-ns net
// zdtm: restore-options --empty-ns net
// zdtm: modes once,to-other,from-other,killed
// zdtm: between touch ../restored
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("--empty-ns net restores an empty network namespace") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add zdtm0 type vxlan id 5 dstport 4789 2>/dev/null || true");
    zdtm::output_of("ip addr add 10.8.0.2/24 dev lo");
    struct Seen {
        std::string devices = zdtm::output_of("ip -o link | wc -l");
        std::string space = zdtm::output_of("readlink /proc/self/ns/net");
    };
    const Seen before;
    me.wait_for_check();
    const Seen now;
    if (access("../restored", F_OK) != 0) {
        CHECK(now.space == before.space && now.devices == before.devices, "a killed dump changed the network");
        return;
    }
    // The namespace may have the same inode number as before: the kernel uses free numbers again.
    CHECK(now.devices == "1\n", "there are %s devices", now.devices.c_str());
    zdtm::output_of("! ip -o addr | grep -q 10.8.0.2");
    zdtm::output_of("! nft list ruleset | grep -q drop");
}
