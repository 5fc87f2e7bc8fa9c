// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/text_rules.hpp"

#include <net/if.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "criu/base/printable.hpp"

namespace criu {
namespace {

// criu doesn't use the functions of <cctype>, because they depend on the locale.
constexpr bool isDigit(char c) noexcept {
    return c >= '0' && c <= '9';
}
constexpr bool isLetter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool isHexDigit(char c) noexcept {
    return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <typename Allowed>
bool consistsOf(std::string_view text, Allowed&& allowed) {
    return std::all_of(text.begin(), text.end(), allowed);
}

bool isNameOfFile(std::string_view text) noexcept {
    return !text.empty() && text != "." && text != "..";
}

}  // namespace

bool isRunId(std::string_view text) noexcept {
    constexpr std::size_t kLongest = 36;  // length of a UUID as text
    return !text.empty() && text.size() <= kLongest &&
           consistsOf(text, [](char c) { return isHexDigit(c) || c == '-'; });
}

bool isDeviceName(std::string_view text) noexcept {
    return isNameOfFile(text) && text.size() < IF_NAMESIZE && isPrintable(text) &&
           consistsOf(text, [](char c) { return c != '/' && c != ':' && c != ' '; });
}

bool isPlainDeviceKind(std::string_view text) noexcept {
    constexpr std::string_view kKinds[] = {"dummy", "ifb", "ipvlan", "vlan", "vxlan"};
    return std::find(std::begin(kKinds), std::end(kKinds), text) != std::end(kKinds);
}

bool isHierarchyName(std::string_view text) noexcept {
    constexpr std::size_t kLongest = 63;  // MAX_CGROUP_ROOT_NAMELEN - 1
    return !text.empty() && text.size() <= kLongest &&
           consistsOf(text, [](char c) { return isDigit(c) || isLetter(c) || c == '.' || c == '_' || c == '-'; });
}

bool isGroupBelow(std::string_view text) noexcept {
    if (text.find('\n') != std::string_view::npos)
        return false;  // the kernel refuses a name with a newline (cgroup_mkdir())
    for (;;) {
        const std::size_t end = std::min(text.find('/'), text.size());
        if (!isNameOfFile(text.substr(0, end)))
            return false;
        if (end == text.size())
            return true;
        text.remove_prefix(end + 1);
    }
}

bool isGroupPath(std::string_view text) noexcept {
    if (text.starts_with('/'))
        text.remove_prefix(1);
    return text.empty() || isGroupBelow(text);
}

bool isSettingValue(std::string_view text) noexcept {
    constexpr std::size_t kLongest = 64;
    return text.size() <= kLongest && consistsOf(text, [](char c) {
               return isHexDigit(c) || c == ':' || c == '.' || c == '-' || c == ' ' || c == '\t';
           });
}

}  // namespace criu
