// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/attributes.hpp"

#include <cstring>

#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

template <typename Number>
Number readNumber(const ProcPid& task, const std::string& name, int base = 10) {
    const std::string text = task.readFile(name);
    const ErrorContext context([&] { return task.path() + '/' + name; });
    return parseLoneNumber<Number>(text, "a number", base);
}

template <typename Number>
std::optional<Number> tryReadNumber(const ProcPid& task, const std::string& name, int base = 10) {
    const auto text = task.tryReadFile(name);
    // The kernel shows an empty coredump_filter for a task without memory.
    if (!text || text->empty())
        return std::nullopt;
    const ErrorContext context([&] { return task.path() + '/' + name; });
    return parseLoneNumber<Number>(*text, "a number", base);
}

}  // namespace

std::vector<std::uint64_t> parseAuxv(std::string_view bytes) {
    constexpr std::size_t pair = 2 * sizeof(std::uint64_t);
    if (bytes.size() % pair != 0)
        fail("auxiliary vector of {} bytes isn't made of pairs", bytes.size());
    std::vector<std::uint64_t> vector(bytes.size() / sizeof(std::uint64_t));
    if (!bytes.empty())
        std::memcpy(vector.data(), bytes.data(), bytes.size());
    return vector;
}

std::vector<std::uint64_t> readAuxv(const ProcPid& process) {
    const std::string bytes = process.readFile("auxv");
    const ErrorContext context([&] { return process.path() + "/auxv"; });
    return parseAuxv(bytes);
}

std::optional<std::uint32_t> readLoginUid(const ProcPid& process) {
    return tryReadNumber<std::uint32_t>(process, "loginuid");
}

int readOomScoreAdj(const ProcPid& process) {
    return readNumber<int>(process, "oom_score_adj");
}

std::optional<std::uint32_t> readCoredumpFilter(const ProcPid& process) {
    return tryReadNumber<std::uint32_t>(process, "coredump_filter", 16);
}

std::optional<Autogroup> parseAutogroup(std::string_view text) {
    // The kernel shows an empty file for a task without an autogroup.
    if (text.empty())
        return std::nullopt;
    Autogroup group;
    Scanner scan(text);
    scan.need("/autogroup-", "/autogroup-");
    scan.needNumber(group.id, "an id");
    scan.need(" nice", "nice");
    scan.needNumber(group.nice, "a nice value");
    return group;
}

std::optional<Autogroup> readAutogroup(const ProcPid& process) {
    const auto text = process.tryReadFile("autogroup");
    if (!text)
        return std::nullopt;
    const ErrorContext context([&] { return process.path() + "/autogroup"; });
    return parseAutogroup(*text);
}

std::vector<CgroupLine> parseCgroups(std::string_view text) {
    std::vector<CgroupLine> groups;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        CgroupLine group;
        Scanner scan(line);
        scan.needNumber(group.hierarchy, "a hierarchy's id");
        scan.need(':', "a colon");
        // Hierarchy and controller names contain no colons or commas: the kernel allows only letters, digits and "._-".
        Scanner names(scan.until(':'));
        scan.need(':', "a second colon");
        while (!names.done()) {
            group.controllers.emplace_back(names.until(','));
            names.skip(',');
        }
        group.path = scan.rest();
        groups.push_back(std::move(group));
    }
    return groups;
}

std::vector<CgroupLine> readCgroups(const ProcPid& task, ProcBuffer& buffer) {
    const ErrorContext context([&] { return task.path() + "/cgroup"; });
    return parseCgroups(task.read("cgroup", buffer));
}

}  // namespace criu::kernel
