// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>

#include <catch2/catch.hpp>

#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"

namespace {

using namespace criu;

TEST_CASE("capabilities have the names that documentation uses") {
    CHECK(kernel::capabilityName(CAP_SYS_ADMIN) == "CAP_SYS_ADMIN");
    CHECK(kernel::capabilityName(63) == "capability 63");
}

TEST_CASE("what a thread may do is what the kernel says of it") {
    kernel::ProcBuffer buffer;
    const std::uint64_t own = kernel::readStatus(kernel::ProcDir().self(), buffer).capEffective;
    const std::uint64_t known = kernel::knownCapabilities();
    CHECK((own & ~known) == 0);
    CHECK((known >> CAP_CHECKPOINT_RESTORE & 1) == 1);
    for (unsigned capability = 0; capability <= CAP_CHECKPOINT_RESTORE; ++capability)
        CHECK(kernel::hasCapability(capability) == ((own >> capability & 1) != 0));
}

}  // namespace
