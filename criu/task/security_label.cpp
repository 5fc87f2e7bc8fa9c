// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/security_label.hpp"

#include <string_view>

#include "criu/base/error.hpp"
#include "images/creds.hpp"

namespace criu::task {
namespace {

[[noreturn]] void failLabel(std::string_view label, std::string_view own) {
    Error error(0, fmt::format("is confined as '{}', which can't be kept yet: criu is '{}'", label, own));
    error.addHint("run criu under the same label");
    throw error;
}

/// As the name of a profile alone: AppArmor shows its mode as well.
std::string_view profileOf(std::string_view label) {
    constexpr std::string_view kMode = " (";
    return label.ends_with(')') ? label.substr(0, label.rfind(kMode)) : label;
}

}  // namespace

std::optional<std::string> securityLabel(const kernel::ProcPid& process) {
    try {
        std::optional<std::string> label = process.tryReadFile("attr/current");
        while (label && (label->ends_with('\n') || label->ends_with('\0')))
            label->pop_back();
        return label && !label->empty() ? label : std::nullopt;
    } catch (const Error& error) {
        if (error.code() == EINVAL)
            return std::nullopt;  // no module answers
        throw;
    }
}

void refuseOtherLabel(const kernel::ProcPid& process, const std::string& own) {
    if (const auto label = securityLabel(process); label && *label != own)
        failLabel(*label, own);
}

void requireLabel(const CredsEntry& creds, const std::optional<std::string>& own) {
    if (creds.lsm_profile != nullptr && profileOf(own.value_or("")) != profileOf(creds.lsm_profile))
        failLabel(creds.lsm_profile, own.value_or("nothing"));
}

}  // namespace criu::task
