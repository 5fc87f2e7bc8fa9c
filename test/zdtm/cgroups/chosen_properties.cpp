// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --cgroup-props '"memory": - "strategy": "replace" - "properties": ["memory.soft_limit_in_bytes"]'
// zdtm: between rmdir $(cat group)
// zdtm: modes once,to-other
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("--cgroup-props selects the properties of a controller that a restore sets") {
    const zdtm::Cgroups groups("memory");
    const std::string limit = groups.make() + "/memory.limit_in_bytes";
    const std::string before = zdtm::read_file(limit);
    zdtm::write_file(limit, "268435456");
    zdtm::write_file(groups.make() + "/memory.soft_limit_in_bytes", "1048576");
    groups.enter();
    me.wait_for_check();
    CHECK(groups.where() == groups.in_proc(), "in %s", groups.where().c_str());
    CHECK(zdtm::read_file(groups.make() + "/memory.soft_limit_in_bytes") == "1048576\n", "the soft limit was lost");
    CHECK(zdtm::read_file(limit) == before, "limit %s", zdtm::read_file(limit).c_str());
    groups.leave();
}
