// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/capabilities.hpp"

#include <sys/capability.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

/// Deleter for objects of libcap: cap_free(3) frees all types.
struct Free {
    void operator()(void* object) const noexcept { ::cap_free(object); }
};

}  // namespace

std::string capabilityName(unsigned capability) {
    const std::unique_ptr<char, Free> known(::cap_to_name(static_cast<cap_value_t>(capability)));
    if (!known || !std::string_view(known.get()).starts_with("cap_"))
        return fmt::format("capability {}", capability);
    std::string name = known.get();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    return name;
}

std::uint64_t knownCapabilities() {
    const auto count = static_cast<unsigned>(::cap_max_bits());
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

bool hasCapability(unsigned capability) {
    const std::unique_ptr<_cap_struct, Free> own(::cap_get_proc());
    if (!own)
        failErrno("read own capabilities");
    cap_flag_value_t value = CAP_CLEAR;
    if (::cap_get_flag(own.get(), static_cast<cap_value_t>(capability), CAP_EFFECTIVE, &value) != 0)
        // Libcap doesn't know this capability, so criu can't test it; programs with libcap can't have it either.
        return false;
    return value == CAP_SET;
}

}  // namespace criu::kernel
