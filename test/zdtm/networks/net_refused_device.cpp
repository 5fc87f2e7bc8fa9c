// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused device zdtm0 \(macvlan\).*--external net
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a network device of an unknown kind and leaves the namespace unlocked") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add veth0 type veth peer name veth1");
    if (system("ip link add zdtm0 link veth0 type macvlan mode source 2>/dev/null") != 0)
        zdtm::skip("no macvlan devices here");
    me.wait_for_check();
    zdtm::output_of("test -z \"$(nft list ruleset)\"");
}
