// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between rmdir $(cat group)/more $(cat group)
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("memory limits of a version 1 group") {
    const zdtm::Cgroups groups("memory");
    const std::string path = groups.make();
    zdtm::write_file(path + "/memory.limit_in_bytes", "268435456");
    zdtm::write_file(groups.make("more") + "/memory.soft_limit_in_bytes", "1048576");
    groups.enter();
    me.wait_for_check();
    CHECK(groups.where() == groups.in_proc(), "in %s", groups.where().c_str());
    CHECK(zdtm::read_file(path + "/memory.limit_in_bytes") == "268435456\n", "limit %s",
          zdtm::read_file(path + "/memory.limit_in_bytes").c_str());
    CHECK(zdtm::read_file(path + "/more/memory.soft_limit_in_bytes") == "1048576\n", "soft limit %s",
          zdtm::read_file(path + "/more/memory.soft_limit_in_bytes").c_str());
    groups.leave({"more"});
}
