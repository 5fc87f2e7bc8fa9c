// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

/// Rules for texts of images that become names of files, commands, or input of other programs. Each rule is a list
/// of allowed characters. Texts of criu and of CRIU 4.2 pass. A damaged or forged text can't reach beyond the single
/// name or number.
namespace criu {

/// True for the id of a dump: hexadecimal digits and dashes, at most 36 bytes. It becomes part of a table name in
/// commands of nft.
[[nodiscard]] bool isRunId(std::string_view text) noexcept;

/// True for a name that the kernel accepts for a network device (dev_valid_name()): 1 to 15 bytes without blanks,
/// '/' and ':', except "." and "..". Excludes control characters, which the kernel accepts.
[[nodiscard]] bool isDeviceName(std::string_view text) noexcept;

/// True for the kind of a network device that has only the attributes of all devices. The kernel may load a module
/// with this name.
[[nodiscard]] bool isPlainDeviceKind(std::string_view text) noexcept;

/// True for a cgroup controller, for "" (the unified hierarchy), or for "name=" and a hierarchy name
/// (cgroup1_parse_param()). `known` returns true if the kernel has a controller.
template <typename Known>
[[nodiscard]] bool isController(std::string_view text, Known&& known);

/// True for the path of a cgroup below the root of its hierarchy: names with single slashes, one of which may be in
/// front. "" and "/" are the root.
[[nodiscard]] bool isGroupPath(std::string_view text) noexcept;

/// True for one or more names of cgroups with single slashes, relative to another cgroup.
[[nodiscard]] bool isGroupBelow(std::string_view text) noexcept;

/// True for the value of a network sysctl as text: numbers or addresses with blanks.
[[nodiscard]] bool isSettingValue(std::string_view text) noexcept;

/// True for the name of a hierarchy without controllers, after "name=".
[[nodiscard]] bool isHierarchyName(std::string_view text) noexcept;

template <typename Known>
bool isController(std::string_view text, Known&& known) {
    constexpr std::string_view kNamed = "name=";
    if (text.starts_with(kNamed))
        return isHierarchyName(text.substr(kNamed.size()));
    return text.empty() || known(text);
}

}  // namespace criu
