// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/huge_pages.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

/// Returns the first line of a setting. Throws Error.
std::string lineOf(const std::filesystem::path& setting) {
    std::ifstream file(setting);
    std::string line;
    if (!std::getline(file, line))
        fail("read {}", setting.string());
    return line;
}

/// Returns true if `value` is the current one: the kernel lists all values, with the current one in brackets.
bool isSet(const std::string& line, const std::string& value) {
    return line.find('[' + value + ']') != std::string::npos;
}

}  // namespace

std::uint64_t smallestHugePage(const std::string& settings) noexcept {
    constexpr std::string_view ofSize = "hugepages-";  // a folder for each size, with kB in its name (Linux 6.8)
    try {
        if (!std::filesystem::exists(settings))
            return kNoHugePages;
        const bool always = isSet(lineOf(settings + "/enabled"), "always");
        std::uint64_t smallest = always ? std::stoull(lineOf(settings + "/hpage_pmd_size")) : kNoHugePages;
        for (const auto& entry : std::filesystem::directory_iterator(settings)) {
            const std::string name = entry.path().filename().string();
            // A folder without this file is of a size that only shared memory can have, such as 8 kB.
            if (!name.starts_with(ofSize) || !std::filesystem::exists(entry.path() / "enabled"))
                continue;
            const std::string line = lineOf(entry.path() / "enabled");
            if (isSet(line, "always") || (always && isSet(line, "inherit")))
                smallest = std::min<std::uint64_t>(smallest, std::stoull(name.substr(ofSize.size())) << 10);
        }
        return smallest;
    } catch (const std::exception&) {
        return 1;
    }
}

}  // namespace criu::kernel
