// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/landlock.hpp"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
namespace {

/// Access rights of one version of Landlock's ABI. The headers of the build machine may lack new rights, and the kernel
/// refuses rights that it doesn't know.
struct LandlockAbi {
    unsigned fileRights;  ///< number of access rights on files; the rights are the lowest bits
    std::size_t size;     ///< bytes of the ruleset's attributes that the version knows
};
constexpr LandlockAbi kAbis[] = {{13, 8}, {14, 8}, {15, 8}, {15, 16}, {16, 16}, {16, 24}};

/// Attributes of a ruleset in version 6 of the ABI (struct landlock_ruleset_attr).
struct RulesetAttributes {
    std::uint64_t files = 0;
    std::uint64_t network = 0x3;  ///< bind and connect TCP sockets
    std::uint64_t scoped = 0x3;   ///< abstract Unix sockets and signals
};

long landlockVersion() noexcept {
    return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

}  // namespace

bool hasLandlock() noexcept {
    return landlockVersion() >= 1;
}

bool enterEmptyDomain() {
    const long version = landlockVersion();
    if (version < 1)
        return false;
    const LandlockAbi& abi = kAbis[std::min<std::size_t>(static_cast<std::size_t>(version), std::size(kAbis)) - 1];
    RulesetAttributes attributes;
    attributes.files = (std::uint64_t{1} << abi.fileRights) - 1;
    const UniqueFd ruleset(static_cast<int>(
        sys(::syscall(SYS_landlock_create_ruleset, &attributes, abi.size, 0), "create a Landlock ruleset")));
    sys(::syscall(SYS_landlock_restrict_self, ruleset.get(), 0), "enter a Landlock domain");
    return true;
}

}  // namespace criu::kernel
