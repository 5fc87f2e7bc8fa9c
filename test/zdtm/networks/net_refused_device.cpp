// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused device zdtm0 \(vxlan\)
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a network device of an unknown kind and leaves the namespace unlocked") {
    zdtm::enter_new_network();
    if (system("ip link add zdtm0 type vxlan id 5 dstport 4789 2>/dev/null") != 0)
        zdtm::skip("no vxlan devices here");
    me.wait_for_check();
    zdtm::output_of("test -z \"$(nft list ruleset)\"");
}
