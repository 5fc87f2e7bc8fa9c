// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/external_mounts.hpp"

#include <algorithm>

namespace criu::namespaces {

using model::External;
using model::ExternalType;

std::optional<std::string> ExternalMounts::find(std::string_view key) const {
    for (const External& external : options_.externals)
        if (external.type == ExternalType::Mount && !external.id.empty() && external.id == key)
            return external.value.value_or(external.id);
    for (const model::ExtMount& mount : options_.extMounts)
        if (mount.key == key)
            return mount.value;
    return std::nullopt;
}

std::optional<std::string> ExternalMounts::findDevice(std::string_view key) const {
    for (const External& external : options_.externals)
        if (external.type == ExternalType::Device && external.id == key)
            return external.value;
    return std::nullopt;
}

bool ExternalMounts::automatic() const {
    return options_.autoExtMounts ||
           std::any_of(options_.externals.begin(), options_.externals.end(), [](const External& external) {
               return external.type == ExternalType::Mount && external.id.empty();
           });
}

bool ExternalMounts::automaticWith(char flag) const {
    return std::any_of(options_.externals.begin(), options_.externals.end(), [flag](const External& external) {
        return external.type == ExternalType::Mount && external.id.empty() &&
               external.value.value_or("").find(flag) != std::string::npos;
    });
}

bool ExternalMounts::withSharing() const {
    return options_.externalSharing || automaticWith('s');
}

bool ExternalMounts::withMasters() const {
    return options_.externalMasters || automaticWith('m');
}

}  // namespace criu::namespaces
